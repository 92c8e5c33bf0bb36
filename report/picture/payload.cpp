#include "report/picture/payload.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "base/text.h"

namespace digd::picture {

namespace json = boost::json;

namespace {

// One line, cut between characters.
std::string in_short(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (space && (out.empty() || out.back() == ' ')) continue;
    if (out.size() >= max_words_bytes && !continues_character(c)) return out + "…";
    out += space ? ' ' : c;
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

// The payload's text for people; empty: none.
std::string words_in(const json::value& payload) {
  if (payload.is_null()) return {};
  if (const json::string* text = payload.if_string()) return in_short({text->data(), text->size()});
  if (const json::object* object = payload.if_object()) {
    if (object->empty()) return {};
    // With payloads.keep = "digest" the archive has this instead of the text.
    if (object->size() == 2 && object->contains("sha256") && object->contains("bytes")) return {};
    for (const char* key : {"text", "content", "message"}) {
      const json::value* words = object->if_contains(key);
      if (words && words->is_string()) return in_short({words->get_string().data(), words->get_string().size()});
    }
  }
  return in_short(json::serialize(payload));
}

void add_words(std::unordered_map<std::string, std::string>& to, const json::value& event) {
  const json::object* object = event.if_object();
  const json::value* id = object ? object->if_contains("id") : nullptr;
  const json::value* payload = object ? object->if_contains("payload") : nullptr;
  if (!id || !id->is_string() || !payload) return;
  if (std::string words = words_in(*payload); !words.empty()) {
    to[std::string(id->get_string().data(), id->get_string().size())] = std::move(words);
  }
}

}  // namespace

std::unordered_map<std::string, std::string> payload_words(std::string_view frame) {
  std::unordered_map<std::string, std::string> words;
  if (frame.find("\"payload\"") == std::string_view::npos) return words;
  boost::system::error_code ec;
  json::parse_options lenient;
  lenient.max_depth = 2000;
  const json::value parsed = json::parse(json::string_view(frame.data(), frame.size()), ec, {}, lenient);
  if (ec || !parsed.is_object()) return words;
  if (const json::value* value = parsed.get_object().if_contains("event")) add_words(words, *value);
  const json::value* outputs = parsed.get_object().if_contains("outputs");
  if (outputs && outputs->is_array()) {
    for (const json::value& value : outputs->get_array()) add_words(words, value);
  }
  return words;
}

}  // namespace digd::picture
