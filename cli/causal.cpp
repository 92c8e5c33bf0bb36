// digctl causal: which factors of many runs influence an outcome (docs/causal.md).
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "analysis/causal/beliefs.h"
#include "analysis/causal/eval.h"
#include "analysis/causal/factors/builtin.h"
#include "analysis/causal/factors/csv.h"
#include "analysis/causal/factors/factor_table.h"
#include "analysis/causal/factors/plain_name.h"
#include "analysis/causal/report.h"
#include "analysis/causal/verify.h"
#include "cli/commands.h"
#include "cli/factor_source.h"
#include "cli/files.h"
#include "cli/fleet.h"
#include "cli/progress.h"

namespace digd::cli {

namespace {

using namespace digd::causal;

int complain_about(std::string_view text, std::string_view problem) {
  std::cerr << "digctl causal: " << text << (text.empty() ? "" : ": ") << problem << '\n';
  return wrong_use;
}

struct causal_options {
  factor_source from;
  std::string target = "success", format = "text", out = "-", text = "averaged", structure = "averaged",
              score = "automatic";
  std::string experiments, factor, pair_by;
  std::vector<std::string> settings, outcomes, clusters, without;
  std::uint64_t seed = 1;
  std::size_t permutations = 999, bootstrap = 0;
  bool compare = false, list = false, as_lines = false;
  pass_options pass;
};

std::string load(factor_loader& from, factor_rows& into, const std::string& outcome = {}) {
  return show_while({.name = "reading the runs"}, [&] { return from.load(into, outcome); });
}

int write(const std::string& out, std::string_view text) {
  const std::string problem = write_file(out, text);
  return problem.empty() ? done : complain_about("", output_problem(out, problem));
}

std::optional<learner> learner_named(const std::string& name) {
  for (learner l : {learner::averaged, learner::iamb, learner::hiton, learner::add_prune}) {
    if (to_string(l) == name) return l;
  }
  return {};
}

std::string read_findings(const std::string& file, std::vector<experiment>& into, bool may_miss) {
  std::error_code none;
  if (file.empty() || (may_miss && !std::filesystem::exists(file, none))) return {};
  std::string problem;
  const auto text = read_file(file, max_factor_file_bytes, problem);
  if (!text) return shown(file) + ": " + problem;
  experiments read = read_experiments(*text);
  into = std::move(read.experiments);
  return read.problem.empty() ? "" : shown(file) + ": " + read.problem;
}

// Removes columns that the user leaves out, and those that follow from the outcome by definition.
void leave_out(factor_rows& rows, const causal_options& options) {
  variables kept;
  std::string bound;
  for (variable v = 0; v < rows.data.size(); ++v) {
    const std::string& name = rows.data[v].name;
    const bool is_unwanted = std::find(options.without.begin(), options.without.end(), name) != options.without.end();
    if (name != options.target && is_bound_by_definition(options.target, name))
      bound += (bound.empty() ? "" : ", ") + plain(name);
    else if (name == options.target || !is_unwanted) kept.push_back(v);
  }
  if (!bound.empty())
    rows.notes.push_back("left out, because they are parts or consequences of " + plain(options.target) +
                         " by definition: " + bound);
  for (const auto& [option, names] :
       {std::pair("--without", &options.without), {"--setting", &options.settings}, {"--outcome", &options.outcomes}}) {
    for (const std::string& n : *names) {
      if (!rows.data.find(n)) rows.notes.push_back(std::string(option) + ": there is no column " + plain(n));
    }
  }
  rows.data = rows.data.select(kept);
}

// Long runs have larger counts. Warns if runs differ much in length and no option corrects for it.
void mention_length(factor_rows& rows, const causal_options& options) {
  const auto length = rows.data.find("activations");
  if (!length || rows.data[*length].discrete || options.from.rates || options.from.first_ms > 0 ||
      options.from.first_messages > 0)
    return;
  std::vector<double> values = rows.data[*length].values;
  std::sort(values.begin(), values.end());
  const double low = values[values.size() / 10], high = values[values.size() - 1 - values.size() / 10];
  if (high < 3 * low) return;
  rows.notes.push_back("the runs differ much in length (a tenth has up to " + number_text(low) +
                       " activations, a tenth " + number_text(high) +
                       " or more); --rates or --first-messages make them comparable");
}

structure_kind structure_named(const std::string& name) {
  return name == "tabu" ? structure_kind::tabu : name == "pc" ? structure_kind::pc : structure_kind::averaged;
}

score_kind score_named(const std::string& name) {
  return name == "bde" ? score_kind::bde : name == "bic" ? score_kind::bic : score_kind::automatic;
}

std::string report_as(const std::string& format, const reported& result) {
  if (format == "json") return analysis_json(result);
  if (format == "dot") return analysis_dot(result);
  return format == "svg" ? analysis_svg(result) : analysis_text(result);
}

// Checks that the table has the columns that the options name.
std::string misfit(const table& data, const causal_options& options) {
  if (options.score == "bde" && !data.all_discrete())
    return "--score bde: BDe needs categories, and this table has numbers; bic accepts both";
  if (options.score != "automatic" && options.structure == "pc")
    return "--score does not apply: PC uses tests, not scores";
  return {};
}

// Lets workers read the runs. They need the factors of files and worldviews, which only this machine has, as options.
int explain_on_workers(const causal_options& chosen, const factor_loader& from, const CLI::App& app) {
  if (effective_fleet(chosen.from.fleet).urls.empty()) return complain_about("", "--on-workers needs --fleet");
  if (!chosen.from.paths.empty() || !chosen.from.csv.empty() || !chosen.from.lines.empty())
    return complain_about("", "name runs or --fleet, not both");
  factor_request request;
  if (std::string problem = from.make_request(request, chosen.target); !problem.empty())
    return complain_about("", problem);
  std::vector<std::string> factors;
  factors.reserve(request.user.size());
  for (const auto& [name, expression] : request.user) {
    factors.push_back(fmt::format("--factor-for-workers={}={}", name, expression));
  }
  return exec_pass("causal explain", app, chosen.from.fleet, chosen.pass, {}, factors);
}

int run_explain(const causal_options& chosen, const CLI::App& app) {
  beliefs believed;
  believed.settings = chosen.settings;
  believed.outcomes = chosen.outcomes;
  factor_loader from(chosen.from);
  if (std::string problem = from.views(chosen.from.views, believed); !problem.empty())
    return complain_about("", problem);
  if (std::string problem = read_findings(chosen.experiments, believed.experiments, false); !problem.empty())
    return complain_about("", problem);
  if (chosen.pass.on_workers) return explain_on_workers(chosen, from, app);
  factor_rows rows;
  if (std::string problem = load(from, rows, chosen.target); !problem.empty()) return complain_about("", problem);
  leave_out(rows, chosen);
  const auto target = rows.data.find(chosen.target);
  if (!target) {
    for (const std::string& n : rows.notes) std::cerr << "Note: " << n << '\n';
    return complain_about("", "there is no column " + plain(chosen.target) + " to explain (--target)");
  }
  if (std::string problem = misfit(rows.data, chosen); !problem.empty()) return complain_about("", problem);
  mention_length(rows, chosen);
  analysis_options options;
  options.learner = *learner_named(chosen.text);
  options.bootstrap = chosen.bootstrap;
  options.boundary.seed = options.gate.seed = options.structure.sampler.seed = chosen.seed;
  options.gate.permutations = chosen.permutations;
  std::string problem;
  options.gate.cluster = clusters_by(rows, chosen.clusters, problem);
  if (!problem.empty()) return complain_about("--cluster", problem);
  options.structure.kind = structure_named(chosen.structure);
  options.structure.score.kind = score_named(chosen.score);
  std::vector<worldview_status> statuses = apply_beliefs(rows.data, believed, options, rows.notes);
  const analysis found = show_while({.name = "searching for causes"}, [&] {
    analysis result = analyse(rows.data, *target, options);
    weigh(rows.data, result, believed, statuses);
    return result;
  });
  const reported result{rows.data, *target, found, chosen.seed, rows.notes, statuses};
  const int status = write(chosen.out, report_as(chosen.format, result));
  if (status != done) return status;
  return found.reached == stage::refused ? wrong_use : done;
}

int run_factors(const causal_options& options) {
  if (options.list) {
    for (const builtin_factor& f : builtin_factors()) std::cout << f.name << "\t" << f.text << '\n';
    return done;
  }
  factor_loader from(options.from);
  if (options.as_lines) {
    std::string lines;
    if (std::string problem = from.load_lines(lines, options.target); !problem.empty())
      return complain_about("", problem);
    return write(options.out, lines);
  }
  factor_rows rows;
  if (std::string problem = load(from, rows); !problem.empty()) return complain_about("", problem);
  for (const std::string& n : rows.notes) std::cerr << "Note: " << n << '\n';
  return write(options.out, factor_csv(rows));
}

int run_eval(const causal_options& chosen) {
  eval_options options;
  options.seed = chosen.seed;
  options.compare = chosen.compare;
  if (const std::string problem = no_folder_reason(chosen.from.paths.front()); !problem.empty())
    return complain_about(shown(chosen.from.paths.front()), problem);
  const evaluation e = show_while({.name = "measuring"}, [&] { return evaluate(chosen.from.paths.front(), options); });
  if (!e.problem.empty()) return complain_about(shown(chosen.from.paths.front()), e.problem);
  return write(chosen.out, chosen.format == "json" ? evaluation_json(e) : evaluation_text(e));
}

// The values of one side, by the label that forms the pairs.
std::string side(const std::string& path, const causal_options& options, std::string& pair_by, paired_values& out) {
  factor_source from = options.from;
  from.paths = {path};
  from.metrics = {"*"};
  factor_request request;
  request.rates = from.rates;
  request.window = {from.first_ms, from.first_messages};
  if (std::string problem = add_user_factors(from, request); !problem.empty()) return problem;
  paired_runs read = show_while({.name = "reading the runs"},
                                [&] { return paired_runs_of(path, request, options.factor, options.target); });
  for (const std::string& n : read.notes) std::cerr << "Note: " << n << '\n';
  if (!read.problem.empty()) return read.problem;
  if (pair_by.empty()) {
    for (const char* name : {"task", "seed"}) {
      const bool complete =
          std::all_of(read.labels.begin(), read.labels.end(), [&](const auto& l) { return l.contains(name); });
      if (pair_by.empty() && complete) pair_by = name;
    }
  }
  if (pair_by.empty())
    return "the runs have neither the label task nor seed; name the label that pairs them with --pair-by";
  for (std::size_t r = 0; r < read.labels.size(); ++r) {
    const auto key = read.labels[r].find(pair_by);
    if (key == read.labels[r].end()) continue;
    out.factor.emplace_back(key->second, read.factor[r]);
    out.outcome.emplace_back(key->second, read.outcome[r]);
  }
  return {};
}

int run_verify(const causal_options& chosen) {
  paired_values a, b;
  std::string pair_by = chosen.pair_by;
  for (std::size_t i = 0; i < 2; ++i) {
    if (std::string problem = side(chosen.from.paths[i], chosen, pair_by, i == 0 ? a : b); !problem.empty()) {
      return complain_about(shown(chosen.from.paths[i]), problem);
    }
  }
  verify_options options;
  options.factor = chosen.factor;
  options.outcome = chosen.target;
  options.pair_by = pair_by;
  const verification v = verify(a, b, options);
  if (!v.problem.empty()) return complain_about("", v.problem);
  if (!chosen.experiments.empty()) {
    std::vector<experiment> experiments;
    if (std::string problem = read_findings(chosen.experiments, experiments, true); !problem.empty())
      return complain_about("", problem);
    std::erase_if(experiments, [&](const experiment& e) { return e.from == v.result.from && e.to == v.result.to; });
    experiments.push_back(v.result);
    if (const int status = write(chosen.experiments, write_experiments(experiments)); status != done) return status;
  }
  return write(chosen.out, chosen.format == "json" ? verification_json(v) : verification_text(v));
}

void add_output(CLI::App& app, causal_options& options, std::vector<std::string> formats,
                const std::string& text = "text for people, json for machines") {
  app.add_option("--format", options.format, text)->check(CLI::IsMember(std::move(formats)))->capture_default_str();
  app.add_option("-o,--output", options.out, "a file; - for standard output")->capture_default_str();
}

CLI::App* add_explain(CLI::App& causal, causal_options& options) {
  CLI::App* sub =
      causal.add_subcommand("explain", "Finds the factors that influence an outcome, and suggests what to change");
  sub->add_option("RUNS", options.from.paths,
                  "archives, traces, folders of them (a data directory too); or one factor table (.csv)");
  sub->add_option("--csv", options.from.csv, "a factor table instead of runs; - for standard input");
  add_factor_source(*sub, options.from);
  add_fleet_options(*sub, options.from.fleet);
  add_pass_options(*sub, options.pass);
  sub->add_option("--lines", options.from.lines, "a file that `digctl causal factors --lines` wrote, instead of runs")
      ->group("A fleet");
  add_metrics(*sub, options.from);
  add_output(*sub, options, {"text", "json", "svg", "dot"},
             "text for people, json for machines, svg or dot (Graphviz): the explanation as a picture");
  sub->add_option("--target", options.target, "the outcome: success, failures, duration_ms, metric.X, any column")
      ->capture_default_str();
  sub->add_option("--learner", options.text, "the learner of the Markov boundary")
      ->check(CLI::IsMember({"averaged", "iamb", "hiton", "add-prune"}))
      ->capture_default_str();
  sub->add_option("--structure", options.structure,
                  "average over sampled graphs, or one graph by tabu search or PC-stable")
      ->check(CLI::IsMember({"averaged", "tabu", "pc"}))
      ->capture_default_str();
  sub->add_option("--score", options.score,
                  "score of graphs; automatic: BDe for categories only, BIC if there are numbers")
      ->check(CLI::IsMember({"automatic", "bde", "bic"}))
      ->capture_default_str();
  add_list(*sub, "--setting", options.settings, "a column that was fixed before the run");
  add_list(*sub, "--outcome", options.outcomes, "a column that is known only after the run");
  add_list(*sub, "--without", options.without, "a column to leave out");
  add_list(*sub, "--discrete", options.from.discrete, "a column of a CSV that has categories");
  add_list(*sub, "--cluster", options.clusters, "a label: outcomes are shuffled only among runs with the same value");
  add_list(*sub, "--worldview", options.from.views, "a YAML file of hypotheses");
  sub->add_option("--experiments", options.experiments, "a file of results from `digctl causal verify` (YAML)");
  sub->add_option("--permutations", options.permutations, "shuffles of the outcome, for the gate")
      ->check(CLI::Range(99, 99'999))
      ->capture_default_str();
  sub->add_option("--bootstrap", options.bootstrap,
                  "compute support from graphs of N resamples (by tabu, or by pc if that is the structure); 0: none")
      ->check(CLI::Range(0, 10'000));
  sub->add_option("--seed", options.seed, "seed; the same seed gives the same bytes")->capture_default_str();
  return sub;
}

}  // namespace

void add_causal(CLI::App& app, int& status) {
  auto options = std::make_shared<causal_options>();
  CLI::App* causal = app.add_subcommand("causal", "Finds causes of failure over many recorded runs");
  causal->require_subcommand(1);
  CLI::App* explain = add_explain(*causal, *options);
  explain->callback([explain, options, &status] { status = run_explain(*options, *explain); });

  CLI::App* factors = causal->add_subcommand("factors", "Writes the factor table as CSV, with a row for each run");
  factors->add_option("RUNS", options->from.paths, "archives, traces, folders of them (a data directory too)");
  add_factor_source(*factors, options->from);
  add_fleet_options(*factors, options->from.fleet);
  add_metrics(*factors, options->from);
  factors->add_flag("--lines", options->as_lines, "write lines instead, which `digctl causal explain --lines` reads")
      ->group("A fleet");
  factors->add_option("--target", options->target, "with --lines: the outcome that will be explained")
      ->group("A fleet");
  factors->add_flag("--list", options->list, "list the built-in factors with their meaning");
  factors->add_option("--csv,-o,--output", options->out, "a file; - for standard output")->capture_default_str();
  factors->callback([options, &status] { status = run_factors(*options); });

  CLI::App* verify =
      causal->add_subcommand("verify", "Tests with paired runs A and B whether a changed factor changed the outcome");
  verify->add_option("A-B", options->from.paths, "the runs before and after the factor was changed")
      ->required()
      ->expected(2);
  verify->add_option("--do", options->factor, "the factor that was changed")->required();
  verify->add_option("--target", options->target, "the outcome")->capture_default_str();
  verify->add_option("--pair-by", options->pair_by, "the label that pairs runs; default: task, otherwise seed");
  verify->add_option("--experiments", options->experiments, "add the result to this YAML file");
  add_factor_source(*verify, options->from);
  add_output(*verify, *options, {"text", "json"});
  verify->callback([options, &status] { status = run_verify(*options); });

  CLI::App* eval = causal->add_subcommand("eval", "Measures the learners on tables with a known causal graph");
  eval->add_option("DIR", options->from.paths, "a folder of NAME.adj and NAME_ROWS_SLICE.txt or .csv")
      ->required()
      ->expected(1);
  eval->add_flag("--compare", options->compare, "also measure the other learners");
  eval->add_option("--seed", options->seed, "seed; the same seed gives the same bytes")->capture_default_str();
  add_output(*eval, *options, {"text", "json"});
  eval->callback([options, &status] { status = run_eval(*options); });
}

}  // namespace digd::cli
