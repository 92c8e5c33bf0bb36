// Writes JSON for people to read and edit: each member or element on a line of its own, with two spaces for each level.
//
// Thread: any. Bounds: it recurses once for each level, so the caller limits the depth (base/deep_json.h). Failure:
// none.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace digd {

// Appends `value`, without a line end behind it. `one_line(value)` is a std::optional<std::string>: the text of a value
// that takes a single line. It is nullopt only for objects and arrays; these are broken into lines unless they are
// empty.
template <class OneLine>
void append_indented(std::string& out, const boost::json::value& value, const OneLine& one_line,
                     std::size_t depth = 0) {
  constexpr std::size_t spaces = 2;
  if (const std::optional<std::string> text = one_line(value)) {
    out += *text;
    return;
  }
  const boost::json::object* object = value.if_object();
  const char* before = "\n";
  const auto begin_line = [&] { out.append(std::exchange(before, ",\n")).append(spaces * (depth + 1), ' '); };
  out += object != nullptr ? '{' : '[';
  if (object != nullptr) {
    for (const auto& [name, member] : *object) {
      begin_line();
      out.append(boost::json::serialize(boost::json::string(name))).append(": ");
      append_indented(out, member, one_line, depth + 1);
    }
  } else {
    for (const boost::json::value& element : value.get_array()) {
      begin_line();
      append_indented(out, element, one_line, depth + 1);
    }
  }
  const bool is_empty = *before == '\n';
  if (!is_empty) out.append("\n").append(spaces * depth, ' ');
  out += object != nullptr ? '}' : ']';
}

}  // namespace digd
