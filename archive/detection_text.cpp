#include "archive/detection_text.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/json_tokens.h"
#include "base/quote.h"

namespace digd::archive {

void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
  }
  out += static_cast<char>(0x80 | (c & 0x3F));
}

namespace {

// Quotes inside strings are escaped, so these occur only between the tokens of valid JSON.
constexpr std::string_view evidence_name = R"("evidence":[)";
constexpr std::string_view total_name = R"(,"evidence_total":)";
constexpr std::string_view witness_name = R"(,"witness":)";
constexpr std::string_view list_name = R"(,"detections":[)";
constexpr std::string_view list_with_witness_name = R"(,"detections_with_witness":[)";

// A list of strings in JSON.
struct string_list {
  std::size_t begin = 0, end = 0;        // of its text, without the brackets
  std::vector<std::string_view> tokens;  // with their quotes
};

std::optional<string_list> find_strings(std::string_view json, std::string_view name) {
  const std::size_t found = json.find(name);
  if (found == std::string_view::npos) return std::nullopt;
  string_list list{.begin = found + name.size()};
  std::size_t at = list.begin;
  while (at < json.size() && json[at] == '"') {
    const std::size_t end = end_of_string(json, at);
    list.tokens.push_back(json.substr(at, end - at));
    at = end;
    if (at < json.size() && json[at] == ',') ++at;
  }
  if (at >= json.size() || json[at] != ']') return std::nullopt;
  list.end = at;
  return list;
}

// How many of the first strings take at most `max_kept_names_json` bytes.
std::size_t count_kept(const string_list& list) {
  std::size_t kept = 0, bytes = 0;
  while (kept < list.tokens.size() && bytes + list.tokens[kept].size() + 1 <= max_kept_names_json) {
    bytes += list.tokens[kept++].size() + 1;
  }
  return kept;
}

void append_tokens(std::string& out, std::span<const std::string_view> tokens) {
  for (const std::string_view token : tokens) {
    if (token.data() != tokens.front().data()) out += ',';
    out += token;
  }
}

// The value of four hexadecimal digits; 0: there are none.
std::uint32_t hex_at(std::string_view text, std::size_t at) {
  std::uint32_t value = 0;
  if (at + 4 <= text.size()) std::from_chars(&text[at], &text[at] + 4, value, 16);
  return value;
}

// The text of a JSON string that `append_quoted` wrote.
std::string unquoted(std::string_view token) {
  const std::string_view plain = token.substr(1, token.size() - 2);
  std::string out;
  for (std::size_t at = 0; at < plain.size(); ++at) {
    if (plain[at] != '\\' || at + 1 == plain.size()) {
      out += plain[at];
      continue;
    }
    std::uint32_t value = 0;
    switch (const char c = plain[++at]) {
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 't': out += '\t'; break;
      case 'u':
        value = hex_at(plain, at + 1);
        at += 4;
        if (value >= 0xD800 && value < 0xDC00 && plain.substr(std::min(at + 1, plain.size())).starts_with("\\u")) {
          value = 0x10000 + ((value - 0xD800) << 10) + (hex_at(plain, at + 3) - 0xDC00);  // a pair of surrogates
          at += 6;
        }
        append_utf8(out, value);
        break;
      default: out += c;
    }
  }
  return out;
}

// `3:abc5:hello`: the length in bytes before each id, because an id may contain any character.
std::optional<std::vector<std::string_view>> split_ids(std::string_view text) {
  std::vector<std::string_view> ids;
  while (!text.empty()) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto digits = static_cast<std::size_t>(end - text.data());
    if (error != std::errc() || digits + 1 + length > text.size() || text[digits] != ':') return std::nullopt;
    ids.push_back(text.substr(digits + 1, length));
    text.remove_prefix(digits + 1 + length);
  }
  return ids;
}

std::optional<std::uint64_t> number_after(std::string_view json, std::size_t at, std::string_view name) {
  std::uint64_t value = 0;
  if (!json.substr(at).starts_with(name)) return std::nullopt;
  const auto [end, error] = std::from_chars(json.data() + at + name.size(), json.data() + json.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

// Leaves only the first strings of the list `name`, and adds how many there were.
void cut_list(std::string& json, const std::string& name) {
  const std::optional<string_list> list = find_strings(json, "\"" + name + "\":[");
  if (!list || list->end - list->begin <= max_kept_names_json) return;
  std::string shorter = json.substr(0, list->begin);
  append_tokens(shorter, std::span(list->tokens).first(count_kept(*list)));
  shorter += "],\"" + name + "_total\":" + std::to_string(list->tokens.size());
  shorter += std::string_view(json).substr(list->end + 1);
  json = std::move(shorter);
}

// The objects of the first list of detections from `from` on.
struct detection_list {
  std::size_t name = 0, begin = 0, end = 0;  // of `,"detections":`; of the text without the brackets
  std::vector<std::string_view> objects;
};

std::optional<detection_list> find_detections(std::string_view json, std::size_t from) {
  detection_list list;
  list.name = json.find(R"(,"detections":[{)", from);
  if (list.name == std::string_view::npos) return std::nullopt;
  list.begin = list.end = list.name + list_name.size();
  while (list.end < json.size() && json[list.end] == '{') {
    const std::size_t end = end_of_value(json, list.end);
    list.objects.push_back(json.substr(list.end, end - list.end));
    list.end = end;
    if (list.end < json.size() && json[list.end] == ',') ++list.end;
  }
  if (list.end >= json.size() || json[list.end] != ']') return std::nullopt;
  return list;
}

std::string_view without_witness(std::string_view detection) {
  return detection.substr(0, std::min(detection.find(witness_name), detection.size() - 1));
}

// Finds the objects among `rows`, in order, beginning at `next`. Moves `next` behind the last one. False: an object is
// not among them.
bool match_rows(const detection_list& list, std::span<const detection_row> rows, bool with_witness, std::size_t& next,
                std::vector<std::size_t>& matched) {
  std::size_t at = next;
  for (const std::string_view object : list.objects) {
    const std::string_view sought = with_witness ? object : object.substr(0, object.size() - 1);
    const auto is_it = [&](const detection_row& row) {
      return sought == (with_witness ? std::string_view(row.json) : without_witness(row.json));
    };
    while (at < rows.size() && !is_it(rows[at])) ++at;
    if (at == rows.size()) return false;
    matched.push_back(at++);
  }
  next = at;
  return true;
}

// Returns the JSON with its detections shortened: without witnesses or, with `to_the_rule`, to rule and severity.
std::string shorter_detections(std::string_view json, bool to_the_rule) {
  const std::optional<detection_list> list = find_detections(json, 0);
  if (!list) return std::string(json);
  std::string out(json.substr(0, list->begin));
  for (const std::string_view object : list->objects) {
    if (object.data() != list->objects.front().data()) out += ',';
    const std::size_t end = to_the_rule ? object.find(R"(,"session":)") : std::string_view::npos;
    out += end == std::string_view::npos ? without_witness(object) : object.substr(0, end);
    out += end == std::string_view::npos ? "}" : R"(,"too_large":true})";
  }
  out += json.substr(list->end);
  return out;
}

}  // namespace

stored_detection split_detection(const std::string& json) {
  const std::optional<string_list> evidence = find_strings(json, evidence_name);
  if (!evidence || evidence->end - evidence->begin <= max_evidence_json) return {json, {}};
  const std::size_t kept = count_kept(*evidence);
  stored_detection split;
  split.json = json.substr(0, evidence->begin);
  append_tokens(split.json, std::span(evidence->tokens).first(kept));
  split.json += ']';
  if (!number_after(json, evidence->end + 1, total_name)) {
    split.json.append(total_name).append(std::to_string(evidence->tokens.size()));
  }
  split.json += std::string_view(json).substr(evidence->end + 1);
  for (const std::string_view token : std::span(evidence->tokens).subspan(kept)) {
    const std::string id = unquoted(token);
    split.more_evidence.append(std::to_string(id.size())).append(":").append(id);
  }
  if (join_detection(split.json, split.more_evidence) != json) return {json, {}};
  return split;
}

std::string join_detection(std::string_view json, std::string_view more_evidence) {
  if (more_evidence.empty()) return std::string(json);
  const std::optional<string_list> evidence = find_strings(json, evidence_name);
  const auto more = split_ids(more_evidence);
  if (!evidence || !more) return std::string(json);
  std::string out(json.substr(0, evidence->end));
  for (const std::string_view id : *more) {
    if (out.back() != '[') out += ',';
    append_quoted(out, id);
  }
  out += ']';
  std::size_t rest = evidence->end + 1;
  const auto total = number_after(json, rest, total_name);
  if (total && *total == evidence->tokens.size() + more->size()) rest = json.find(',', rest + 1);
  out += json.substr(std::min(rest, json.size()));
  return out;
}

std::string cut_intervention(const std::string& json) {
  std::string out = json;
  if (out.size() > max_intervention_json) out = shorter_detections(json, false);
  if (out.size() > max_intervention_json) out = shorter_detections(json, true);
  if (out.size() <= max_intervention_json) return out;
  cut_list(out, "recipients");
  cut_list(out, "activations");
  return out;
}

std::string refer_to_detections(std::string_view frame, std::span<const detection_row> rows, std::int64_t first_id) {
  std::string out;
  std::size_t done = 0, next = 0;
  std::vector<std::size_t> matched;
  for (std::optional<detection_list> list; (list = find_detections(frame, done));) {
    const bool with_witness = list->objects.front().find(witness_name) != std::string_view::npos;
    out += frame.substr(done, list->name - done);
    done = list->end;
    matched.clear();
    if (!match_rows(*list, rows, with_witness, next, matched)) {
      out += frame.substr(list->name, list->end - list->name);
      continue;
    }
    out += with_witness ? list_with_witness_name : list_name;
    for (const std::size_t row : matched) {
      if (out.back() != '[') out += ',';
      out += std::to_string(first_id + static_cast<std::int64_t>(row));
    }
  }
  out += frame.substr(done);
  return out;
}

namespace {

struct reference_list {
  std::size_t begin = std::string_view::npos, after_name = 0;
  bool with_witness = false;
};

// The first list of ids from `from` on.
reference_list find_references(std::string_view stored, std::size_t from) {
  for (std::size_t at = from; (at = stored.find(R"(,"detections)", at)) != std::string_view::npos; ++at) {
    for (const bool with_witness : {false, true}) {
      const std::string_view name = with_witness ? list_with_witness_name : list_name;
      const std::size_t value = at + name.size();
      if (!stored.substr(at).starts_with(name) || value >= stored.size()) continue;
      if (stored[value] >= '0' && stored[value] <= '9') return {at, value, with_witness};
    }
  }
  return {};
}

}  // namespace

bool refers_to_detections(std::string_view stored) {
  return find_references(stored, 0).begin != std::string_view::npos;
}

std::optional<std::string> insert_detections(std::string_view stored, const detection_source& whole) {
  std::string out;
  std::size_t done = 0;
  for (;;) {
    const reference_list list = find_references(stored, done);
    if (list.begin == std::string_view::npos) break;
    out += stored.substr(done, list.begin - done);
    out += list_name;
    done = list.after_name;
    while (done < stored.size() && stored[done] != ']') {
      std::int64_t id = 0;
      const auto [end, error] = std::from_chars(stored.data() + done, stored.data() + stored.size(), id);
      if (error != std::errc()) return std::nullopt;
      done = static_cast<std::size_t>(end - stored.data());
      const std::optional<std::string> detection = whole(id);
      if (!detection) return std::nullopt;
      if (out.back() != '[') out += ',';
      out += list.with_witness ? std::string_view(*detection) : without_witness(*detection);
      if (!list.with_witness) out += '}';
      if (done < stored.size() && stored[done] == ',') ++done;
    }
  }
  out += stored.substr(done);
  return out;
}

}  // namespace digd::archive
