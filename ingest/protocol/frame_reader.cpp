#include "ingest/protocol/frame_reader.h"

#include <bit>
#include <charconv>
#include <cstring>

#include "base/quote.h"
#include "base/text.h"

namespace digd::ingest {

namespace {

constexpr std::size_t max_shown_key_bytes = 64;
constexpr std::string_view no_value = "a value is missing, or is not a value of JSON";

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

// The value of four hex digits; nothing: they are not hex digits.
std::optional<unsigned> hex4(std::string_view text) {
  unsigned value = 0;
  if (text.size() < 4) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + 4, value, 16);
  if (error != std::errc{} || end != text.data() + 4) return std::nullopt;
  return value;
}

// Appends the UTF-8 of a code point. Returns the end.
char* put_utf8(char* out, unsigned c) {
  const auto put = [&](unsigned byte) { *out++ = static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
  return out;
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

// Appends what the valid escape of that length means. Returns the end.
char* put_escape(char* out, std::string_view text, std::size_t length) {
  constexpr std::string_view letters = "bfnrt", meanings = "\b\f\n\r\t";
  if (length == 2) {
    const std::size_t letter = letters.find(text[1]);
    *out = letter == std::string_view::npos ? text[1] : meanings[letter];
    return out + 1;
  }
  const unsigned first = *hex4(text.substr(2));
  if (length == 6) return put_utf8(out, first);
  return put_utf8(out, 0x10000 + ((first - 0xD800) << 10) + (*hex4(text.substr(8)) - 0xDC00));
}

std::string_view without_trailing_space(std::string_view token) {
  if (!token.empty() && token.back() > ' ') return token;
  const std::size_t last = token.find_last_not_of(" \t\n\r");
  return token.substr(0, last == std::string_view::npos ? 0 : last + 1);
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
      append_quoted(out, utf8_prefix(where.name, max_shown_key_bytes));
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

// Appends eight digits to the number, all at once (Lemire, "Quickly parsing eight digits"). False: one of the bytes is
// no digit.
bool append_eight_digits(const char* digits, std::uint64_t& number) {
  std::uint64_t word;
  std::memcpy(&word, digits, sizeof word);
  const std::uint64_t high_halves =
      (word & 0xF0F0F0F0F0F0F0F0) | ((word + 0x0606060606060606) & 0xF0F0F0F0F0F0F0F0) >> 4;
  if (high_halves != 0x3333333333333333) return false;
  word = (word & 0x0F0F0F0F0F0F0F0F) * 2561 >> 8;
  word = (word & 0x00FF00FF00FF00FF) * 6553601 >> 16;
  word = (word & 0x0000FFFF0000FFFF) * 42949672960001 >> 32;
  number = 100'000'000 * number + word;
  return true;
}

// Digits alone without a leading zero: nearly every number of a frame. At most 18 of them, so it cannot overflow.
bool is_plain_whole(std::string_view token, std::uint64_t& number) {
  if (token.empty() || token.size() > 18 || (token.front() == '0' && token.size() > 1)) return false;
  number = 0;
  if constexpr (std::endian::native == std::endian::little) {
    for (; token.size() >= 8; token.remove_prefix(8)) {
      if (!append_eight_digits(token.data(), number)) return false;
    }
  }
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
  if (error != std::errc{}) return std::nullopt;  // also if the number is too large
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

bool frame_reader::open(std::string_view frame, refusal_note& note) {
  note_ = &note;
  level_ = 0;
  unescaped_size_ = 0;
  const std::size_t backslash = frame.find('\\');
  escaped_ = backslash != std::string_view::npos;
  if (escaped_) {
    if (!escapes_are_good(frame, backslash)) return broken("an escape in a string is wrong or half a surrogate pair");
    if (unescaped_capacity_ < frame.size()) {
      unescaped_capacity_ = std::bit_ceil(frame.size());
      unescaped_ = std::make_unique_for_overwrite<char[]>(unescaped_capacity_ + json_tokens::padding);
    }
  }
  const std::string_view problem = tokens_.open(frame);
  return problem.empty() || broken(problem);
}

// A shortcut of `peek` for frames that begin with this field, as most clients write them.
bool frame_reader::is_first(std::string_view name, std::optional<std::string_view>& found) const {
  const std::string_view text = tokens_.text();
  constexpr std::string_view before = "{\"", after = "\":\"";
  const std::size_t value = before.size() + name.size() + after.size();
  if (escaped_ || text.size() < value) return false;
  const char* const at = text.data() + before.size();
  if (std::memcmp(text.data(), before.data(), before.size()) != 0 || std::memcmp(at, name.data(), name.size()) != 0 ||
      std::memcmp(at + name.size(), after.data(), after.size()) != 0) {
    return false;
  }
  found = text.substr(value, text.find('"', value) - value);
  return true;
}

bool frame_reader::peek(std::string_view name, std::optional<std::string_view>& found) {
  if (is_first(name, found)) return true;
  if (tokens_.here() != '{') return true;
  const bool good = search(name, found);
  tokens_.rewind();
  unescaped_size_ = 0;
  return good;
}

bool frame_reader::search(std::string_view name, std::optional<std::string_view>& found) {
  if (tokens_.last() != '}') return unclosed();
  tokens_.pass();
  if (tokens_.here() == '}') return true;
  for (;;) {
    if (tokens_.here() != '"') return misplaced();
    const std::string_view key = text_of(tokens_.token());
    tokens_.pass();
    if (tokens_.take() != ':') return misplaced();
    if (key == name) {
      if (tokens_.here() == '"') found = text_of(tokens_.token());
      return true;
    }
    if (!skip_unchecked()) return false;
    const char after = tokens_.take();
    if (after != ',') return after == '}' || misplaced();
  }
}

// Passes a value whose inside is not checked.
bool frame_reader::skip_unchecked() {
  std::size_t depth = 0;
  do {
    if (tokens_.at_end()) return misplaced();
    const char c = tokens_.take();
    if (c == '{' || c == '[') ++depth;
    if (c != '}' && c != ']') continue;
    if (depth == 0) return misplaced();
    --depth;
  } while (depth > 0);
  return true;
}

bool frame_reader::root(item& out, bool& is_object) {
  out = {};
  if (!begin(out)) return false;
  is_object = out.kind == json_kind::object;
  if (out.kind <= json_kind::array) {
    if (tokens_.last() != (is_object ? '}' : ']')) return unclosed();
    return is_object || (skip(out) && end());
  }
  return skip(out) && (tokens_.at_end() || broken("text follows the value"));
}

bool frame_reader::end() { return tokens_.at_end() || broken("text follows the object"); }

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

bool frame_reader::misplaced() {
  return broken("a key, a value, a comma, a colon or a bracket is missing or misplaced");
}
bool frame_reader::unclosed() { return broken("a bracket is not closed, or text follows the object"); }

bool frame_reader::skip_value() {
  std::string_view token = tokens_.token();
  json_kind kind;
  switch (token_kinds[static_cast<unsigned char>(tokens_.take())]) {
    case token_kind::object: return skip_fields();
    case token_kind::array: return skip_elements();
    case token_kind::string: return true;
    case token_kind::number: return check_number(token);
    case token_kind::word: return classify_word(token, kind);
  }
  return true;
}

// From behind the opening bracket.
bool frame_reader::skip_fields() {
  if (!enter()) return false;
  if (tokens_.here() == '}') return leave_empty();
  for (;;) {
    if (tokens_.take() != '"' || tokens_.take() != ':') return misplaced();
    if (!skip_value()) return false;
    const char after = tokens_.take();
    if (after == ',') continue;
    leave();
    return after == '}' || misplaced();
  }
}

bool frame_reader::skip_elements() {
  if (!enter()) return false;
  if (tokens_.here() == ']') return leave_empty();
  for (;;) {
    if (!skip_value()) return false;
    const char after = tokens_.take();
    if (after == ',') continue;
    leave();
    return after == ']' || misplaced();
  }
}

// The escapes of a frame are checked when it is opened. The result has a quote behind it.
std::string_view frame_reader::unescape(std::string_view text) {
  std::size_t escape = text.find('\\');
  if (escape == std::string_view::npos) return text;
  char* const begin = unescaped_.get() + unescaped_size_;
  char* out = begin;
  while (escape != std::string_view::npos) {
    std::memcpy(out, text.data(), escape);
    out += escape;
    text.remove_prefix(escape);
    const std::size_t length = escape_length(text);
    out = put_escape(out, text, length);
    text.remove_prefix(length);
    escape = text.find('\\');
  }
  if (!text.empty()) std::memcpy(out, text.data(), text.size());
  out += text.size();
  *out = '"';
  unescaped_size_ += static_cast<std::size_t>(out - begin) + 1;
  return {begin, static_cast<std::size_t>(out - begin)};
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

bool frame_reader::broken(std::string_view problem) {
  note_->consider(refusal::bad_json, "", "not JSON: " + std::string{problem});
  return false;
}

}  // namespace digd::ingest
