// The settings of Claude Code with digd's hooks in them, or without. Pure; everything else in the settings stays.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

namespace digd::cli {

// The hooks that digd answers.
const std::vector<std::string>& watched_hooks();

// Removes digd's entries, whichever daemon they name. Returns how many there were.
std::size_t remove_hooks(boost::json::object& settings);
// Adds `handler` to each of the hooks that digd answers.
void add_hooks(boost::json::object& settings, const boost::json::object& handler);

// With two spaces a level, as the program writes it.
std::string indented(const boost::json::value& value);

}  // namespace digd::cli
