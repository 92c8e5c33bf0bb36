#include "ingest/protocol/frame_reader.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <new>

#include "base/quote.h"

namespace digd::ingest {

namespace {

constexpr std::size_t min_buffer_bytes = 16 * 1024;
constexpr std::size_t max_shown_key_bytes = 64;
constexpr std::string_view no_value = "a value is missing, or is no value of JSON";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// RFC 8259, section 6. The caller bounds the number of digits.
bool is_number(std::string_view token) {
  std::size_t at = 0;
  const auto peek = [&] { return at < token.size() ? token[at] : '\0'; };
  const auto digits = [&] {
    const std::size_t start = at;
    while (is_digit(peek())) ++at;
    return at > start;
  };
  if (peek() == '-') ++at;
  if (peek() == '0') {
    ++at;
  } else if (!digits()) {
    return false;
  }
  if (peek() == '.') {
    ++at;
    if (!digits()) return false;
  }
  if (peek() == 'e' || peek() == 'E') {
    ++at;
    if (peek() == '+' || peek() == '-') ++at;
    if (!digits()) return false;
  }
  return at == token.size();
}

// The value of four hex digits; nothing: they are no hex digits.
std::optional<unsigned> hex4(std::string_view text) {
  unsigned value = 0;
  if (text.size() < 4) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + 4, value, 16);
  if (error != std::errc{} || end != text.data() + 4) return std::nullopt;
  return value;
}

bool is_high_surrogate(unsigned c) { return c >= 0xD800 && c < 0xDC00; }
bool is_low_surrogate(unsigned c) { return c >= 0xDC00 && c < 0xE000; }

// Length of the JSON escape that `text` begins with; a surrogate pair is one escape. 0: there is none.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2) return 0;
  if (text[1] != 'u') return std::string_view{"\"\\/bfnrt"}.find(text[1]) == std::string_view::npos ? 0 : 2;
  const std::optional<unsigned> first = hex4(text.substr(2));
  if (!first || is_low_surrogate(*first)) return 0;
  if (!is_high_surrogate(*first)) return 6;
  if (text.substr(6, 2) != "\\u") return 0;
  const std::optional<unsigned> second = hex4(text.substr(8));
  return second && is_low_surrogate(*second) ? 12 : 0;
}

// A backslash is valid in strings only, so all escapes of a frame can be checked without knowing its strings. simdjson
// alone accepts some lone surrogates, and checks none in a string that is not read. `first`: of the first backslash.
bool escapes_are_good(std::string_view frame, std::size_t first) {
  for (std::size_t at = first; at != std::string_view::npos; at = frame.find('\\', at)) {
    const std::size_t length = escape_length(frame.substr(at));
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string_view without_trailing_space(std::string_view token) {
  if (!token.empty() && token.back() > ' ') return token;
  const std::size_t last = token.find_last_not_of(" \t\n\r");
  return token.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

std::string_view explain(simdjson::error_code why) {
  switch (why) {
    case simdjson::EMPTY: return "there is no text in the frame (a binary frame is not read)";
    case simdjson::UTF8_ERROR: return "the text is not UTF-8";
    case simdjson::UNESCAPED_CHARS: return "a control character in a string is not escaped";
    case simdjson::UNCLOSED_STRING: return "a string is not closed";
    case simdjson::INCOMPLETE_ARRAY_OR_OBJECT: return "a bracket is not closed, or text follows the object";
    case simdjson::TAPE_ERROR: return "a key, a value, a comma, a colon or a bracket is missing or misplaced";
    default: return simdjson::error_message(why);
  }
}

// At most `max_shown_key_bytes` bytes, cut between characters.
std::string_view shown(std::string_view key) {
  if (key.size() <= max_shown_key_bytes) return key;
  std::size_t size = max_shown_key_bytes;
  while (size > 0 && (static_cast<unsigned char>(key[size]) & 0xC0) == 0x80) --size;
  return key.substr(0, size);
}

void append_path(std::string& out, const place& where) {
  if (where.up) append_path(out, *where.up);
  switch (where.kind) {
    case place::step::root: return;
    case place::step::field:
    case place::step::inner:
      if (!out.empty()) out += '.';
      out += where.name;
      return;
    case place::step::key:
      out += '[';
      append_quoted(out, shown(where.name));
      if (where.name.size() > max_shown_key_bytes) out += "...";
      out += ']';
      return;
    case place::step::index:
      out += '[';
      out += std::to_string(where.index);
      out += ']';
      return;
  }
}

std::string wanted_string(std::size_t min_bytes, std::size_t max_bytes) {
  if (max_bytes == frame_reader::any_length) return "must be a string";
  if (min_bytes == 0) return "must be a string of at most " + std::to_string(max_bytes) + " bytes";
  return "must be a string of " + std::to_string(min_bytes) + " to " + std::to_string(max_bytes) + " bytes";
}

// Digits alone without a leading zero: nearly every number of a frame. At most 18 of them, so it cannot overflow.
bool is_plain_whole(std::string_view token, std::uint64_t& number) {
  if (token.empty() || token.size() > 18 || (token.front() == '0' && token.size() > 1)) return false;
  number = 0;
  for (const char c : token) {
    const unsigned digit = static_cast<unsigned char>(c) - unsigned{'0'};
    if (digit > 9) return false;
    number = 10 * number + digit;
  }
  return true;
}

template <class Number>
std::optional<Number> parse_whole(std::string_view token) {
  std::uint64_t plain = 0;
  if (is_plain_whole(token, plain)) return static_cast<Number>(plain);
  Number number = 0;
  token = without_trailing_space(token);
  if (!is_number(token)) return std::nullopt;
  const char* const end = token.data() + token.size();
  const auto [stopped, error] = std::from_chars(token.data(), end, number);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::int64_t> parse_int64(std::string_view token) { return parse_whole<std::int64_t>(token); }
std::optional<std::uint64_t> parse_uint64(std::string_view token) { return parse_whole<std::uint64_t>(token); }

std::optional<double> parse_double(std::string_view token) {
  double value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error == std::errc::result_out_of_range || error != std::errc{}) return std::nullopt;
  return value;
}

std::string path_of(const place& where) {
  std::string out;
  append_path(out, where);
  return out;
}

std::string_view field_of(const place& where) {
  for (const place* at = &where; at; at = at->up) {
    if (at->kind == place::step::field) return at->name;
  }
  return {};
}

frame_reader::frame_reader() {
  if (!reserve(min_buffer_bytes)) throw std::bad_alloc{};
}

// Grows by doubling; simdjson alone would allocate for every frame longer than those before.
bool frame_reader::reserve(std::size_t size) {
  if (size <= capacity_) return true;
  const std::size_t wanted = std::bit_ceil(size);
  if (parser_.allocate(wanted, max_depth + 8) != simdjson::SUCCESS) return false;
  buffer_ = std::make_unique_for_overwrite<char[]>(wanted + simdjson::SIMDJSON_PADDING);
  capacity_ = wanted;
  return true;
}

bool frame_reader::open(std::string_view frame, refusal_note& note) {
  note_ = &note;
  level_ = 0;
  size_ = frame.size();
  if (size_ > parser_.max_capacity() || !reserve(size_)) return broken("the frame is too long to be read");
  if (size_ > 0) std::memcpy(buffer_.get(), frame.data(), size_);
  std::memset(buffer_.get() + size_, 0, simdjson::SIMDJSON_PADDING);
  const std::size_t backslash = frame.find('\\');  // not in the copy: reading memory that was just written is slow
  escaped_ = backslash != std::string_view::npos;
  if (escaped_ && !escapes_are_good(frame, backslash))
    return broken("an escape in a string is wrong or half a surrogate pair");
  const simdjson::padded_string_view padded(buffer_.get(), size_, capacity_ + simdjson::SIMDJSON_PADDING);
  if (const auto error = parser_.iterate(padded).get(document_)) return broken(error);
  return true;
}

// Most clients write this field first.
bool frame_reader::is_first(std::string_view name, std::optional<std::string_view>& found) const {
  std::string_view text(buffer_.get(), size_);
  if (escaped_ || !text.starts_with("{\"")) return false;
  text.remove_prefix(2);
  if (!text.starts_with(name) || !text.substr(name.size()).starts_with("\":\"")) return false;
  text.remove_prefix(name.size() + 3);
  found = text.substr(0, text.find('"'));
  return true;
}

bool frame_reader::peek(std::string_view name, std::optional<std::string_view>& found) {
  if (is_first(name, found)) return true;
  std::string_view token;
  if (const auto error = document_.raw_json_token().get(token)) return broken(error);
  if (token.empty() || token.front() != '{') return true;
  simdjson::ondemand::object object;
  if (const auto error = document_.get_object().get(object)) return broken(error);
  for (auto entry : object) {
    if (entry.error()) return broken(entry.error());
    auto& field = where_it_stands(entry);
    std::string_view key;
    if (!key_of(field, key)) return false;
    if (key != name) continue;
    const std::string_view token = field.value().raw_json_token();
    if (token.empty() || token.front() != '"') break;
    if (!text_of(field.value(), token, found.emplace())) return false;
    break;
  }
  document_.rewind();
  return true;
}

bool frame_reader::root(item& out, bool& is_object) {
  std::string_view token;
  if (const auto error = document_.raw_json_token().get(token)) return broken(error);
  out = {};
  is_object = !token.empty() && token.front() == '{';
  if (is_object) return true;
  const std::string_view root_token = token;
  if (!classify(token, out.kind)) return false;
  out.token = token;
  if (out.kind == json_kind::array) return skip(out) && end();
  if (out.kind == json_kind::number && !check_number(token)) return false;
  if (root_token.data() + root_token.size() != buffer_.get() + size_) return broken("text follows the value");
  return true;
}

bool frame_reader::end() {
  const auto next = document_.current_location();
  return next.error() == simdjson::OUT_OF_BOUNDS ? true : broken("text follows the object");
}

bool frame_reader::classify_word(std::string_view& token, json_kind& kind) {
  token = without_trailing_space(token);
  kind = token == "null" ? json_kind::null : json_kind::boolean;
  return token == "null" || token == "true" || token == "false" || broken(no_value);
}

bool frame_reader::number(item& it, std::string_view& text) {
  text = without_trailing_space(it.token);
  return check_number(text);
}

bool frame_reader::check_number(std::string_view token) {
  std::uint64_t ignored = 0;
  return is_plain_whole(token, ignored) || is_number(without_trailing_space(token)) || broken(no_value);
}

bool frame_reader::too_deep() { return broken("nested deeper than " + std::to_string(max_depth) + " levels"); }

// simdjson does not check a scalar that it skips.
bool frame_reader::skip_rest(value& of, json_kind kind) {
  switch (kind) {
    case json_kind::object: {
      auto fields = of.get_object();
      if (fields.error()) return broken(fields.error());
      if (!enter()) return false;
      for (auto entry : where_it_stands(fields)) {
        if (entry.error()) return broken(entry.error());
        auto& field = where_it_stands(entry);
        if (!skip_inner(field.value())) return false;
      }
      leave();
      return true;
    }
    case json_kind::array: {
      auto elements = of.get_array();
      if (elements.error()) return broken(elements.error());
      if (!enter()) return false;
      for (auto entry : where_it_stands(elements)) {
        if (entry.error()) return broken(entry.error());
        if (!skip_inner(where_it_stands(entry))) return false;
      }
      leave();
      return true;
    }
    case json_kind::string: return skip_string(of);
    case json_kind::number: return check_number(of.raw_json_token());
    case json_kind::boolean:
    case json_kind::null: return true;
  }
  return true;
}

bool frame_reader::skip_inner(value& of) {
  std::string_view token = of.raw_json_token();
  json_kind kind = json_kind::null;
  if (!classify(token, kind)) return false;
  if (kind == json_kind::string) return skip_string(of);
  if (kind == json_kind::number) return check_number(token);
  return skip_rest(of, kind);
}

// Reads the string. If simdjson only skipped it, it would accept a colon after it, as after a key.
bool frame_reader::skip_string(value& of) {
  const auto error = of.get_raw_json_string().error();
  return error ? broken(error) : true;
}

bool frame_reader::skip_root(item& root) {
  if (root.kind == json_kind::object) {
    return each_field(root, [this](std::string_view, item& child) { return skip(child); });
  }
  if (root.kind == json_kind::array) {
    return each_element(root, [this](item& child) { return skip(child); });
  }
  return true;
}

bool frame_reader::skip_other(item& it, std::size_t min_bytes, std::size_t max_bytes) {
  return skip(it, wanted_string(min_bytes, max_bytes));
}

void frame_reader::wrong_length(const item& it, std::size_t min_bytes, std::size_t max_bytes) {
  wrong(it.at, wanted_string(min_bytes, max_bytes));
}

bool frame_reader::names(item& it, name_list& out) {
  if (it.kind != json_kind::array) return skip(it, "must be a list of strings");
  listed_.clear();
  return each_element(it, [&](item& child) {
    std::string_view text;
    bool good = false;
    if (!string(child, 1, max_name_bytes, text, good)) return false;
    if (good && listed_.insert(text)) out.push_back(text);
    return true;
  });
}

void frame_reader::wrong(const place& where, std::string_view given_text) {
  if (*note_ && note_->code <= refusal::bad_message) return;
  std::string text = path_of(where);
  if (!text.empty()) text += ' ';
  note_->consider(refusal::bad_message, field_of(where), text.append(given_text));
}

bool frame_reader::broken(std::string_view why) {
  note_->consider(refusal::bad_json, "", "not JSON: " + std::string{why});
  return false;
}

bool frame_reader::broken(simdjson::error_code why) { return broken(explain(why)); }

}  // namespace digd::ingest
