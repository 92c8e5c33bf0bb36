// Removes or replaces the texts of agents inside frames, without decoding the rest. Pure functions of JSON text; valid
// JSON stays valid. One pass without recursion: depth costs nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace digd::ingest {

// Returns the JSON text `object` with the values of all members of these names replaced by the results of `with`: at
// any depth, and however a name is escaped. If `with` returns nothing, the member is removed. Replaced values are not
// searched.
using replace_member = std::function<std::optional<std::string>(std::string_view name, std::string_view value)>;
std::string rewrite_members(std::string_view object, std::initializer_list<std::string_view> names,
                            const replace_member& with);

std::string without_payloads(std::string_view object);

// The JSON text with each string token, quotes included, replaced by the result of `with`.
std::string rewrite_strings(std::string_view json, const std::function<std::string(std::string_view token)>& with);

}  // namespace digd::ingest
