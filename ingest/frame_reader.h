// One JSON frame, read once from front to back: every byte of it checked, known fields handed to their
// readers.
//
// simdjson's on-demand parser checks only what is asked for, so everything is asked for: a value that nobody
// reads is walked with `skip`. Functions that return bool say whether the text is JSON so far; on false the
// note has the reason and the reader must not be used until the next `open`. A value that is JSON but not
// what its field wants is noted with `wrong`, and reading goes on.
//
// Internal to ingest. One a thread. Views it hands out live until the next `open`.
#pragma once

#include <simdjson.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/error.h"
#include "engine/message.h"
#include "ingest/name_set.h"

namespace digd::ingest {

enum class json_kind : std::uint8_t { object,
                                      array,
                                      string,
                                      number,
                                      boolean,
                                      null };

// Where a value stands, as a chain to the root; lives on the stack of the walk.
struct place {
  enum class step : std::uint8_t {
    root,
    field,  // a field of the protocol: what a refusal names
    inner,  // one that is written out, but refused in the name of the field around it
    key,    // of an object whose keys are data
    index,  // of a list
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
  std::string_view token = {};  // of number and boolean: the text
  place at = {};
};

// A field that `Owner` reads. `only` and `required`: bits of the contexts (message types, rules) that know it
// or cannot do without it.
template <class Owner>
struct known_field {
  std::string_view name;
  bool (Owner::*read)(item&);
  std::uint32_t only = ~0u;
  std::uint32_t required = 0;
};

class frame_reader {
 public:
  static constexpr std::size_t longest_name = 256;  // bytes of an id or an agent's name
  static constexpr std::size_t any_length = static_cast<std::size_t>(-1);
  static constexpr std::size_t deepest = 1064;  // levels: a payload's own 1,000, and 64 around it

  frame_reader();

  // Takes a copy of `frame`; refusals go to `note`, which must outlive the reading.
  bool open(std::string_view frame, refusal_note& note);

  // Looks ahead for the first root field of that name; `found` is set if it is a string. Then the reader
  // stands before the root again. What is found lives until then: until the root is read.
  bool peek(std::string_view name, std::optional<std::string_view>& found);

  // The root as an item, to be read once. Sets `is_object`; where it is none it has been checked to the end.
  bool root(item& out, bool& is_object);
  // After the root was read: nothing may follow it.
  bool end();

  // f(key, child) or f(child): false ends the walk. `child.at` may be changed; what f does not read it skips.
  template <class F>
  bool each_field(item& object, F&& f);
  template <class F>
  bool each_element(item& list, F&& f);

  // The fields of `object` that `owner` knows in `context`, each at most once; null counts as missing. The
  // owner's `given_twice(name)`, if it has one, hears of duplicates.
  template <class Owner, std::size_t N>
  bool each_known(item& object, const std::array<known_field<Owner>, N>& fields, Owner& owner,
                  std::uint32_t context = ~0u, place::step step = place::step::field);

  bool skip(item& it);
  bool skip(item& it, std::string_view what) { return wrong(it.at, what), skip(it); }

  // Typed values: `out` is set where the value is what is wanted, else it is noted.
  bool string(item& it, std::size_t least, std::size_t most, std::string_view& out, bool& good);
  template <class Out>
  bool string(item& it, std::size_t least, std::size_t most, Out& out);
  template <class Out>
  bool name(item& it, Out& out) {
    return string(it, 1, longest_name, out);
  }
  bool names(item& it, name_list& out);  // without duplicates
  // `parse` gives an optional; `wanted` says what it takes.
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

  void wrong(const place& where, std::string_view what);
  bool broken(std::string_view why);

 private:
  using value = simdjson::ondemand::value;

  bool broken(simdjson::error_code why);
  bool reserve(std::size_t size);
  bool classify(item& it, std::string_view token);
  bool fields_of(item& object, simdjson::ondemand::object& out);
  bool elements_of(item& list, simdjson::ondemand::array& out);
  bool enter();
  void leave() { --level_; }

  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  std::size_t level_ = 0;
  simdjson::ondemand::parser parser_;
  simdjson::ondemand::document document_;
  name_set listed_;
  refusal_note* note_ = nullptr;
};

std::optional<std::int64_t> parse_int64(std::string_view token);
std::optional<std::uint64_t> parse_uint64(std::string_view token);

// outputs[2].recipients[0]; keys that are data are quoted, and cut where they are long.
std::string path_of(const place& where);
// The nearest field of the protocol; empty: none.
std::string_view field_of(const place& where);

template <class F>
bool frame_reader::each_field(item& object, F&& f) {
  simdjson::ondemand::object fields;
  if (!fields_of(object, fields)) return false;
  if (!enter()) return false;
  for (auto entry : fields) {
    simdjson::ondemand::field field;
    if (const auto error = std::move(entry).get(field)) return broken(error);
    std::string_view key;
    if (const auto error = field.unescaped_key().get(key)) return broken(error);
    item child{&field.value(), json_kind::null, {}, {&object.at, place::step::field, key, 0}};
    if (!classify(child, child.value->raw_json_token())) return false;
    if (!f(key, child)) return false;
  }
  leave();
  return true;
}

template <class F>
bool frame_reader::each_element(item& list, F&& f) {
  simdjson::ondemand::array elements;
  if (!elements_of(list, elements)) return false;
  if (!enter()) return false;
  std::size_t index = 0;
  for (auto entry : elements) {
    value element;
    if (const auto error = std::move(entry).get(element)) return broken(error);  // NOLINT(performance-move-const-arg): an rvalue's
    item child{&element, json_kind::null, {}, {&list.at, place::step::index, {}, index++}};
    if (!classify(child, element.raw_json_token())) return false;
    if (!f(child)) return false;
  }
  leave();
  return true;
}

template <class Owner, std::size_t N>
bool frame_reader::each_known(item& object, const std::array<known_field<Owner>, N>& fields, Owner& owner,
                              std::uint32_t context, place::step step) {
  static_assert(N <= 32);
  std::uint32_t seen = 0;
  const auto read = [&](std::string_view key, item& child) {
    for (std::size_t i = 0; i < N; ++i) {
      const known_field<Owner>& field = fields[i];
      if (field.name != key || (field.only & context) == 0) continue;
      child.at.kind = step;
      if ((seen >> i & 1u) != 0) {
        if constexpr (requires { owner.given_twice(key); }) owner.given_twice(key);
        return skip(child, "is given twice");
      }
      seen |= 1u << i;
      if (child.kind != json_kind::null) return (owner.*field.read)(child);
      if ((field.required & context) != 0) wrong(child.at, "is required and must not be null");
      return true;
    }
    return skip(child);
  };
  if (!each_field(object, read)) return false;
  for (std::size_t i = 0; i < N; ++i) {
    if ((fields[i].required & context) == 0 || (seen >> i & 1u) != 0) continue;
    wrong({&object.at, step, fields[i].name, 0}, "is missing");
  }
  return true;
}

template <class Out>
bool frame_reader::string(item& it, std::size_t least, std::size_t most, Out& out) {
  std::string_view text;
  bool good = false;
  if (!string(it, least, most, text, good)) return false;
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
