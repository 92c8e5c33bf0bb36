// The settings of a coding agent with digd's hooks in them, or without. Pure; everything else in the settings stays.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace digd::cli {

// A program whose settings list handlers by hook.
struct hooked_program {
  std::string_view name;           // of its dialect (ingest/hooks/dialect.h)
  std::string_view title;          // as its users call it
  std::vector<std::string> hooks;  // those that digd answers
};

const hooked_program& claude_code_settings();
const hooked_program& codex_settings();
const hooked_program& gemini_settings();

// Removes digd's entries, whichever daemon they name. Returns how many there were.
std::size_t remove_hooks(boost::json::object& settings, const hooked_program& program);
// Adds `handler` to a hook.
void add_hook(boost::json::object& settings, std::string_view hook, const boost::json::object& handler);

// With two spaces a level, as the program writes it.
std::string indented(const boost::json::value& value);

}  // namespace digd::cli
