// Changes one key of a rule in a configuration file's text, and leaves the rest as it stands: comments, order, spaces.
//
// Pure functions. Failure: a sentence that says what to write by hand. The result is parsed again and compared with
// what was there: nothing but the key has changed, or the edit is refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace digd::cli {

struct config_edit {
  std::string rule, key;
  std::string literal;  // as TOML writes the value
};

// The names in `[rules.RULE] except`; none if there is no such key. Nothing, with `why` set, if the text is no TOML.
std::optional<std::vector<std::string>> excepted_in(std::string_view toml_text, const std::string& rule,
                                                    std::string& why);

// Empty if done, else why not.
std::string apply_edit(const config_edit& edit, std::string& toml_text);

}  // namespace digd::cli
