// One JSON frame, read once from front to back: it checks every byte and hands known fields to their readers.
//
// simdjson finds where the tokens begin (json_tokens.h); the reader walks over them. It checks the grammar of all
// values, even of those that `skip` passes, since a payload is kept and sent as JSON. Functions that return bool say
// whether the text is JSON so far. On false the note has the reason, and the reader must not be used until the next
// `open`. `wrong` records a value that is valid JSON but not valid for its field; reading then continues.
//
// Functions that a good frame never calls are marked cold, so that the code for a good frame lies close together.
//
// Internal to ingest/protocol. Thread: one reader a thread. Lifetime: views that it hands out are valid until the next
// `open`.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ingest/protocol/json_tokens.h"
#include "ingest/protocol/name_set.h"
#include "model/error.h"
#include "model/message.h"

namespace digd::ingest {

enum class json_kind : std::uint8_t { object, array, string, number, boolean, null };

// The place of a value, as a chain to the root. It lives on the stack of the walk.
struct place {
  enum class step : std::uint8_t {
    root,
    field,  // a field of the protocol, which a refusal names
    inner,  // shown in the path, but the refusal names the field around it
    key,    // a key that is data
    index,  // in a list
  };
  const place* up = nullptr;
  step kind = step::root;
  std::string_view name = {};
  std::size_t index = 0;
};

// One value on the walk. The reader has passed a scalar, and is before a list or an object.
struct item {
  json_kind kind = json_kind::object;
  std::string_view token = {};  // the text of a scalar, or of the opening bracket; it may have trailing space
  place at = {};
};

// A field that `Owner` reads; `Owner::fields` is the array of them. A context is a bit for a message type or a rule.
// `only`: the contexts that have the field. `required`: the contexts that require it.
template <class Owner>
struct known_field {
  std::string_view name;
  bool (Owner::*read)(item&);
  std::uint32_t only = ~0u;
  std::uint32_t required = 0;
};

class frame_reader {
 public:
  static constexpr std::size_t max_name_bytes = 256;                          // bytes of an id or an agent's name
  static constexpr std::size_t max_intervention_bytes = max_name_bytes + 32;  // give:EVENT:N
  static constexpr std::size_t any_length = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_depth = 1064;  // levels: 1,000 of a payload, and 64 around it

  // Takes a copy of `frame`; refusals go to `note`, which must outlive the reading.
  bool open(std::string_view frame, refusal_note& note);

  // Searches ahead for the first root field of that name, and sets `found` if it is a string. The reader is then before
  // the root again. `found` is valid until the root is read or another field is looked for.
  bool peek(std::string_view name, std::optional<std::string_view>& found);

  // Gives the root as an item, which must be read once. Sets `is_object`. A root that is not an object has already been
  // checked, and so has the end of the frame.
  bool root(item& out, bool& is_object);
  // After the root was read: whether nothing follows it.
  bool end();

  // Calls f(key, child), or f(child) for a list; if it returns false, the walk ends. f may change `child.at.kind`; it
  // must read or skip the child.
  template <class F>
  bool each_field(item& object, F&& f);
  template <class F>
  bool each_element(item& list, F&& f);

  // The fields of `object` that `owner` knows in `context`, each at most once; null counts as missing. Calls
  // the owner's `given_twice(name)`, if it has one, for duplicates, and its `given_null(name, item)` for null.
  template <class Owner>
  bool each_known(item& object, Owner& owner, std::uint32_t context = ~0u, place::step step = place::step::field);

  bool skip(item& it) {
    return it.kind < json_kind::string ? skip_value() : it.kind != json_kind::number || check_number(it.token);
  }
  [[gnu::cold]] bool skip(item& it, std::string_view text) { return wrong(it.at, text), skip(it); }

  // Typed values: sets `out`, or notes what is wrong. False: the frame is not JSON.
  bool string(item& it, std::size_t min_bytes, std::size_t max_bytes, std::string_view& out, bool& good);
  template <class Out>
  bool string(item& it, std::size_t min_bytes, std::size_t max_bytes, Out& out);
  template <class Out>
  bool name(item& it, Out& out) {
    return string(it, 1, max_name_bytes, out);
  }
  bool names(item& it, name_list& out);           // without duplicates
  bool number(item& it, std::string_view& text);  // as written
  // `parse` returns an optional; `wanted` describes what it accepts.
  template <class Parse, class Out>
  bool choice(item& it, Parse parse, std::string_view wanted, Out& out);
  template <class Out>
  bool flag(item& it, Out& out);
  template <class Out>
  bool whole_number(item& it, Out& out);  // int64
  template <class Out>
  bool duration(item& it, Out& out);  // int64, not negative
  template <class Out>
  bool count(item& it, Out& out);  // uint64

  // For a token in this frame: its index, and the text from it to the end of the frame.
  std::size_t offset_of(std::string_view token) const {
    return static_cast<std::size_t>(token.data() - tokens_.text().data());
  }
  std::string_view rest_from(std::string_view token) const { return tokens_.text().substr(offset_of(token)); }

  [[gnu::cold]] void wrong(const place& where, std::string_view text);
  [[gnu::cold]] bool broken(std::string_view problem);

 private:
  // The kind of value that a token begins with this byte; a word may be none.
  enum class token_kind : std::uint8_t { object, array, string, number, word };
  static constexpr std::array<token_kind, 256> token_kinds = [] {
    std::array<token_kind, 256> kinds{};
    kinds.fill(token_kind::word);
    kinds['{'] = token_kind::object;
    kinds['['] = token_kind::array;
    kinds['"'] = token_kind::string;
    kinds['-'] = token_kind::number;
    for (unsigned char digit = '0'; digit <= '9'; ++digit) kinds[digit] = token_kind::number;
    return kinds;
  }();

  [[gnu::cold]] bool misplaced();
  [[gnu::cold]] bool unclosed();
  bool is_first(std::string_view name, std::optional<std::string_view>& found) const;
  bool search(std::string_view name, std::optional<std::string_view>& found);
  // Begins to read the value at the cursor.
  bool begin(item& out);
  bool classify_word(std::string_view& token, json_kind& kind);
  bool check_number(std::string_view token);
  bool skip_value();
  bool skip_fields();
  bool skip_elements();
  bool skip_unchecked();
  std::string_view text_of(std::string_view token);
  const char* key_of(std::string_view token);
  std::string_view unescape(std::string_view text);
  // Passes a value that is not a string.
  [[gnu::cold]] bool skip_other(item& it, std::size_t min_bytes, std::size_t max_bytes);
  [[gnu::cold]] void wrong_length(const item& it, std::size_t min_bytes, std::size_t max_bytes);
  template <class F>
  bool each_entry(F&& f);
  template <class Owner, std::size_t I>
  bool take_known(const char* key, item& child, Owner& owner, std::uint32_t context, std::uint32_t& seen, bool& good);
  template <class Owner, std::size_t I>
  void look_for_missing(const item& object, std::uint32_t context, place::step step, std::uint32_t seen);
  bool enter() { return ++level_ <= max_depth || too_deep(); }
  [[gnu::cold]] bool too_deep();
  // Behind the closing bracket, or before it if the list or object is empty.
  void leave() { --level_; }
  bool leave_empty();

  json_tokens tokens_;
  std::size_t level_ = 0;
  bool escaped_ = false;  // the frame has a backslash; else strings are read in place
  std::unique_ptr<char[]> unescaped_;
  std::size_t unescaped_capacity_ = 0;
  std::size_t unescaped_size_ = 0;
  name_set listed_;
  refusal_note* note_ = nullptr;
};

// Whether `text` is the `size` bytes at `constant`.
template <std::size_t size>
bool is_text(const char* constant, std::string_view text) {
  return text.size() == size && std::memcmp(constant, text.data(), size) == 0;
}

std::optional<std::int64_t> parse_int64(std::string_view token);
std::optional<std::uint64_t> parse_uint64(std::string_view token);
std::optional<double> parse_double(std::string_view token);

// outputs[2].recipients[0]; keys that are data are quoted, long ones cut.
std::string path_of(const place& where);
// The nearest field of the protocol; empty: none.
std::string_view field_of(const place& where);

inline bool frame_reader::begin(item& out) {
  out.token = tokens_.token();
  const token_kind kind = token_kinds[static_cast<unsigned char>(tokens_.here())];
  out.kind = static_cast<json_kind>(kind);
  if (kind <= token_kind::array) return true;
  tokens_.pass();
  return kind != token_kind::word || classify_word(out.token, out.kind);
}

inline bool frame_reader::leave_empty() {
  tokens_.pass();
  leave();
  return true;
}

// f(token of the key): reads the value too.
template <class F>
bool frame_reader::each_entry(F&& f) {
  if (!enter()) return false;
  tokens_.pass();
  if (tokens_.here() == '}') return leave_empty();
  for (;;) {
    if (tokens_.here() != '"') return misplaced();
    const std::string_view key = tokens_.token();
    tokens_.pass();
    if (tokens_.take() != ':') return misplaced();
    if (!f(key)) return false;
    const char after = tokens_.take();
    if (after == ',') continue;
    leave();
    return after == '}' || misplaced();
  }
}

template <class F>
bool frame_reader::each_field(item& object, F&& f) {
  item child{.at = {.up = &object.at}};
  return each_entry([&](std::string_view key) {
    child.at.kind = place::step::field;
    child.at.name = text_of(key);
    return begin(child) && f(child.at.name, child);
  });
}

template <class F>
bool frame_reader::each_element(item& list, F&& f) {
  if (!enter()) return false;
  tokens_.pass();
  if (tokens_.here() == ']') return leave_empty();
  item child{.at = {.up = &list.at}};
  for (std::size_t index = 0;; ++index) {
    child.at.kind = place::step::index;
    child.at.index = index;
    if (!begin(child) || !f(child)) return false;
    const char after = tokens_.take();
    if (after == ',') continue;
    leave();
    return after == ']' || misplaced();
  }
}

// The text of a string's token, without its quotes.
inline std::string_view frame_reader::text_of(std::string_view token) {
  const std::size_t end = token.back() == '"' ? token.size() - 1 : token.rfind('"');
  const std::string_view text = token.substr(1, end - 1);
  return escaped_ ? unescape(text) : text;
}

// A key, with a quote behind it, to be compared with the names of fields.
inline const char* frame_reader::key_of(std::string_view token) {
  if (!escaped_) return token.data() + 1;
  const std::string_view text = text_of(token);
  return text.find('"') == std::string_view::npos ? text.data() : "\"\0\0\0\0\0\0";  // no field has a quote in its name
}

inline bool frame_reader::string(item& it, std::size_t min_bytes, std::size_t max_bytes, std::string_view& out,
                                 bool& good) {
  good = false;
  if (it.kind != json_kind::string) return skip_other(it, min_bytes, max_bytes);
  out = text_of(it.token);
  good = out.size() >= min_bytes && out.size() <= max_bytes;
  if (!good) wrong_length(it, min_bytes, max_bytes);
  return true;
}

// A constant name with the quote behind it, for comparing it with a key. The first eight bytes are compared as a word.
template <std::size_t size>
struct quoted_name {
  static constexpr std::size_t in_word = size + 1 < 8 ? size + 1 : 8;
  std::uint64_t word = 0, mask = 0;
  std::array<char, size + 1> bytes{};

  constexpr explicit quoted_name(std::string_view name) {
    std::array<char, 8> first{}, bits{};
    for (std::size_t i = 0; i <= size; ++i) bytes[i] = i < size ? name[i] : '"';
    for (std::size_t i = 0; i < in_word; ++i) {
      first[i] = bytes[i];
      bits[i] = static_cast<char>(0xFF);
    }
    word = std::bit_cast<std::uint64_t>(first);
    mask = std::bit_cast<std::uint64_t>(bits);
  }
  // At least eight bytes of `key` must be readable.
  bool is(const char* key) const {
    if (*key != bytes[0]) return false;
    std::uint64_t begin;
    std::memcpy(&begin, key, sizeof begin);
    if ((begin & mask) != word) return false;
    return size + 1 <= 8 || std::memcmp(key + in_word, bytes.data() + in_word, size + 1 - in_word) == 0;
  }
};

// Reads the child if `key` is the Ith field of `owner`. Returns whether it was. `good` is false if reading cannot
// continue.
template <class Owner, std::size_t I>
bool frame_reader::take_known(const char* key, item& child, Owner& owner, std::uint32_t context, std::uint32_t& seen,
                              bool& good) {
  constexpr known_field<Owner> field = Owner::fields[I];
  static_assert(field.name.size() < json_tokens::padding);  // readable behind any key
  constexpr quoted_name<field.name.size()> name(field.name);
  if (!name.is(key) || (field.only & context) == 0) return false;
  child.at.name = field.name;
  if ((seen >> I & 1u) != 0) {
    if constexpr (requires { owner.given_twice(field.name); }) owner.given_twice(field.name);
    good = skip(child, "is given twice");
    return true;
  }
  seen |= 1u << I;
  if (child.kind != json_kind::null) {
    good = (owner.*field.read)(child);
    return true;
  }
  if constexpr (requires { owner.given_null(field.name, child); }) owner.given_null(field.name, child);
  if ((field.required & context) != 0) {
    wrong(child.at, "is required and must not be null");
  }
  return true;
}

template <class Owner>
bool frame_reader::each_known(item& object, Owner& owner, std::uint32_t context, place::step step) {
  constexpr std::size_t count = Owner::fields.size();
  static_assert(count <= 32);
  std::uint32_t seen = 0;
  item child{.at = {.up = &object.at}};
  const auto read = [&](std::string_view key_token) {
    const char* const key = key_of(key_token);
    child.at.kind = step;
    if (!begin(child)) return false;
    bool good = true;
    const bool known = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (take_known<Owner, I>(key, child, owner, context, seen, good) || ...);
    }(std::make_index_sequence<count>{});
    return known ? good : skip(child);
  };
  if (!each_entry(read)) return false;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (look_for_missing<Owner, I>(object, context, step, seen), ...);
  }(std::make_index_sequence<count>{});
  return true;
}

template <class Owner, std::size_t I>
void frame_reader::look_for_missing(const item& object, std::uint32_t context, place::step step, std::uint32_t seen) {
  constexpr known_field<Owner> field = Owner::fields[I];
  if constexpr (field.required != 0) {
    if ((field.required & context) != 0 && (seen >> I & 1u) == 0)
      wrong({&object.at, step, field.name, 0}, "is missing");
  }
}

template <class Out>
bool frame_reader::string(item& it, std::size_t min_bytes, std::size_t max_bytes, Out& out) {
  std::string_view text;
  bool good = false;
  if (!string(it, min_bytes, max_bytes, text, good)) return false;
  if (!good) return true;
  if constexpr (requires { out.emplace(text); }) {
    out.emplace(text);
  } else {
    out = text;
  }
  return true;
}

template <class Parse, class Out>
bool frame_reader::choice(item& it, Parse parse, std::string_view wanted, Out& out) {
  if (it.kind != json_kind::string) return skip(it, wanted);
  std::string_view text;
  if (!string(it, 0, any_length, text)) return false;
  if (const auto parsed = parse(text)) {
    out = *parsed;
  } else {
    wrong(it.at, wanted);
  }
  return true;
}

template <class Out>
bool frame_reader::flag(item& it, Out& out) {
  if (it.kind != json_kind::boolean) return skip(it, "must be true or false");
  out = it.token == "true";
  return true;
}

template <class Out>
bool frame_reader::whole_number(item& it, Out& out) {
  std::optional<std::int64_t> number;
  if (it.kind == json_kind::number) number = parse_int64(it.token);
  if (!number) return skip(it, "must be an integer of 64 bits");
  out = *number;
  return true;
}

template <class Out>
bool frame_reader::duration(item& it, Out& out) {
  std::optional<std::int64_t> number;
  if (it.kind == json_kind::number) number = parse_int64(it.token);
  if (!number || *number < 0) return skip(it, "must be an integer from 0 to 2^63 - 1");
  out = *number;
  return true;
}

template <class Out>
bool frame_reader::count(item& it, Out& out) {
  std::optional<std::uint64_t> number;
  if (it.kind == json_kind::number) number = parse_uint64(it.token);
  if (!number) return skip(it, "must be an integer from 0 to 2^64 - 1");
  out = *number;
  return true;
}

}  // namespace digd::ingest
