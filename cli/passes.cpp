#include "cli/passes.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <thread>
#include <utility>

#include "analysis/report/parts.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/trace_input.h"

namespace digd::cli {

namespace {

constexpr std::size_t max_held_bytes = std::size_t{256} << 20, max_causes_bytes = std::size_t{64} << 20;

report::part_options part_options_of(const attribution_options& options, progress& progress) {
  report::part_options out{
      .budget_seconds = options.budget_seconds, .seed = options.seed, .stop = &stop_asked(), .progress = {}};
  out.threads = options.threads > 0 ? options.threads : std::clamp(std::thread::hardware_concurrency(), 1u, 64u);
  out.progress = [&progress](std::size_t done, std::size_t total) { progress.set(done, total); };
  return out;
}

}  // namespace

void add_pass_commands(CLI::App& app, int& status) {
  for (const auto add : {add_attribute_chief, add_attribute_shapley, add_causal, add_eval, add_work}) add(app, status);
}

std::optional<std::vector<report::part>> attributed(const std::string& source, const attribution_options& options,
                                                    kept_trace& trace, const report::gathered& from,
                                                    progress& progress) {
  std::string problem, causes;
  if (!options.causes.empty()) {
    auto read = read_file(options.causes, max_causes_bytes, problem);
    if (!read) {
      const auto held = progress.pause();
      complain("report", shown(source) + ": " + shown(options.causes) + ": " + problem);
      return {};
    }
    causes = std::move(*read);
  }
  std::optional<std::string> held;
  const report::trace_text text = [&]() -> std::string_view {
    if (!held) held = trace.text(max_held_bytes).value_or(std::string());
    return *held;
  };
  const report::part_options for_parts = part_options_of(options, progress);
  const std::string subject = report::on_command_line(source);
  std::vector<report::part> parts;
  progress.begin({.name = "Shapley values"});
  parts.push_back(report::shapley_part(text, from.seen, subject, for_parts));
  progress.begin({.name = "finding the decisive error"});
  parts.push_back(report::chief_part(text, from.seen, subject, for_parts));
  parts.push_back(report::causal_part(causes));
  return parts;
}

}  // namespace digd::cli
