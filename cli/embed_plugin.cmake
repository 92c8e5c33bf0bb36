# Writes the C++ file of opencode_plugin.h: cmake -DFROM=FILE.js -DTO=FILE.cpp -P embed_plugin.cmake
file(READ ${FROM} text)
string(REGEX MATCH "^[^\n]*\n" first_line "${text}")
file(WRITE ${TO}.new "// Written by cli/embed_plugin.cmake.
#include \"cli/opencode_plugin.h\"

namespace digd::cli {

const hooked_program& opencode_program() {
  static const hooked_program program = {.name = \"opencode\", .title = \"opencode\", .hooks = {}};
  return program;
}

bool is_opencode_plugin(std::string_view text) { return text.starts_with(R\"digd_text(${first_line})digd_text\"); }

std::string opencode_plugin(std::string_view address) {
  constexpr std::string_view place = \"@ADDRESS@\";
  std::string text = R\"digd_text(${text})digd_text\";
  return text.replace(text.find(place), place.size(), address);
}

}  // namespace digd::cli
")
file(COPY_FILE ${TO}.new ${TO} ONLY_IF_DIFFERENT)
