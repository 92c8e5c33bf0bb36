// digctl attribute chief: who made the decisive error of a failed run, and when.
#include <boost/json.hpp>
#include <iostream>
#include <memory>
#include <optional>

#include "analysis/chief/attribute.h"
#include "analysis/chief/trace_log.h"
#include "analysis/report/chief_suspects.h"
#include "analysis/whowhen/dataset.h"
#include "cli/attribute.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/fleet.h"
#include "cli/llm_options.h"
#include "cli/printable.h"
#include "cli/progress.h"
#include "cli/run_text.h"
#include "ingest/protocol/decode.h"
#include "report/conclusion.h"

namespace digd::cli {

namespace {

struct attribute_options {
  std::string text, format = "table";
  std::string judge = "chief-llm";
  bool judge_option_given = false;
  bool is_brief = false;
  std::size_t top = 5;
  llm_options llm;
  daemon_options daemon;
  pass_options pass;
};

bool is_trace(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \r\n\t"), text.size()));
  return ingest::decoder().header_of(text.substr(0, text.find('\n'))).type == ingest::line_type::hello;
}

// A Who&When log is one JSON object with a `history`; a trace begins with a hello.
bool read_run(const attribute_options& options, whowhen::labelled_log& into, report::run_facts& facts,
              std::string& problem) {
  const std::optional<run_text> found = read_run_text(options.text, options.daemon, chief::max_trace_bytes, problem);
  if (!found) return false;
  if (found->text.find_first_not_of(" \r\n\t") == std::string::npos) {
    problem = "the file is empty";
    return false;
  }
  if (!found->is_file || is_trace(found->text)) {
    if (!chief::read_trace(found->text, into.log, problem)) return false;
    // What was healed counts only in a run that succeeded.
    if (into.log.outcome == "success") facts = report::facts_for_conclusion(report::observe(found->text));
    return true;
  }
  into.log.id = options.text;
  if (whowhen::read_log(found->text, into, problem, false)) return true;
  problem = "neither a trace, whose first line is a hello, nor a Who&When log: " + problem;
  return false;
}

int complain_about_run(const attribute_options& options, std::string_view problem) {
  std::cerr << "digctl attribute chief: " << shown(options.text) << ": " << printable(problem) << '\n';
  return wrong_use;
}

namespace json = boost::json;

// The graph of `chief-llm`; other judges have none.
json::value graph_of(const attribute_options& options, const chief::flat_log& log, const chief::attribution& graph) {
  if (options.judge != "chief-llm") return nullptr;
  json::object whole = json::parse(chief::to_json(log, graph, 0)).as_object();
  for (const char* of_the_default : {"log", "ranking", "agents", "findings"}) whole.erase(of_the_default);
  return whole;
}

constexpr std::string_view weakest =
    "CHIEF assumes a run that failed: the list below shows where this run was weakest.\n";

// `success`: the conclusion about a run that succeeded, printed because a model names somebody in any run.
void print(const attribute_options& options, const chief::flat_log& log, const chief::llm::ruling& r,
           const chief::attribution& graph, const std::optional<report::conclusion>& success) {
  if (options.format == "json") {
    json::array ranking, notes;
    for (std::size_t step : r.steps) ranking.push_back(json::object{{"agent", log.steps[step].agent}, {"step", step}});
    for (const std::string& note : r.notes) notes.emplace_back(note);
    json::object object{{"log", log.id},
                        {"method", options.judge},
                        {"agent", r.agent},
                        {"ranking", std::move(ranking)},
                        {"reason", r.reason},
                        {"stood_in", r.is_deterministic},
                        {"notes", std::move(notes)},
                        {"graph", graph_of(options, log, graph)}};
    if (success) object["verdict"] = json::object{{"kind", to_string(success->verdict)}, {"words", success->words}};
    std::cout << json::serialize(object) << '\n';
    return;
  }
  if (success) std::cout << printable(success->words) << '\n' << weakest;
  std::cout << "agent " << printable(r.agent) << ", step";
  for (std::size_t i = 0; i < r.steps.size() && i < options.top; ++i) std::cout << (i ? ", then " : " ") << r.steps[i];
  std::cout << '\n';
  if (!r.reason.empty()) std::cout << printable(r.reason) << '\n';
  for (const std::string& note : r.notes) std::cout << "  " << printable(note) << '\n';
}

int ask_model(const attribute_options& options, const whowhen::labelled_log& run, const report::run_facts& facts) {
  std::string problem;
  if (options.llm.with_answer && run.answer.empty())
    return complain_about_run(options, "--with-answer: the log has no ground_truth");
  const auto model = open_endpoint(options.llm, problem);
  if (!model) return complain_about_run(options, problem);
  chief::attribution graph;
  const chief::llm::ruling r = show_while({.name = "asking the model"}, [&] {
    return rule_by(options.judge, *model, run.log, judging(options.llm, run.answer), &graph);
  });
  std::cerr << describe(model->used(), options.llm.dry_run) << '\n';
  if (options.llm.dry_run) return done;
  if (r.error) return complain_about_run(options, r.error.message() + (r.detail.empty() ? "" : ": " + r.detail));
  std::optional<report::conclusion> success;
  if (facts.ended == run_outcome::success) success = report::conclude(facts, {});
  print(options, run.log, r, graph, success);
  return done;
}

report::conclusion concluded(const whowhen::labelled_log& run, const report::run_facts& facts,
                             const chief::attribution& a) {
  report::part part{.id = "decisive-error", .name = "CHIEF", .ran = true};
  report::add_suspects(part, run.log, a, 2);
  return report::conclude(facts, {part});
}

bool blames_nobody_for_success(const report::conclusion& c) {
  return c.verdict == report::conclusion::kind::healthy || c.verdict == report::conclusion::kind::healed;
}

int attribute(const attribute_options& options) {
  whowhen::labelled_log run;
  std::string problem;
  if (options.judge_option_given && !options.llm.wanted())
    return complain_about_run(options, "--judge needs --llm URL or --dry-run");
  report::run_facts facts;
  if (!read_run(options, run, facts, problem)) return complain_about_run(options, problem);
  if (run.log.left_out > 0) {
    std::cerr << "digctl attribute chief: " << shown(options.text) << ": " << run.log.left_out
              << " lines that digd would refuse are left out\n";
  }
  if (options.llm.wanted()) return ask_model(options, run, facts);
  const chief::attribution a =
      show_while({.name = "finding the decisive error"}, [&] { return chief::attribute(run.log); });
  if (a.ranking.empty())
    return complain_about_run(options, "there is nobody to blame, because no agent acts in this run");
  const report::conclusion conclusion = concluded(run, facts, a);
  if (options.format == "json") {
    const auto extent = options.is_brief ? chief::json_extent::without_graph : chief::json_extent::whole;
    json::value whole = json::parse(chief::to_json(run.log, a, options.top, extent));
    json::object object{{"kind", to_string(conclusion.verdict)},
                        {"confidence", to_string(conclusion.sure)},
                        {"words", conclusion.words}};
    if (conclusion.verdict == report::conclusion::kind::suspect) {
      object["agent"] = conclusion.suspect.agent;
      object["step"] = a.ranking[a.lead].step;
    }
    whole.as_object()["verdict"] = std::move(object);
    std::cout << json::serialize(whole) << '\n';
  } else {
    std::cout << printable(conclusion.words) << '\n';
    if (blames_nobody_for_success(conclusion)) std::cout << weakest;
    std::cout << printable_lines(chief::describe(run.log, a, options.top));
  }
  return done;
}

}  // namespace

void add_attribute_chief(CLI::App& app, int& status) {
  auto options = std::make_shared<attribute_options>();
  CLI::App* sub = attribute_methods(app).add_subcommand(
      "chief", "Names the agent and step of the decisive error, with the chain of evidence");
  sub->add_option(
      "FILE|RUN", options->text,
      "a Who&When log (JSON) or a trace (JSON lines), - for standard input; without such a file, the id of a "
      "run that the daemon saw. Not given, with --fleet: each run that --where selects");
  sub->add_option("--top", options->top, "how many suspects to name")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  sub->add_option("--format", options->format, "table for people; json for machines, with the whole graph")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  sub->add_flag("--brief", options->is_brief, "with --format json: without the graph");
  add_daemon_options(*sub, options->daemon);
  add_data_dir_option(*sub, options->daemon);
  CLI::Option* judge = sub->add_option("--judge", options->judge, "with --llm: the method of asking the model")
                           ->check(CLI::IsMember(llm_methods))
                           ->capture_default_str()
                           ->group("With a model");
  add_llm_options(*sub, options->llm);
  add_pass_options(*sub, options->pass);
  sub->callback([sub, options, judge, &status] {
    options->judge_option_given = judge->count() > 0;
    const bool is_pass = options->text.empty() || options->pass.on_workers;
    if (!is_pass) status = attribute(*options);
    else if (!effective_fleet(options->daemon.fleet).urls.empty())
      status = exec_pass("attribute chief", *sub, options->daemon.fleet, options->pass, options->text);
    else if (options->text.empty()) throw CLI::RequiredError("FILE|RUN");
    else throw CLI::ValidationError("--on-workers", "needs --fleet");
  });
}

}  // namespace digd::cli
