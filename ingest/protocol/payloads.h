// What agents said, inside frames: found without decoding the rest, taken out or replaced. Pure functions of JSON text;
// valid JSON stays valid. One pass, no recursion: depth costs nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace digd::ingest {

// The JSON text `object` with each member of these names, at any depth and however its name is written, given to
// `with`: what it returns stands in the value's place; nothing takes the member out. Values inside values that were
// given are not looked into.
using replace_member = std::function<std::optional<std::string>(std::string_view name, std::string_view value)>;
std::string rewrite_members(std::string_view object, std::initializer_list<std::string_view> names,
                            const replace_member& with);

std::string without_payloads(std::string_view object);

// Each string token of the JSON text, its quotes included, replaced by what `with` returns for it.
std::string rewrite_strings(std::string_view json, const std::function<std::string(std::string_view token)>& with);

// Behind the string token that begins at `at` of JSON text.
std::size_t end_of_string(std::string_view json, std::size_t at);

}  // namespace digd::ingest
