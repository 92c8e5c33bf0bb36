// One JSON frame, read once from front to back: it checks every byte and hands known fields to their readers.
//
// simdjson's on-demand parser checks only values that are read. So the reader reads everything: `skip` walks through a
// value that is not needed. Functions that return bool say whether the text is JSON so far. On false the note has the
// reason, and the reader must not be used until the next `open`. `wrong` records a value that is valid JSON but not
// valid for its field; reading then continues.
//
// Functions that a good frame never calls are marked cold, so that the code for a good frame lies close together.
//
// Internal to ingest/protocol. Thread: one reader a thread. Lifetime: views that it hands out are valid until the next
// `open`.
#pragma once

#include <simdjson.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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

// One value on the walk.
struct item {
  simdjson::ondemand::value* value = nullptr;  // none: the root
  json_kind kind = json_kind::object;
  std::string_view token = {};  // the text of a string, number or boolean; it may have trailing space
  place at = {};
};

// A field that `Owner` reads; `Owner::fields` is the array of them. `only`: bits of the contexts (message types, rules)
// that know it. `required`: of those that need it.
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

  frame_reader();

  // Takes a copy of `frame`; refusals go to `note`, which must outlive the reading.
  bool open(std::string_view frame, refusal_note& note);

  // Searches ahead for the first root field of that name, and sets `found` if it is a string. The reader is then before
  // the root again. `found` is valid until the root is read or another field is looked for.
  bool peek(std::string_view name, std::optional<std::string_view>& found);

  // The root as an item, to be read once. Sets `is_object`; a root that is no object has been checked to the end.
  bool root(item& out, bool& is_object);
  // After the root was read: whether nothing follows it.
  bool end();

  // f(key, child) or f(child): false ends the walk. f may change `child.at`; it must read or skip the child.
  template <class F>
  bool each_field(item& object, F&& f);
  template <class F>
  bool each_element(item& list, F&& f);

  // The fields of `object` that `owner` knows in `context`, each at most once; null counts as missing. Calls
  // the owner's `given_twice(name)`, if it has one, for duplicates, and its `given_null(name, item)` for null.
  template <class Owner>
  bool each_known(item& object, Owner& owner, std::uint32_t context = ~0u, place::step step = place::step::field);

  bool skip(item& it) { return it.value ? skip_rest(*it.value, it.kind) : skip_root(it); }
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
  std::size_t offset_of(std::string_view token) const { return static_cast<std::size_t>(token.data() - buffer_.get()); }
  std::string_view rest_from(std::string_view token) const { return {token.data(), size_ - offset_of(token)}; }

  [[gnu::cold]] void wrong(const place& where, std::string_view text);
  [[gnu::cold]] bool broken(std::string_view why);

 private:
  using value = simdjson::ondemand::value;

  [[gnu::cold]] bool broken(simdjson::error_code why);
  bool reserve(std::size_t size);
  bool is_first(std::string_view name, std::optional<std::string_view>& found) const;
  // The kind of value that `token` begins. Checks scalars, except numbers, which their readers check.
  bool classify(std::string_view& token, json_kind& kind);
  bool classify_word(std::string_view& token, json_kind& kind);
  bool check_number(std::string_view token);
  bool skip_rest(value& of, json_kind kind);
  bool skip_inner(value& of);
  bool skip_string(value& of);
  bool skip_root(item& root);
  bool key_of(simdjson::ondemand::field& field, std::string_view& key);
  bool text_of(value& string, std::string_view token, std::string_view& out);
  [[gnu::cold]] bool skip_other(item& it, std::size_t min_bytes, std::size_t max_bytes);  // a value that is no string
  [[gnu::cold]] void wrong_length(const item& it, std::size_t min_bytes, std::size_t max_bytes);
  template <class F>
  bool each_entry(item& object, F&& f);
  template <std::size_t size>
  bool is_key(const char* constant, const char* raw, std::string_view key) const;
  template <class Owner, std::size_t I>
  bool take_known(const char* raw, std::string_view key, item& child, Owner& owner, std::uint32_t context,
                  place::step step, std::uint32_t& seen, bool& good);
  template <class Owner, std::size_t I>
  void look_for_missing(const item& object, std::uint32_t context, place::step step, std::uint32_t seen);
  bool enter() { return ++level_ <= max_depth || too_deep(); }
  [[gnu::cold]] bool too_deep();
  void leave() { --level_; }

  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  std::size_t level_ = 0;
  bool escaped_ = false;  // the frame has a backslash; else strings are read in place
  simdjson::ondemand::parser parser_;
  simdjson::ondemand::document document_;
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

// simdjson's result in place. A copy of it would cost more than the rest of a short field: reading memory that was just
// written is slow.
template <class T>
T& where_it_stands(simdjson::simdjson_result<T>& found) {
  return const_cast<T&>(std::as_const(found).value_unsafe());
}

// f(field, child): the key is for `f` to read.
template <class F>
bool frame_reader::each_entry(item& object, F&& f) {
  auto fields = object.value ? object.value->get_object() : document_.get_object();
  if (fields.error()) return broken(fields.error());
  if (!enter()) return false;
  for (auto entry : where_it_stands(fields)) {
    if (entry.error()) return broken(entry.error());
    auto& field = where_it_stands(entry);
    item child{
        &field.value(), json_kind::null, field.value().raw_json_token(), {&object.at, place::step::field, {}, 0}};
    if (!classify(child.token, child.kind)) return false;
    if (!f(field, child)) return false;
  }
  leave();
  return true;
}

template <class F>
bool frame_reader::each_field(item& object, F&& f) {
  return each_entry(object, [&](simdjson::ondemand::field& field, item& child) {
    return key_of(field, child.at.name) && f(child.at.name, child);
  });
}

template <class F>
bool frame_reader::each_element(item& list, F&& f) {
  auto elements = list.value ? list.value->get_array() : document_.get_array();
  if (elements.error()) return broken(elements.error());
  if (!enter()) return false;
  std::size_t index = 0;
  for (auto entry : where_it_stands(elements)) {
    if (entry.error()) return broken(entry.error());
    value& element = where_it_stands(entry);
    item child{&element, json_kind::null, element.raw_json_token(), {&list.at, place::step::index, {}, index++}};
    if (!classify(child.token, child.kind)) return false;
    if (!f(child)) return false;
  }
  leave();
  return true;
}

inline bool frame_reader::classify(std::string_view& token, json_kind& kind) {
  switch (token.empty() ? '\0' : token.front()) {
    case '{': kind = json_kind::object; return true;
    case '[': kind = json_kind::array; return true;
    case '"': kind = json_kind::string; return true;
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9': kind = json_kind::number; return true;
    default: return classify_word(token, kind);
  }
}

inline bool frame_reader::key_of(simdjson::ondemand::field& field, std::string_view& key) {
  if (escaped_) {
    const auto error = field.unescaped_key().get(key);
    return error ? broken(error) : true;
  }
  const char* const begin = field.key().raw();
  const char* end = begin;
  while (*end != '"') ++end;  // it exists: simdjson checked that strings are closed
  key = {begin, static_cast<std::size_t>(end - begin)};
  return true;
}

inline bool frame_reader::text_of(value& string, std::string_view token, std::string_view& out) {
  if (escaped_) {
    const auto error = string.get_string().get(out);
    return error ? broken(error) : true;
  }
  out = token.substr(1, token.rfind('"') - 1);
  const auto error = string.get_raw_json_string().error();
  return error ? broken(error) : true;
}

inline bool frame_reader::string(item& it, std::size_t min_bytes, std::size_t max_bytes, std::string_view& out,
                                 bool& good) {
  good = false;
  if (it.kind != json_kind::string) return skip_other(it, min_bytes, max_bytes);
  if (!text_of(*it.value, it.token, out)) return false;
  good = out.size() >= min_bytes && out.size() <= max_bytes;
  if (!good) wrong_length(it, min_bytes, max_bytes);
  return true;
}

// Whether the key at `raw` is the `size` bytes at `constant`. Compares its closing quote too, so the key's length need
// not be known.
template <std::size_t size>
bool frame_reader::is_key(const char* constant, const char* raw, std::string_view key) const {
  static_assert(size < simdjson::SIMDJSON_PADDING);  // readable behind any key
  return escaped_ ? is_text<size>(constant, key) : raw[size] == '"' && std::memcmp(constant, raw, size) == 0;
}

// Reads the child if its key is the Ith field of `owner`: `key`, or the key at `raw` if nothing is escaped. Returns
// whether it was. `good` is false if reading cannot continue.
template <class Owner, std::size_t I>
bool frame_reader::take_known(const char* raw, std::string_view key, item& child, Owner& owner, std::uint32_t context,
                              place::step step, std::uint32_t& seen, bool& good) {
  constexpr known_field<Owner> field = Owner::fields[I];
  if ((field.only & context) == 0 || !is_key<field.name.size()>(field.name.data(), raw, key)) return false;
  child.at.kind = step;
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
  const auto read = [&](simdjson::ondemand::field& field, item& child) {
    std::string_view key;
    if (escaped_ && !key_of(field, key)) return false;
    const char* const raw = escaped_ ? nullptr : field.key().raw();
    bool good = true;
    const bool known = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (take_known<Owner, I>(raw, key, child, owner, context, step, seen, good) || ...);
    }(std::make_index_sequence<count>{});
    return known ? good : skip(child);
  };
  if (!each_entry(object, read)) return false;
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
