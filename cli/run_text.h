// Reads the input of a command as one text: a file, "-" for standard input, or a run of a daemon or archive.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cli/daemon_options.h"

namespace digd::cli {

struct run_text {
  std::string text;
  bool is_file = false;  // else the lines of a run's trace
};

// A file takes precedence over a run of the same name, unless an archive is named. nullopt, with `problem` set: there
// is neither, or more than `max_bytes` bytes of it. Blocks, and shows progress unless quiet.
std::optional<run_text> read_run_text(const std::string& text, const daemon_options& options, std::size_t max_bytes,
                                      std::string& problem, bool is_quiet = false);

}  // namespace digd::cli
