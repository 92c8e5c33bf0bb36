// digctl replay TRACE: what the monitor answers to a trace.
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "base/quote.h"
#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/fail_on.h"
#include "cli/files.h"
#include "cli/frame_rows.h"
#include "cli/progress.h"
#include "cli/refused_lines.h"
#include "cli/terminal_options.h"
#include "ingest/protocol/encode.h"
#include "ingest/protocol/replay.h"
#include "report/picture/labels.h"

namespace digd::cli {

namespace {

struct replay_options {
  std::string trace;
  std::string format = "table";
  std::string output = "detections";
  std::string fail_on;
  terminal_options terminal;
};

using tone = table::tone;

std::string or_dash(const std::optional<std::string>& text) { return text ? digd::quoted(*text) : "-"; }

// `since`: the time of the first message.
table::row row_of(const detection& d, milliseconds since) {
  const std::string text =
      d.healed ? "healed: " + std::string(to_string(d.healing)) : "not healed: " + std::string(to_string(d.cause));
  return {{picture::duration(d.ts - since), tone::quiet},
          {d.at ? std::to_string(*d.at) : "-", tone::quiet},
          {std::string(to_string(d.rule)), d.severity == severity::failure ? tone::bad : tone::warning},
          {or_dash(d.event)},
          {or_dash(d.agent)},
          {text, d.healed ? tone::good : tone::quiet},
          {d.reason}};
}

class printer {
 public:
  explicit printer(const replay_options& options)
      : options_(options),
        table_({"time", "seq", "rule", "event", "agent", "healing", "why"}, table_look(options.terminal)),
        frames_(options.format, table_look(options.terminal), pace::complete),
        records_(options.format) {}

  // `shown` outlives the replay.
  ingest::replay::listener listener(progress& shown) {
    progress_ = &shown;
    ingest::replay::listener to;
    if (options_.output == "messages") {
      to.frame = [this](std::string_view frame) {
        const auto held = progress_->pause_for_output();
        frames_.frame(frame);
      };
    }
    to.record = [this](const ingest::record& record) { take(record); };
    to.refused = [this](std::uint64_t line, const ingest::record& record) {
      const refusal_note& note = record.answer.refused;
      refusals_.add(line, to_string(note.code), note.field, note.text);
    };
    return to;
  }

  void finish() {
    if (options_.output == "messages") return frames_.finish();
    if (!records_.is_on()) table_.print(std::cout);
    records_.finish();
    std::cout.flush();
  }
  bool found() const { return found_; }
  const refused_lines& refusals() const { return refusals_; }

 private:
  static constexpr std::size_t rows_at_once = 4096;

  void print_some() {
    if (table_.waiting() < rows_at_once) return;
    const auto held = progress_->pause_for_output();
    table_.print(std::cout);
  }

  void take(const ingest::record& record) {
    progress_->add();
    if (!first_ts_) first_ts_ = record.ts;
    for (const detection& d : record.answer.detections) {
      if (fails_on(options_.fail_on, d)) found_ = true;
      if (options_.output != "detections") continue;
      if (!records_.is_on()) {
        table_.add(row_of(d, *first_ts_));
        print_some();
        continue;
      }
      line_.clear();
      ingest::encode_detection(line_, d, false);
      const auto held = progress_->pause_for_output();
      records_.add(line_);
    }
  }

  const replay_options& options_;
  table table_;
  frame_printer frames_;
  json_records records_;
  refused_lines refusals_;
  std::string line_;
  progress* progress_ = nullptr;
  std::optional<milliseconds> first_ts_;
  bool found_ = false;
};

int replay(const replay_options& options) {
  printer print(options);
  std::optional<progress> shown_progress(std::in_place);
  if (const std::string problem = unreadable_reason(options.trace); !problem.empty())
    return complain("replay", shown(options.trace) + ": " + problem);
  ingest::replay through(run_policy{}, print.listener(*shown_progress));
  shown_progress->begin({.name = "replaying", .unit = "messages"});
  const ingest::replayed result = ingest::replay_file(options.trace, through);
  shown_progress.reset();
  // Errors come before the table.
  int status = done;
  if (result.counted.rejected > 0) status = print.refusals().report("replay", options.trace);
  if (!result.problem.empty()) status = complain("replay", shown(options.trace) + ": " + result.problem);
  if (through.run() != nullptr) print.finish();
  if (!result.problem.empty()) return status;
  if (through.semantics() != semantics_version) {
    std::cerr << "digctl replay: this run began under version " << through.semantics()
              << " of the semantics; the answers here follow version " << semantics_version << "\n";
  }
  const ingest::replay::counts& c = result.counted;
  std::cerr << c.messages << (c.messages == 1 ? " message, " : " messages, ") << c.refused << " refused, "
            << c.detections << (c.detections == 1 ? " detection, " : " detections, ") << c.healed << " healed\n";
  return status == done && print.found() ? found : status;
}

}  // namespace

void add_replay(CLI::App& app, int& status) {
  auto options = std::make_shared<replay_options>();
  CLI::App* sub = app.add_subcommand("replay", "Runs a trace through the engine and prints its answers");
  sub->add_option("TRACE", options->trace, "trace file (JSON lines); - for standard input")->required();
  sub->add_option("--format", options->format, "table for people; for machines json, or jsonl with a line for each")
      ->check(CLI::IsMember({"table", "json", "jsonl"}))
      ->capture_default_str();
  sub->add_option("--output", options->output, "detections, or messages: everything that digd would send to a client")
      ->check(CLI::IsMember({"detections", "messages"}))
      ->capture_default_str();
  sub->add_option("--fail-on", options->fail_on, "exit 1 on a detection: any, failure, warning, or a rule's name")
      ->check(CLI::Validator(check_fail_on, "KIND"));
  add_terminal_options(*sub, options->terminal);
  sub->callback([options, &status] { status = replay(*options); });
}

}  // namespace digd::cli
