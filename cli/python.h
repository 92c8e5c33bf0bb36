// The Python interpreter that has digd's package.
#pragma once

#include <string>
#include <vector>

namespace digd::cli {

// DIGD_PYTHON, else python3.
std::string python_interpreter();

// Replaces this process by a program, looked up in PATH, and its arguments. Returns only if that fails: the reason.
std::string exec_program(std::vector<std::string> words);

}  // namespace digd::cli
