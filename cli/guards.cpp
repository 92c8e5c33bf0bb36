// digctl guards suggest: limits for the guards, from what past runs reached.
#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json_writer.h"
#include "base/unix_time.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/run_source.h"
#include "report/stored_runs/guard_limits.h"
#include "report/stored_runs/pilot.h"
#include "rules/guard_option.h"

namespace digd::cli {

namespace {

namespace json = boost::json;

constexpr std::size_t max_runs = 10'000;           // the latest ones
constexpr std::size_t few_runs = 20;               // fewer say little about runs to come
constexpr std::size_t max_line_bytes = 64u << 20;  // a longer line of a trace is left out

struct suggest_options {
  std::string since = "14d";
  double percentile = 99;
  double margin = 2;
  std::string format = "toml";
  daemon_options daemon;
};

// Hands each line of a trace that comes in pieces to a reader.
class line_cutter {
 public:
  explicit line_cutter(stored::extent_reader& to) : to_(to) {}
  bool take(std::string_view piece) {
    for (std::size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
      add(piece.substr(0, end));
      if (!is_too_long_) to_.take(line_);
      line_.clear();
      is_too_long_ = false;
      piece.remove_prefix(end + 1);
    }
    add(piece);
    return true;
  }

 private:
  void add(std::string_view part) {
    is_too_long_ = is_too_long_ || line_.size() + part.size() > max_line_bytes;
    if (!is_too_long_) line_ += part;
  }

  stored::extent_reader& to_;
  std::string line_;
  bool is_too_long_ = false;
};

std::string number(double value) { return fmt::format("{}", value); }

struct past_runs {
  std::vector<stored::run_extent> extents;
  bool has_more = false;
};

std::string read_runs(run_source& from, std::int64_t since_ms, past_runs& into) {
  std::vector<std::string> names;
  progress shown_progress;
  shown_progress.begin({.name = "reading the list", .unit = "runs"});
  std::string problem = from.runs([&](const json::object& run) {
    const json::value* opened = run.if_contains("opened_ms");
    const json::value* name = run.if_contains("run");
    if (opened == nullptr || !opened->is_int64() || name == nullptr || !name->is_string()) return true;
    if (opened->get_int64() < since_ms) return false;
    into.has_more = names.size() == max_runs;
    shown_progress.add();
    if (!into.has_more) names.emplace_back(name->get_string().c_str(), name->get_string().size());
    return !into.has_more;
  });
  shown_progress.begin({.name = "reading", .total = names.size(), .unit = "runs"});
  for (std::size_t i = 0; i < names.size() && problem.empty(); ++i) {
    stored::extent_reader reader;
    line_cutter cut(reader);
    problem = from.trace(names[i], [&](std::string_view piece) { return cut.take(piece); });
    into.extents.push_back(reader.extent());
    shown_progress.add();
  }
  return problem;
}

std::string as_toml(const std::vector<stored::limit_suggestion>& limits, const suggest_options& options,
                    std::size_t runs) {
  std::string out = fmt::format(
      "# {} times the value that {} % of {} runs of the last {} did not exceed.\n"
      "# Beside each limit: how many of these runs it would have stopped, and the greatest value.\n",
      number(options.margin), number(options.percentile), runs, options.since);
  std::optional<rule_id> guard;
  for (const stored::limit_suggestion& s : limits) {
    if (s.guard != guard) {
      guard = s.guard;
      out += fmt::format("\n[guards.{}]\n", to_string(s.guard));
    }
    std::string value = number(s.value);
    if (std::holds_alternative<cost_limit>(s.limit->kind) && value.find('.') == std::string::npos) value += ".0";
    out += fmt::format("{} = {}  # {} of {}; {}\n", s.limit->name, value, s.stopped, runs, number(s.greatest));
  }
  return out;
}

std::string as_json(const std::vector<stored::limit_suggestion>& limits, const suggest_options& options,
                    std::size_t runs) {
  std::string out;
  json_writer to(out);
  to.open_object().key("since").text(options.since).key("runs").integer(runs);
  to.key("percentile").number(options.percentile).key("margin").number(options.margin).key("limits").open_array();
  for (const stored::limit_suggestion& s : limits) {
    to.open_object().key("guard").text(to_string(s.guard)).key("limit").text(s.limit->name);
    to.key("value").number(s.value).key("greatest").number(s.greatest);
    to.key("stopped").integer(s.stopped).close_object();
  }
  to.close_array().close_object();
  return out + '\n';
}

int suggest(const suggest_options& options) {
  const auto span = stored::duration_ms(options.since);
  if (!span) return complain("guards suggest", wrong_span);
  const auto source = open_source("guards suggest", options.daemon, opened_since(options.since));
  if (!source) return wrong_use;
  past_runs past;
  if (const std::string problem = read_runs(*source, unix_ms() - *span, past); !problem.empty())
    return complain("guards suggest", problem);
  if (past.extents.empty()) return complain("guards suggest", "no run was opened in the last " + options.since);
  const auto limits = stored::suggest_limits(past.extents, options.percentile, options.margin);
  std::cout << (options.format == "json" ? as_json(limits, options, past.extents.size())
                                         : as_toml(limits, options, past.extents.size()));
  if (past.has_more) std::cerr << "There were more runs; these are the latest " << max_runs << ".\n";
  if (past.extents.size() < few_runs)
    std::cerr << "Few runs: set --since further back, or use --margin 3 until there are more.\n";
  return done;
}

}  // namespace

void add_guards(CLI::App& app, int& status) {
  CLI::App* guards = app.add_subcommand("guards", "Finds limits for the guards");
  guards->require_subcommand(1);
  auto options = std::make_shared<suggest_options>();
  CLI::App* sub = guards->add_subcommand("suggest", "Proposes limits from past runs, as a part of the configuration");
  sub->add_option("--since", options->since, "runs opened within this time: 36h, 14d, 4w")->capture_default_str();
  sub->add_option("--percentile", options->percentile,
                  "the measure is the value that this percentage of the runs did not exceed")
      ->check(CLI::Range(1.0, 100.0))
      ->capture_default_str();
  sub->add_option("--margin", options->margin, "the limit is this many times the measure")
      ->check(CLI::Range(1.0, 100.0))
      ->capture_default_str();
  sub->add_option("--format", options->format, "toml for the configuration, json for machines")
      ->check(CLI::IsMember({"toml", "json"}))
      ->capture_default_str();
  add_daemon_options(*sub, options->daemon);
  add_data_dir_option(*sub, options->daemon);
  sub->callback([options, &status] { status = suggest(*options); });
}

}  // namespace digd::cli
