// digctl check TRACE|RUN...: whether runs show the failures that are expected, for tests and CI.
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/quote.h"
#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/files.h"
#include "cli/progress.h"
#include "cli/trace_input.h"
#include "ingest/protocol/replay.h"
#include "report/picture/labels.h"
#include "report/picture/xml.h"

namespace digd::cli {

namespace {

struct check_options {
  std::vector<std::string> runs;
  std::vector<std::string> expect{"none"};
  std::string junit;
  daemon_options daemon;
};

struct checked_run {
  std::string name;
  std::map<rule_id, detection> fired;  // the first of each rule
  std::optional<milliseconds> first_ts;
  milliseconds last_ts = 0;
  std::vector<std::string> failures;  // sentences; empty: as expected
  std::string problem;                // why it could not be checked
};

constexpr std::string_view none = "none";

// The first detection of a rule as a sentence, with its time as a report writes it: since the first message.
std::string in_words(const detection& d, const checked_run& of) {
  const picture::time_scale time = picture::time_scale::of(of.first_ts.value_or(0), of.last_ts);
  const std::string place = d.at ? " (seq " + std::to_string(*d.at) + ")" : "";
  return std::string(to_string(d.rule)) + " fired at " + time.moment(d.ts) + place + ": " + d.reason;
}

void compare(checked_run& run, const std::vector<std::string>& expect) {
  const bool wants_none = expect.size() == 1 && expect.front() == none;
  for (const auto& [rule, first] : run.fired) {
    if (wants_none || std::find(expect.begin(), expect.end(), to_string(rule)) == expect.end())
      run.failures.push_back(in_words(first, run));
  }
  if (wants_none) return;
  for (const std::string& name : expect) {
    if (!run.fired.contains(*rule_from(name))) run.failures.push_back(name + " was expected and did not fire");
  }
}

checked_run check_run(const std::string& name, const check_options& options, progress& progress) {
  checked_run run{.name = name, .fired = {}, .first_ts = {}, .failures = {}, .problem = {}};
  const auto input = [&] {
    const auto held = progress.pause();  // reading a fleet shows its own progress
    return trace_input::open(name, options.daemon, run.problem);
  }();
  if (!input) return run;
  ingest::replay::listener to;
  to.record = [&](const ingest::record& record) {
    progress.add();
    if (!run.first_ts) run.first_ts = run.last_ts = record.ts;
    run.last_ts = std::max(run.last_ts, record.ts);
    for (const detection& d : record.answer.detections) run.fired.try_emplace(d.rule, d);
  };
  to.refused = [&](std::uint64_t line, const ingest::record& record) {
    if (!run.problem.empty()) return;
    const refusal_note& note = record.answer.refused;
    run.problem =
        "line " + std::to_string(line) + " was refused: " + std::string(to_string(note.code)) + ": " + note.text;
  };
  ingest::replay through(run_policy{}, to);
  std::string problem = input->lines([&](std::string_view line) { return through.line(line); });
  if (problem.empty()) problem = through.problem();
  if (problem.empty() && through.run() == nullptr) problem = "not a trace: the file is empty";
  if (run.problem.empty()) run.problem = problem;
  if (run.problem.empty()) compare(run, options.expect);
  return run;
}

// JUnit's format as CI servers read it: a test case for each run.
std::string junit_of(const std::vector<checked_run>& runs) {
  std::size_t failures = 0, errors = 0;
  std::string cases;
  for (const checked_run& run : runs) {
    cases += "  <testcase classname=\"digctl check\" name=\"" + picture::xml(run.name) + "\"";
    failures += !run.failures.empty();
    errors += !run.problem.empty();
    if (run.failures.empty() && run.problem.empty()) {
      cases += "/>\n";
      continue;
    }
    cases += ">\n";
    if (!run.problem.empty()) cases += "    <error message=\"" + picture::xml(run.problem) + "\"/>\n";
    for (const std::string& sentence : run.failures)
      cases += "    <failure message=\"" + picture::xml(sentence) + "\"/>\n";
    cases += "  </testcase>\n";
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"digctl check\" tests=\"" +
         std::to_string(runs.size()) + "\" failures=\"" + std::to_string(failures) + "\" errors=\"" +
         std::to_string(errors) + "\">\n" + cases + "</testsuite>\n";
}

void print(const checked_run& run) {
  const std::string name = shown(run.name);
  if (!run.problem.empty()) {
    complain("check", name + ": " + run.problem);
    return;
  }
  if (run.failures.empty()) std::cout << "ok      " << name << '\n';
  for (const std::string& sentence : run.failures) std::cout << "FAILED  " << name << ": " << sentence << '\n';
}

int check(const check_options& options) {
  std::vector<checked_run> runs;
  bool failed = false, unreadable = false;
  progress shown_progress;
  for (const std::string& name : options.runs) {
    std::string phase = "checking";
    if (options.runs.size() > 1)
      phase += " run " + std::to_string(runs.size() + 1) + " of " + std::to_string(options.runs.size());
    shown_progress.begin({.name = std::move(phase), .unit = "messages"});
    runs.push_back(check_run(name, options, shown_progress));
    const auto held = shown_progress.pause();
    print(runs.back());
    failed = failed || !runs.back().failures.empty();
    unreadable = unreadable || !runs.back().problem.empty();
  }
  if (!options.junit.empty()) {
    if (const std::string problem = write_file(options.junit, junit_of(runs)); !problem.empty())
      return complain("check", shown(options.junit) + ": " + problem);
  }
  if (unreadable) return wrong_use;
  return failed ? found : done;
}

std::string check_expectation(const std::string& text) {
  if (text == none || rule_from(text)) return {};
  return "expected none or a rule's name (see digctl rules), got " + digd::quoted(text);
}

}  // namespace

void add_check(CLI::App& app, int& status) {
  auto options = std::make_shared<check_options>();
  CLI::App* sub = app.add_subcommand("check", "Checks that runs show no failure, or exactly the expected ones");
  sub->add_option("RUN", options->runs, "traces (files, or - for standard input), or runs of the daemon")->required();
  sub->add_option("--expect", options->expect, "none, or the rules that must fire; all others must not")
      ->delimiter(',')
      ->check(CLI::Validator(check_expectation, "KIND"))
      ->capture_default_str();
  sub->add_option("--junit", options->junit, "also write the result as JUnit XML");
  add_daemon_options(*sub, options->daemon);
  add_data_dir_option(*sub, options->daemon);
  sub->footer("Exit status: 0 as expected, 1 not as expected, 2 a run that cannot be read or has refused messages.");
  sub->callback([options, &status] {
    const bool has_none = std::find(options->expect.begin(), options->expect.end(), none) != options->expect.end();
    if (has_none && options->expect.size() > 1) throw CLI::ValidationError("--expect", "none excludes other rules");
    status = check(*options);
  });
}

}  // namespace digd::cli
