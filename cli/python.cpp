#include "cli/python.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace digd::cli {

std::string python_interpreter() {
  const char* named = std::getenv("DIGD_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

std::string exec_program(std::vector<std::string> words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  return words.front() + ": " + std::strerror(errno);
}

}  // namespace digd::cli
