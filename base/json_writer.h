// Writes JSON at the end of a string: keys in the order of the calls, without spaces or line ends, unless
// `new_line` is called. Same calls, same bytes.
//
// Texts are escaped by `append_quoted` (base/quote.h). A number is the shortest text that reads back as the same
// double; infinity and NaN, which JSON does not have, become null. The writer puts the commas. It does not check that
// calls make a valid document: each `open_` needs its `close_`, and each member of an object its `key`.
//
// Ownership: the string belongs to the caller and outlives the writer. Nothing is allocated except by that string.
// Thread: as for the string. Failure: none.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace digd {

class json_writer {
 public:
  // Begins a document, or a value after a `key` that another writer wrote. It writes no comma first.
  explicit json_writer(std::string& out) : out_(out) {}

  json_writer& open_object() { return open('{'); }
  json_writer& close_object() { return close('}'); }
  json_writer& open_array() { return open('['); }
  json_writer& close_array() { return close(']'); }

  json_writer& key(std::string_view name);

  json_writer& text(std::string_view value);
  json_writer& text_or_null(std::string_view value) { return value.empty() ? null() : text(value); }
  json_writer& number(double value);
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  json_writer& integer(T value) {
    if constexpr (std::signed_integral<T>) return integer_text(static_cast<std::int64_t>(value));
    else return integer_text(static_cast<std::uint64_t>(value));
  }
  template <std::integral T>
  json_writer& integer_or_null(const std::optional<T>& value) {
    return value ? integer(*value) : null();
  }
  json_writer& boolean(bool value) { return raw(value ? "true" : "false"); }
  json_writer& null() { return raw("null"); }
  // The next member or value begins on a line of its own, after the comma if it needs one.
  json_writer& new_line();
  // A value that is JSON already; it is neither checked nor changed.
  json_writer& raw(std::string_view json);
  // The members of a finished object, which has no space outside its braces. It is neither checked nor changed.
  json_writer& members_of(std::string_view object);

 private:
  json_writer& open(char bracket);
  json_writer& close(char bracket);
  json_writer& integer_text(std::int64_t value);
  json_writer& integer_text(std::uint64_t value);
  void begin_value();

  std::string& out_;
  bool needs_comma_ = false;
  bool needs_new_line_ = false;
};

}  // namespace digd
