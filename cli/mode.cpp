// digctl mode [MODE]: the operator's switch, and what shadow would have done.
#include <boost/json/parse.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include "base/json_writer.h"
#include "cli/commands.h"
#include "cli/json_fields.h"
#include "cli/printable.h"
#include "cli/progress.h"
#include "cli/run_source.h"
#include "model/settings.h"

namespace digd::cli {

namespace json = boost::json;

namespace {

struct mode_options {
  std::string mode;
  std::size_t runs = 20;
  daemon_options daemon;
};

const char* in_words(mode m) {
  switch (m) {
    case mode::off: return "digd judges nothing and delivers every event unchanged";
    case mode::observe: return "digd records and shows detections, and does nothing else";
    case mode::shadow: return "digd records detections and what it would have done, and does nothing else";
    case mode::enforce: return "digd heals where the modes of the run and the rule allow it";
  }
  return "";
}

// The mode in an answer of /v1/mode; nullopt, after a message on standard error: the answer has none.
std::optional<json::object> answer_of(const daemon_client& daemon, const std::string& problem,
                                      const net::http_answer& answer) {
  if (!problem.empty() || !answer.good()) {
    complain("mode", problem.empty() ? complaint_of(daemon, answer) : problem);
    return {};
  }
  json::error_code ec;
  const json::value value = json::parse(answer.body, ec);
  if (ec || !value.is_object()) {
    complain("mode", "the answer is not a JSON object; is that digd?");
    return {};
  }
  return value.get_object();
}

std::optional<mode> mode_in(const json::object& from) { return mode_from(text_in(from, "mode")); }

int set(const daemon_client& daemon, mode to) {
  net::http_answer answer;
  std::string body;
  json_writer(body).open_object().key("mode").text(to_string(to)).close_object();
  const std::string problem = daemon.ask("PUT", "/v1/mode", body, answer);
  const auto object = answer_of(daemon, problem, answer);
  if (!object) return wrong_use;
  const std::int64_t runs = integer_in(*object, "switched");
  std::cout << to_string(to) << '\n';
  std::cerr << "The switch is on " << to_string(to) << ": " << in_words(to) << ". " << runs
            << (runs == 1 ? " open run" : " open runs") << " changed. The mode applies until the daemon restarts.\n";
  return done;
}

// Healings that only the mode prevented, by rule and healing, over the latest runs.
struct shadow_summary {
  std::map<std::pair<std::string, std::string>, std::int64_t> counts;
  std::size_t runs = 0;

  void add(const json::object& run) {
    ++runs;
    for (const json::value& value : array_in(run, "would_have")) {
      const json::object* fields = value.if_object();
      const std::int64_t count = fields ? integer_in(*fields, "count") : 0;
      if (count > 0) counts[{printable(text_in(*fields, "rule")), printable(text_in(*fields, "healing"))}] += count;
    }
  }

  void print() const {
    if (runs == 0) return;
    const std::string which = runs == 1 ? "the latest run" : "the latest " + std::to_string(runs) + " runs";
    if (counts.empty()) {
      std::cerr << "In " << which << " no healing was withheld by a mode.\n";
      return;
    }
    std::cerr << "In " << which << ", shadow would have done:\n";
    for (const auto& [action_of_rule, count] : counts) {
      const auto& [rule, action] = action_of_rule;
      std::cerr << "  " << rule << ": " << action << ' ' << count << (count == 1 ? " time\n" : " times\n");
    }
  }
};

int show(const daemon_client& daemon, const mode_options& options) {
  net::http_answer answer;
  std::string problem = daemon.get("/v1/mode", answer);
  const auto object = answer_of(daemon, problem, answer);
  if (!object) return wrong_use;
  const auto now = mode_in(*object);
  if (!now) return complain("mode", "the answer names no mode; is that digd?");
  std::cout << to_string(*now) << std::endl;
  std::cerr << "The switch is on " << to_string(*now) << ": " << in_words(*now) << ".\n";
  const auto source = options.runs > 0 ? open_source("mode", options.daemon) : nullptr;
  if (!source) return done;
  std::vector<std::string> names;
  problem = source->runs([&](const json::object& run) {
    if (const std::string_view name = text_in(run, "run"); !name.empty()) names.emplace_back(name);
    return names.size() < options.runs;
  });
  shadow_summary summary;
  {
    progress shown_progress;
    shown_progress.begin({.name = "reading", .total = names.size(), .unit = "runs"});
    for (const std::string& name : names) {
      json::object run;
      if (source->details(name, run).empty()) summary.add(run);  // it may have been deleted meanwhile
      shown_progress.add();
    }
  }
  summary.print();
  if (!problem.empty()) std::cerr << "Cannot find what shadow would have done: " << problem << ".\n";
  return done;
}

int switch_or_show(const mode_options& options) {
  const auto daemon = http_to("mode", options.daemon);
  if (!daemon) return wrong_use;
  return options.mode.empty() ? show(*daemon, options) : set(*daemon, *mode_from(options.mode));
}

}  // namespace

void add_mode(CLI::App& app, int& status) {
  auto options = std::make_shared<mode_options>();
  CLI::App* sub = app.add_subcommand("mode", "Shows or sets the operator's switch, which limits the mode of all runs");
  sub->add_option("MODE", options->mode,
                  "off, observe, shadow or enforce; default: show it, and what shadow would have done")
      ->check(CLI::IsMember({"off", "observe", "shadow", "enforce"}));
  sub->add_option("--runs", options->runs, "the number of latest runs to check for what shadow would have done")
      ->check(CLI::Range(0, 1'000))
      ->capture_default_str();
  add_daemon_options(*sub, options->daemon);
  sub->callback([options, &status] { status = switch_or_show(*options); });
}

}  // namespace digd::cli
