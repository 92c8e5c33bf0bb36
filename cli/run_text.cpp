#include "cli/run_text.h"

#include <filesystem>

#include "cli/files.h"
#include "cli/run_source.h"

namespace digd::cli {

namespace {

std::string fetch(const std::string& command, const std::string& run, const daemon_options& how, std::size_t most, std::string& lines) {
  const auto source = open_source(command, how);
  if (!source) return "the run cannot be looked up";
  const std::string problem = source->trace(run, [&](std::string_view piece) {
    lines += piece;
    return lines.size() <= most;
  });
  if (problem.empty() && lines.size() > most) return "its trace is over " + std::to_string(most) + " bytes";
  return problem.empty() || !how.data_dir.empty() ? problem : problem + " (and there is no such file)";
}

}  // namespace

std::optional<run_text> read_run_text(const std::string& command, const std::string& what, const daemon_options& how,
                                      std::size_t most, std::string& why) {
  std::error_code none;
  if (how.data_dir.empty() && (what == "-" || std::filesystem::exists(what, none))) {
    std::optional<std::string> text = read_file(what, most, why);
    if (!text) return std::nullopt;
    return run_text{std::move(*text), true};
  }
  run_text out;
  why = fetch(command, what, how, most, out.text);
  if (!why.empty()) return std::nullopt;
  return out;
}

}  // namespace digd::cli
