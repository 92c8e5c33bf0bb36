#include "ingest/frame_reader.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <new>

#include "engine/quote.h"

namespace digd::ingest {

namespace {

constexpr std::size_t smallest_buffer = 16 * 1024;
constexpr std::size_t shown_of_a_key = 64;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// RFC 8259, section 6. No bound on digits: how many a reader can take is its own affair.
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

// The value of four hex digits; none: that is not what they are.
std::optional<unsigned> hex4(std::string_view text) {
  unsigned value = 0;
  if (text.size() < 4) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + 4, value, 16);
  if (error != std::errc{} || end != text.data() + 4) return std::nullopt;
  return value;
}

bool is_high_surrogate(unsigned c) {
  return c >= 0xD800 && c < 0xDC00;
}
bool is_low_surrogate(unsigned c) {
  return c >= 0xDC00 && c < 0xE000;
}

// Length of the escape that `text` begins with, a pair of surrogates being one; 0: no escape of JSON's.
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

// A backslash can stand in strings only, so all escapes of a frame can be checked without knowing its
// strings. simdjson alone takes some lone surrogates, and looks at none in a string that is not read.
bool escapes_are_good(std::string_view frame) {
  for (std::size_t at = frame.find('\\'); at != std::string_view::npos; at = frame.find('\\', at)) {
    const std::size_t length = escape_length(frame.substr(at));
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string_view without_trailing_space(std::string_view token) {
  const std::size_t last = token.find_last_not_of(" \t\n\r");
  return token.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

std::string_view explain(simdjson::error_code why) {
  switch (why) {
    case simdjson::EMPTY:
      return "there is no text in the frame (a binary frame is not read)";
    case simdjson::UTF8_ERROR:
      return "the text is not UTF-8";
    case simdjson::UNESCAPED_CHARS:
      return "a control character in a string is not escaped";
    case simdjson::UNCLOSED_STRING:
      return "a string is not closed";
    case simdjson::INCOMPLETE_ARRAY_OR_OBJECT:
      return "a bracket is not closed, or text follows the object";
    case simdjson::TAPE_ERROR:
      return "a key, a value, a comma, a colon or a bracket is missing or misplaced";
    default:
      return simdjson::error_message(why);
  }
}

// At most `shown_of_a_key` bytes, cut between characters.
std::string_view shown(std::string_view key) {
  if (key.size() <= shown_of_a_key) return key;
  std::size_t size = shown_of_a_key;
  while (size > 0 && (static_cast<unsigned char>(key[size]) & 0xC0) == 0x80) --size;
  return key.substr(0, size);
}

void append_path(std::string& out, const place& where) {
  if (where.up) append_path(out, *where.up);
  switch (where.kind) {
    case place::step::root:
      return;
    case place::step::field:
    case place::step::inner:
      if (!out.empty()) out += '.';
      out += where.name;
      return;
    case place::step::key:
      out += '[';
      append_quoted(out, shown(where.name));
      if (where.name.size() > shown_of_a_key) out += "...";
      out += ']';
      return;
    case place::step::index:
      out += '[';
      out += std::to_string(where.index);
      out += ']';
      return;
  }
}

std::string wanted_string(std::size_t least, std::size_t most) {
  if (most == frame_reader::any_length) return "must be a string";
  if (least == 0) return "must be a string of at most " + std::to_string(most) + " bytes";
  return "must be a string of " + std::to_string(least) + " to " + std::to_string(most) + " bytes";
}

template <class Number>
std::optional<Number> parse_whole(std::string_view token) {
  Number number = 0;
  const char* const end = token.data() + token.size();
  const auto [stopped, error] = std::from_chars(token.data(), end, number);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::int64_t> parse_int64(std::string_view token) {
  return parse_whole<std::int64_t>(token);
}
std::optional<std::uint64_t> parse_uint64(std::string_view token) {
  return parse_whole<std::uint64_t>(token);
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
  if (!reserve(smallest_buffer)) throw std::bad_alloc{};
}

// Grows by doubling; simdjson alone would allocate anew for every frame longer than those before.
bool frame_reader::reserve(std::size_t size) {
  if (size <= capacity_) return true;
  const std::size_t wanted = std::bit_ceil(size);
  if (parser_.allocate(wanted, deepest + 8) != simdjson::SUCCESS) return false;
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
  if (!escapes_are_good({buffer_.get(), size_}))
    return broken("an escape in a string is wrong or half a surrogate pair");
  const simdjson::padded_string_view padded(buffer_.get(), size_, capacity_ + simdjson::SIMDJSON_PADDING);
  if (const auto error = parser_.iterate(padded).get(document_)) return broken(error);
  return true;
}

bool frame_reader::peek(std::string_view name, std::optional<std::string_view>& found) {
  std::string_view token;
  if (const auto error = document_.raw_json_token().get(token)) return broken(error);
  if (token.empty() || token.front() != '{') return true;
  simdjson::ondemand::object object;
  if (const auto error = document_.get_object().get(object)) return broken(error);
  for (auto entry : object) {
    simdjson::ondemand::field field;
    if (const auto error = std::move(entry).get(field)) return broken(error);
    std::string_view key;
    if (const auto error = field.unescaped_key().get(key)) return broken(error);
    if (key != name) continue;
    const std::string_view text = field.value().raw_json_token();
    if (text.empty() || text.front() != '"') break;
    std::string_view value;
    if (const auto error = field.value().get_string().get(value)) return broken(error);
    found = value;
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
  if (!classify(out, token)) return false;
  if (out.kind == json_kind::array) return skip(out) && end();
  if (token.data() + token.size() != buffer_.get() + size_) return broken("text follows the value");
  return true;
}

bool frame_reader::end() {
  const auto next = document_.current_location();
  return next.error() == simdjson::OUT_OF_BOUNDS ? true : broken("text follows the object");
}

bool frame_reader::classify(item& it, std::string_view token) {
  switch (token.empty() ? '\0' : token.front()) {
    case '{':
      it.kind = json_kind::object;
      return true;
    case '[':
      it.kind = json_kind::array;
      return true;
    case '"':
      it.kind = json_kind::string;
      return true;
    default:
      break;
  }
  it.token = without_trailing_space(token);
  if (it.token == "null") {
    it.kind = json_kind::null;
  } else if (it.token == "true" || it.token == "false") {
    it.kind = json_kind::boolean;
  } else if (is_number(it.token)) {
    it.kind = json_kind::number;
  } else {
    return broken("a value is missing, or is no value of JSON");
  }
  return true;
}

bool frame_reader::fields_of(item& object, simdjson::ondemand::object& out) {
  const auto error = object.value ? object.value->get_object().get(out) : document_.get_object().get(out);
  return error ? broken(error) : true;
}

bool frame_reader::elements_of(item& list, simdjson::ondemand::array& out) {
  const auto error = list.value ? list.value->get_array().get(out) : document_.get_array().get(out);
  return error ? broken(error) : true;
}

bool frame_reader::enter() {
  if (++level_ <= deepest) return true;
  return broken("nested deeper than " + std::to_string(deepest) + " levels");
}

bool frame_reader::skip(item& it) {
  switch (it.kind) {
    case json_kind::object:
      return each_field(it, [this](std::string_view, item& child) { return skip(child); });
    case json_kind::array:
      return each_element(it, [this](item& child) { return skip(child); });
    case json_kind::string: {
      simdjson::ondemand::raw_json_string raw;
      const auto error = it.value->get_raw_json_string().get(raw);
      return error ? broken(error) : true;
    }
    default:
      return true;  // checked by `classify`; simdjson steps over it
  }
}

bool frame_reader::string(item& it, std::size_t least, std::size_t most, std::string_view& out, bool& good) {
  good = false;
  if (it.kind == json_kind::string) {
    if (const auto error = it.value->get_string().get(out)) return broken(error);
    good = out.size() >= least && out.size() <= most;
    if (good) return true;
  }
  wrong(it.at, wanted_string(least, most));
  return it.kind == json_kind::string ? true : skip(it);
}

bool frame_reader::names(item& it, name_list& out) {
  if (it.kind != json_kind::array) return skip(it, "must be a list of strings");
  listed_.clear();
  return each_element(it, [&](item& child) {
    std::string_view text;
    bool good = false;
    if (!string(child, 1, longest_name, text, good)) return false;
    if (good && listed_.insert(text)) out.push_back(text);
    return true;
  });
}

void frame_reader::wrong(const place& where, std::string_view what) {
  if (*note_ && note_->code <= refusal::bad_message) return;
  std::string text = path_of(where);
  if (!text.empty()) text += ' ';
  note_->consider(refusal::bad_message, field_of(where), text.append(what));
}

bool frame_reader::broken(std::string_view why) {
  note_->consider(refusal::bad_json, "", "not JSON: " + std::string{why});
  return false;
}

bool frame_reader::broken(simdjson::error_code why) {
  return broken(explain(why));
}

}  // namespace digd::ingest
