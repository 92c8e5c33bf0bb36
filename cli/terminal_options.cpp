#include "cli/terminal_options.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace digd::cli {

namespace {

constexpr std::size_t min_terminal_width = 40, max_terminal_width = 2000;

std::string_view from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

bool terminal_options::on_terminal() const { return ::isatty(STDOUT_FILENO) == 1; }

std::size_t terminal_options::columns() const {
  if (width != 0) return std::clamp(width, min_terminal_width, max_terminal_width);
  winsize size{};
  if (on_terminal() && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return std::clamp<std::size_t>(size.ws_col, min_terminal_width, max_terminal_width);
  }
  return no_terminal_width;
}

bool terminal_options::colored() const {
  if (color != "auto") return color == "always";
  return on_terminal() && from_environment("NO_COLOR").empty() && from_environment("TERM") != "dumb";
}

table::look table_look(const terminal_options& terminal) {
  return {terminal.on_terminal() || terminal.width != 0 ? terminal.columns() : 0, terminal.colored()};
}

void add_terminal_options(CLI::App& app, terminal_options& to) {
  app.add_option("--width", to.width, "the width in columns; default: that of the terminal, otherwise 120")
      ->check(CLI::Range(40, 2000));
  app.add_option("--color", to.color, "auto (on a terminal, unless NO_COLOR is set), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
}

}  // namespace digd::cli
