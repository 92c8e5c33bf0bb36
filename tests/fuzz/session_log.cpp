// Session logs of coding agents: the importers of hooks/session_log.h, and a replay of the resulting traces.
//
// The first byte selects the program. A line with only "--" begins the log of a subagent.
#include "ingest/hooks/session_log.h"

#include "ingest/protocol/replay.h"
#include "tests/fuzz/target.h"

namespace {

std::vector<digd::hooks::log_file> files_of(std::string_view text) {
  std::vector<digd::hooks::log_file> files(1);
  std::string_view line;
  while (digd::fuzz::take_line(text, line)) {
    if (line != "--") {
      (files.back().text += line) += '\n';
      continue;
    }
    digd::hooks::log_file next;
    next.agent = "a" + std::to_string(files.size());
    next.agent_type = "general-purpose";
    files.push_back(std::move(next));
  }
  return files;
}

}  // namespace

FUZZ_TARGET(session_log) {
  if (size == 0) return 0;
  const auto& program = digd::hooks::log_programs[data[0] % digd::hooks::log_programs.size()];
  const auto session = program.import("s", files_of(digd::fuzz::text_of(data + 1, size - 1)), {.max_repeats = 3});
  digd::fuzz::must(session.damaged.size() <= digd::hooks::imported_session::max_damaged, "few damaged lines are named");
  for (const auto& run : session.runs) {
    std::string problem;
    digd::ingest::replay through(digd::run_policy{}, {.record = [&](const digd::ingest::record& record) {
                                   if (record.answer.refused) problem = record.answer.refused.text;
                                 }});
    for (const std::string& line : run.lines) {
      digd::fuzz::must(through.line(line), "an imported trace can be replayed", through.problem());
      digd::fuzz::must(problem.empty(), "the engine refuses no message of an imported trace", problem + "\n" + line);
    }
  }
  return 0;
}
