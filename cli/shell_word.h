// Quotes texts for commands that people or other programs run.
#pragma once

#include <string>
#include <string_view>

namespace digd::cli {

// One word of a POSIX shell: unchanged if that is safe, else in single quotes. Control characters stay as they are.
std::string shell_word(std::string_view text);

}  // namespace digd::cli
