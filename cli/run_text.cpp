#include "cli/run_text.h"

#include "cli/files.h"
#include "cli/progress.h"
#include "cli/trace_input.h"

namespace digd::cli {

std::optional<run_text> read_run_text(const std::string& given_text, const daemon_options& options,
                                      std::size_t max_bytes, std::string& problem, bool is_quiet) {
  const auto input = trace_input::open(given_text, options, problem);
  if (!input) return std::nullopt;
  progress shown_progress(is_quiet);
  shown_progress.begin({.name = "reading the run", .unit = "bytes"});
  run_text out{{}, input->is_file()};
  if (out.is_file) {
    std::optional<std::string> text = read_file(given_text, max_bytes, problem);
    if (!text) return std::nullopt;
    out.text = std::move(*text);
    return out;
  }
  problem = input->lines([&](std::string_view line) {
    (out.text += line) += '\n';
    shown_progress.add(line.size() + 1);
    return out.text.size() <= max_bytes;
  });
  if (problem.empty() && out.text.size() > max_bytes)
    problem = "its trace is over " + std::to_string(max_bytes) + " bytes";
  if (!problem.empty()) return std::nullopt;
  return out;
}

}  // namespace digd::cli
