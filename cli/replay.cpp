// digctl replay TRACE: what the monitor answers to a trace.
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/table.h"
#include "engine/quote.h"
#include "ingest/encode.h"
#include "ingest/replay.h"

namespace digd::cli {

namespace {

struct replay_options {
  std::string trace;
  std::string format = "table";
  std::string output = "detections";
  std::string fail_on;
};

using row = std::vector<std::string>;

std::string or_dash(const std::optional<std::string>& text) { return text ? digd::quoted(*text) : "-"; }

row row_of(const detection& d) {
  const std::string what = d.healed ? "healed: " + std::string(to_string(d.healing))
                                    : "not healed: " + std::string(to_string(d.cause));
  return {std::to_string(d.ts), d.at ? std::to_string(*d.at) : "-", std::string(to_string(d.rule)),
          or_dash(d.event),     or_dash(d.agent),                   what,
          d.reason};
}

// A frame on one line for people: what a client is told.
row row_of_verdict(std::uint64_t seq, const verdict& v) {
  std::string to;
  for (const std::string& name : v.recipients) to += (to.empty() ? "" : " ") + digd::quoted(name);
  return {std::to_string(seq), digd::quoted(v.event), std::string(to_string(v.action)), to.empty() ? "-" : to,
          v.inject.empty() ? "-" : v.inject};
}

row row_of_intervention(const intervention& i) {
  std::string to;
  for (const std::string& name : i.recipients) to += (to.empty() ? "" : " ") + digd::quoted(name);
  return {"-", digd::quoted(i.event.value_or(i.id)), std::string(to_string(i.action)), to, i.inject};
}

class printer {
 public:
  explicit printer(const replay_options& how)
      : how_(how),
        table_(how.output == "detections"
                   ? table({"time", "seq", "rule", "event", "agent", "healing", "why"})
                   : table({"seq", "event", "action", "to", "text"})) {}

  ingest::replay::listener listener() {
    ingest::replay::listener to;
    if (how_.format == "jsonl" && how_.output == "messages") {
      // A program that talks to standard input waits for each answer.
      to.frame = [live = how_.trace == "-"](std::string_view frame) {
        std::cout << frame << '\n';
        if (live) std::cout.flush();
      };
    }
    to.took = [this](const ingest::taken& what) { take(what); };
    return to;
  }

  void finish() {
    if (how_.format == "table") std::cout << table_.text();
    std::cout.flush();
  }
  bool found() const { return found_; }

 private:
  void take(const ingest::taken& what) {
    for (const detection& d : what.answer.detections) {
      if (how_.fail_on == "any" || how_.fail_on == to_string(d.severity) || how_.fail_on == to_string(d.rule)) found_ = true;
      if (how_.output != "detections") continue;
      if (how_.format == "table") {
        table_.add(row_of(d));
        continue;
      }
      line_.clear();
      ingest::encode_detection(line_, d, false);
      std::cout << line_ << '\n';
    }
    if (how_.output == "detections" || how_.format != "table") return;
    for (const intervention& i : what.answer.interventions) table_.add(row_of_intervention(i));
    for (const verdict& v : what.answer.verdicts) table_.add(row_of_verdict(what.seq, v));
    if (what.answer.refused) {
      table_.add({std::to_string(what.seq), "-", std::string(to_string(what.answer.refused.code)), "-",
                  what.answer.refused.text});
    }
  }

  const replay_options& how_;
  table table_;
  std::string line_;
  bool found_ = false;
};

int replay(const replay_options& how) {
  printer print(how);
  ingest::replay through(run_policy{}, print.listener());
  const ingest::replayed result = ingest::replay_file(how.trace, through);
  print.finish();
  if (!result.problem.empty()) {
    std::cerr << "digctl replay: " << how.trace << ": " << result.problem << '\n';
    return wrong_use;
  }
  const ingest::replay::counts& c = result.counted;
  std::cerr << c.messages << " messages, " << c.refused << " refused, " << c.detections << " detections, " << c.healed
            << " healed\n";
  return print.found() ? found : done;
}

}  // namespace

void add_replay(CLI::App& app, int& status) {
  auto how = std::make_shared<replay_options>();
  CLI::App* sub = app.add_subcommand("replay", "Runs a trace through the engine and prints what it answers");
  sub->add_option("TRACE", how->trace, "trace file (JSON lines); - for standard input")->required();
  sub->add_option("--format", how->format, "table for people, jsonl for machines")
      ->check(CLI::IsMember({"table", "jsonl"}))
      ->capture_default_str();
  sub->add_option("--output", how->output, "detections, or messages: all that a client would be sent")
      ->check(CLI::IsMember({"detections", "messages"}))
      ->capture_default_str();
  sub->add_option("--fail-on", how->fail_on, "exit 1 on a detection: any, failure, warning, or a rule's name");
  sub->callback([how, &status] { status = replay(*how); });
}

}  // namespace digd::cli
