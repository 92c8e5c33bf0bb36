#include "daemon/search/payload_texts.h"

#include "base/deep_json.h"
#include "base/text.h"

namespace digd::daemon {

namespace {

namespace json = boost::json;

// Cut before the first byte of a character, so that the text stays valid UTF-8.
void append_cut(std::string& to, std::string_view text, std::size_t max_bytes) {
  if (!to.empty()) to += '\n';
  const std::size_t room = max_bytes > to.size() ? max_bytes - to.size() : 0;
  to.append(utf8_prefix(text, room));
}

void collect(const json::value& value, std::string& to, std::size_t max_bytes) {
  if (to.size() >= max_bytes) return;
  if (const json::string* text = value.if_string()) {
    append_cut(to, {text->data(), text->size()}, max_bytes);
  } else if (const json::array* items = value.if_array()) {
    for (const json::value& item : *items) collect(item, to, max_bytes);
  } else if (const json::object* members = value.if_object()) {
    for (const auto& member : *members) collect(member.value(), to, max_bytes);
  }
}

void add(const json::value& event, std::size_t max_bytes, std::vector<payload_text>& to) {
  const json::object* members = event.if_object();
  const json::value* id = members == nullptr ? nullptr : members->if_contains("id");
  const json::value* payload = members == nullptr ? nullptr : members->if_contains("payload");
  if (id == nullptr || !id->is_string() || payload == nullptr) return;
  payload_text found{.event = std::string(id->get_string()), .text = {}};
  collect(*payload, found.text, max_bytes);
  if (!found.text.empty()) to.push_back(std::move(found));
}

}  // namespace

std::vector<payload_text> payload_texts(std::string_view frame, std::size_t max_bytes) {
  std::vector<payload_text> texts;
  if (frame.find("\"payload\"") == std::string_view::npos) return texts;
  json::error_code ec;
  const json::value value = parse_json(frame, ec);
  const json::object* members = ec ? nullptr : value.if_object();
  if (members == nullptr) return texts;
  if (const json::value* event = members->if_contains("event")) add(*event, max_bytes, texts);
  const json::value* outputs = members->if_contains("outputs");
  if (outputs != nullptr && outputs->is_array()) {
    for (const json::value& output : outputs->get_array()) add(output, max_bytes, texts);
  }
  return texts;
}

}  // namespace digd::daemon
