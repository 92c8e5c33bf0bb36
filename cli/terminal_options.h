// Properties of a command's output: the width of the terminal, and whether to use colour.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>

#include "cli/table.h"

namespace digd::cli {

struct terminal_options {
  std::size_t width = 0;  // 0: that of the terminal; where there is none, `no_terminal_width`
  std::string color = "auto";

  static constexpr std::size_t no_terminal_width = 120;

  bool on_terminal() const;  // standard output is one
  std::size_t columns() const;
  // With `auto`: on a terminal, unless NO_COLOR is set (https://no-color.org) or TERM is `dumb`.
  bool colored() const;
};

// For tables: they wrap on a terminal, or if a width is given.
table::look table_look(const terminal_options& terminal);

void add_terminal_options(CLI::App& app, terminal_options& to);

}  // namespace digd::cli
