// digctl causal: which factors of many runs bring an outcome about (docs/causal.md).
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "analysis/causal/beliefs.h"
#include "analysis/causal/csv.h"
#include "analysis/causal/eval.h"
#include "analysis/causal/factors/builtin.h"
#include "analysis/causal/factors/factor_table.h"
#include "analysis/causal/report.h"
#include "analysis/causal/verify.h"
#include "cli/commands.h"
#include "cli/files.h"

namespace digd::cli {

namespace {

using namespace digd::causal;

constexpr std::size_t most_bytes = std::size_t{1} << 30;
constexpr std::size_t most_rows = 65'535;

int complain(std::string_view what, std::string_view why) {
  std::cerr << "digctl causal: " << what << (what.empty() ? "" : ": ") << why << '\n';
  return wrong_use;
}

// What all commands that make a factor table have in common.
struct source_options {
  std::vector<std::string> paths, factors, factor_files, metrics, discrete, views;
  bool rates = false;
  std::int64_t first_ms = 0;
  std::uint64_t first_messages = 0;
};

struct causal_options {
  source_options from;
  std::string target = "success", format = "text", out = "-", how = "averaged", experiments, factor, pair_by;
  std::vector<std::string> settings, outcomes, clusters, without;
  std::uint64_t seed = 1;
  std::size_t permutations = 999, bootstrap = 0;
  bool compare = false, list = false;
};

void add_source(CLI::App& app, source_options& from) {
  app.add_option("--factor", from.factors, "a factor of your own, NAME=EXPRESSION; may be given again");
  app.add_option("--factors", from.factor_files, "a file of such lines");
  app.add_option("--metric", from.metrics, "a metric of run_ended as a column; * for all");
  app.add_flag("--rates", from.rates, "counts by activation, so that long runs compare with short ones");
  app.add_option("--first-ms", from.first_ms, "only the first so many milliseconds of each run; 0: all")->check(CLI::NonNegativeNumber);
  app.add_option("--first-messages", from.first_messages, "only the first so many messages of each run; 0: all");
}

bool is_csv(const std::string& path) { return path == "-" || std::filesystem::path(path).extension() == ".csv"; }

// The table that the paths give, with what a worldview's variables add to it.
class loader {
 public:
  explicit loader(const source_options& from) : from_(from) {}

  std::string views(const std::vector<std::string>& files, beliefs& into) {
    for (const std::string& file : files) {
      std::string why;
      const auto text = read_file(file, most_bytes, why);
      if (!text) return shown(file) + ": " + why;
      worldviews read = read_worldviews(*text);
      if (!read.problem.empty()) return shown(file) + ": " + read.problem;
      for (const worldview_variable& v : read.all.front().variables) {
        if (!v.expression.empty()) extra_.emplace_back(v.name, v.expression);
      }
      std::move(read.all.begin(), read.all.end(), std::back_inserter(into.views));
    }
    return {};
  }

  // Empty if loaded.
  std::string load(factor_rows& out, const std::vector<std::string>& also_metrics = {}) {
    if (from_.paths.size() == 1 && is_csv(from_.paths[0])) return load_csv(out);
    factor_request what;
    what.user = extra_;
    what.rates = from_.rates;
    what.window = {from_.first_ms, from_.first_messages};
    what.metrics = from_.metrics;
    what.metrics.insert(what.metrics.end(), also_metrics.begin(), also_metrics.end());
    for (const std::string& text : from_.factors) {
      if (std::string why = read_user_factors(text, what.user); !why.empty()) return "--factor " + text + ": " + why;
    }
    for (const std::string& file : from_.factor_files) {
      std::string why;
      const auto text = read_file(file, most_bytes, why);
      if (text) why = read_user_factors(*text, what.user);
      if (!why.empty()) return shown(file) + ": " + why;
    }
    out = factor_table_of(from_.paths, what);
    return check(out);
  }

 private:
  std::string load_csv(factor_rows& out) {
    std::string why;
    const auto text = read_file(from_.paths[0], most_bytes, why);
    if (!text) return shown(from_.paths[0]) + ": " + why;
    csv_result read = read_csv(*text, from_.discrete);
    if (!read.problem.empty()) return shown(from_.paths[0]) + ": " + read.problem;
    out.data = std::move(read.data);
    out.notes = std::move(read.notes);
    std::string ignored;
    const auto cells = csv_cells(*text, ignored);
    for (std::size_t row : read.kept) {
      std::map<std::string, std::string> of_row;
      for (std::size_t c = 0; c < cells[0].size(); ++c) of_row[cells[0][c]] = cells[row + 1][c];
      out.labels.push_back(std::move(of_row));
    }
    return check(out);
  }

  static std::string check(const factor_rows& out) {
    if (!out.problem.empty()) return out.problem;
    if (out.data.rows() > most_rows) return "more than 65535 runs; take a sample of them";
    return out.data.rows() == 0 ? "no run that has ended" : "";
  }

  const source_options& from_;
  std::vector<std::pair<std::string, std::string>> extra_;
};

int write(const std::string& out, std::string_view text) {
  const std::string why = write_file(out, text);
  return why.empty() ? done : complain(shown(out), why);
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
  std::string why;
  const auto text = read_file(file, most_bytes, why);
  if (!text) return shown(file) + ": " + why;
  experiments read = read_experiments(*text);
  into = std::move(read.all);
  return read.problem.empty() ? "" : shown(file) + ": " + read.problem;
}

// Columns that the user leaves out, and metrics that are no factors of another outcome, go.
void leave_out(factor_rows& rows, const causal_options& how) {
  variables kept;
  for (variable v = 0; v < rows.data.size(); ++v) {
    const std::string& name = rows.data[v].name;
    if (name == how.target || std::find(how.without.begin(), how.without.end(), name) == how.without.end()) kept.push_back(v);
  }
  rows.data = rows.data.select(kept);
}

int run_explain(const causal_options& how) {
  beliefs believed;
  believed.settings = how.settings;
  believed.outcomes = how.outcomes;
  loader from(how.from);
  if (std::string why = from.views(how.from.views, believed); !why.empty()) return complain("", why);
  if (std::string why = read_findings(how.experiments, believed.experiments, false); !why.empty()) return complain("", why);
  factor_rows rows;
  std::vector<std::string> metric;
  if (how.target.starts_with("metric.")) metric.push_back(how.target.substr(7));
  if (std::string why = from.load(rows, metric); !why.empty()) return complain("", why);
  leave_out(rows, how);
  const auto target = rows.data.find(how.target);
  if (!target) {
    for (const std::string& n : rows.notes) std::cerr << "Note: " << n << '\n';
    return complain("", "no column " + how.target + " to explain (--target)");
  }
  analysis_options options;
  options.how = *learner_named(how.how);
  options.bootstrap = how.bootstrap;
  options.boundary.seed = options.gate.seed = options.structure.sampler.seed = how.seed;
  options.gate.permutations = how.permutations;
  options.gate.cluster = clusters_by(rows, how.clusters);
  std::vector<worldview_standing> standings = apply_beliefs(rows.data, believed, options, rows.notes);
  const analysis found = analyse(rows.data, *target, options);
  weigh(rows.data, found, believed, standings);
  const reported all{rows.data, *target, found, how.seed, rows.notes, standings};
  const std::string text = how.format == "json" ? analysis_json(all) : how.format == "dot" ? analysis_dot(all) : analysis_text(all);
  const int status = write(how.out, text);
  if (status != done) return status;
  return found.reached == stage::refused ? wrong_use : done;
}

int run_factors(const causal_options& how) {
  if (how.list) {
    for (const builtin_factor& f : builtin_factors()) std::cout << f.name << "\t" << f.what << '\n';
    return done;
  }
  if (how.from.paths.empty()) return complain("", "name an archive, a trace or a folder of them");
  factor_rows rows;
  if (std::string why = loader(how.from).load(rows); !why.empty()) return complain("", why);
  for (const std::string& n : rows.notes) std::cerr << "Note: " << n << '\n';
  return write(how.out, write_csv(rows.data));
}

int run_eval(const causal_options& how) {
  eval_options options;
  options.seed = how.seed;
  options.compare = how.compare;
  const evaluation e = evaluate(how.from.paths.front(), options);
  if (!e.problem.empty()) return complain(shown(how.from.paths.front()), e.problem);
  return write(how.out, how.format == "json" ? evaluation_json(e) : evaluation_text(e));
}

// The values of one side by the label that pairs.
std::string side(const std::string& path, const causal_options& how, std::string& pair_by, paired_values& out) {
  source_options from = how.from;
  from.paths = {path};
  from.metrics = {"*"};
  factor_request what;
  what.rates = from.rates;
  what.window = {from.first_ms, from.first_messages};
  for (const std::string& text : from.factors) {
    if (std::string why = read_user_factors(text, what.user); !why.empty()) return "--factor " + text + ": " + why;
  }
  paired_runs read = paired_runs_of(path, what, how.factor, how.target);
  if (!read.problem.empty()) return read.problem;
  if (pair_by.empty()) {
    for (const char* name : {"task", "seed"}) {
      const bool all = std::all_of(read.labels.begin(), read.labels.end(), [&](const auto& l) { return l.contains(name); });
      if (pair_by.empty() && all) pair_by = name;
    }
  }
  if (pair_by.empty()) return "the runs have neither a label task nor seed: say by which label to pair (--pair-by)";
  for (std::size_t r = 0; r < read.labels.size(); ++r) {
    const auto key = read.labels[r].find(pair_by);
    if (key == read.labels[r].end()) continue;
    out.factor.emplace_back(key->second, read.factor[r]);
    out.outcome.emplace_back(key->second, read.outcome[r]);
  }
  return {};
}

int run_verify(const causal_options& how) {
  paired_values a, b;
  std::string pair_by = how.pair_by;
  for (std::size_t i = 0; i < 2; ++i) {
    if (std::string why = side(how.from.paths[i], how, pair_by, i == 0 ? a : b); !why.empty()) {
      return complain(shown(how.from.paths[i]), why);
    }
  }
  verify_options options;
  options.factor = how.factor;
  options.outcome = how.target;
  options.pair_by = pair_by;
  const verification v = verify(a, b, options);
  if (!v.problem.empty()) return complain("", v.problem);
  if (!how.experiments.empty()) {
    std::vector<experiment> all;
    if (std::string why = read_findings(how.experiments, all, true); !why.empty()) return complain("", why);
    std::erase_if(all, [&](const experiment& e) { return e.from == v.result.from && e.to == v.result.to; });
    all.push_back(v.result);
    if (const int status = write(how.experiments, write_experiments(all)); status != done) return status;
  }
  return write(how.out, how.format == "json" ? verification_json(v) : verification_text(v));
}

void add_output(CLI::App& app, causal_options& how, std::vector<std::string> formats) {
  app.add_option("--format", how.format, "text for people, json for machines")->check(CLI::IsMember(std::move(formats)))->capture_default_str();
  app.add_option("-o,--output", how.out, "a file; - for standard output")->capture_default_str();
}

CLI::App* add_explain(CLI::App& causal, causal_options& how) {
  CLI::App* sub = causal.add_subcommand("explain", "Names what brings an outcome about, and what to try");
  sub->add_option("RUNS", how.from.paths, "archives, traces, folders of them; or one factor table (.csv)")->required();
  add_source(*sub, how.from);
  add_output(*sub, how, {"text", "json", "dot"});
  sub->add_option("--target", how.target, "the outcome: success, failures, duration_ms, metric.X, any column")->capture_default_str();
  sub->add_option("--learner", how.how, "of the Markov boundary")
      ->check(CLI::IsMember({"averaged", "iamb", "hiton", "add-prune"}))
      ->capture_default_str();
  sub->add_option("--setting", how.settings, "a column that was fixed before the run");
  sub->add_option("--outcome", how.outcomes, "a column that is known only after the run");
  sub->add_option("--without", how.without, "a column to leave out");
  sub->add_option("--discrete", how.from.discrete, "a column of a CSV that holds categories");
  sub->add_option("--cluster", how.clusters, "a label: runs with the same value are permuted among themselves only");
  sub->add_option("--worldview", how.from.views, "a YAML file of hypotheses; may be given again");
  sub->add_option("--experiments", how.experiments, "results of verify (YAML)");
  sub->add_option("--permutations", how.permutations, "of the outcome, for the gate")->check(CLI::Range(99, 99'999))->capture_default_str();
  sub->add_option("--bootstrap", how.bootstrap, "support from so many resamples instead of drawn graphs; 0: no")->check(CLI::Range(0, 10'000));
  sub->add_option("--seed", how.seed, "same seed, same bytes")->capture_default_str();
  return sub;
}

}  // namespace

void add_causal(CLI::App& app, int& status) {
  auto how = std::make_shared<causal_options>();
  CLI::App* causal = app.add_subcommand("causal", "What makes runs fail: causes over many recorded runs");
  causal->require_subcommand(1);
  add_explain(*causal, *how)->callback([how, &status] { status = run_explain(*how); });

  CLI::App* factors = causal->add_subcommand("factors", "Writes the factor table, a row a run, as CSV");
  factors->add_option("RUNS", how->from.paths, "archives, traces, folders of them");
  add_source(*factors, how->from);
  factors->add_flag("--list", how->list, "the built-in factors and what they mean");
  factors->add_option("--csv,-o,--output", how->out, "a file; - for standard output")->capture_default_str();
  factors->callback([how, &status] { status = run_factors(*how); });

  CLI::App* verify = causal->add_subcommand("verify", "Did changing a factor change the outcome? Paired runs A and B");
  verify->add_option("A-B", how->from.paths, "the runs as they were, and with the factor changed")->required()->expected(2);
  verify->add_option("--do", how->factor, "the factor that was changed")->required();
  verify->add_option("--target", how->target, "the outcome")->capture_default_str();
  verify->add_option("--pair-by", how->pair_by, "the label that pairs; default task, else seed");
  verify->add_option("--experiments", how->experiments, "a YAML file that the result is added to");
  add_source(*verify, how->from);
  add_output(*verify, *how, {"text", "json"});
  verify->callback([how, &status] { status = run_verify(*how); });

  CLI::App* eval = causal->add_subcommand("eval", "Measures the learners on tables with a known causal graph");
  eval->add_option("DIR", how->from.paths, "a folder of NAME.adj and NAME_ROWS_SLICE.txt or .csv")->required()->expected(1);
  eval->add_flag("--compare", how->compare, "the other learners too");
  eval->add_option("--seed", how->seed, "same seed, same bytes")->capture_default_str();
  add_output(*eval, *how, {"text", "json"});
  eval->callback([how, &status] { status = run_eval(*how); });
}

}  // namespace digd::cli
