// Changes one key of a rule or guard in the text of a configuration file. Comments, order and spaces stay.
//
// Pure functions. Failure: a sentence with the lines to write by hand. The result is parsed again and compared with the
// original: if anything but the key changed, the edit is refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace digd::cli {

struct config_edit {
  std::string table;  // `rules` or `guards`
  std::string rule, key;
  std::string literal;  // as TOML writes the value
};

// The names in `except` of [TABLE.RULE]; none if there is no such key. nullopt, with `problem` set: the text is not
// TOML.
std::optional<std::vector<std::string>> excepted_in(std::string_view toml_text, const std::string& table,
                                                    const std::string& rule, std::string& problem);

// A string, as TOML writes it. Escapes hidden characters, as base/quote.h does.
std::string toml_text(std::string_view text);

// An array of strings, as TOML writes it.
std::string toml_list(const std::vector<std::string>& texts);

// Returns an error sentence; empty on success.
std::string apply_edit(const config_edit& edit, std::string& toml_text);

}  // namespace digd::cli
