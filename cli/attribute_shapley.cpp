// digctl attribute shapley: divides the risk of a run among its actions (docs/shapley.md).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <memory>
#include <thread>

#include "analysis/report/shapley_suspects.h"
#include "analysis/shapley/cache.h"
#include "analysis/shapley/external.h"
#include "analysis/shapley/report.h"
#include "analysis/shapley/structure.h"
#include "analysis/shapley/studies.h"
#include "analysis/shapley/trajectory.h"
#include "base/json_writer.h"
#include "cli/attribute.h"
#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/files.h"
#include "cli/fleet.h"
#include "cli/interrupt.h"
#include "cli/printable.h"
#include "cli/progress.h"
#include "cli/run_text.h"
#include "report/conclusion.h"

namespace digd::cli {

namespace {

namespace fs = std::filesystem;
using namespace digd::shapley;

constexpr std::size_t max_bytes = std::size_t{1} << 30;
constexpr std::size_t max_shares = 4096;  // of one estimate

struct shapley_options {
  daemon_options daemon;
  pass_options pass;
  std::string chunk;               // I/N: compute only this share of the estimate
  std::vector<std::string> merge;  // files of such shares
  std::string source, simulator, estimator = "auto", format = "table", out = "-", plots, cache_folder;
  estimate_options options;
  structure_options structure;
  external_options external;
  unsigned threads = 0;
  double q = usual_share;
  std::optional<double> threshold;
  std::size_t max_rows = 10;
  bool faithful = false, no_cache = false, quiet = false;
  scenario_request scenario;
  study_options study;
  bool large = false, paper_sizes = false;
  std::vector<std::string> traces;
};
using options = std::shared_ptr<shapley_options>;

run_control control_of(const shapley_options& o) {
  run_control c;
  c.threads = o.threads > 0 ? o.threads : std::clamp(std::thread::hardware_concurrency(), 1u, 64u);
  c.stop = &stop_asked();
  return c;
}

struct opened {
  std::string problem;
  std::unique_ptr<digd::shapley::game> game;
  std::string weights;
  std::string trace;  // empty if the game is not about a recorded run
};

opened open_trace(std::string_view text, const structure_options& options) {
  structure_result made = make_structure_game(text, options);
  return {made.problem, std::move(made.game),
          fmt::format("risk = {} × failures + {} × warnings + {} × unresolved work; {} detections in the run",
                      options.failure_weight, options.warning_weight, options.unresolved_weight, made.detections),
          std::string(text)};
}

opened open_game(const shapley_options& o) {
  if (!o.simulator.empty()) {
    external_options options = o.external;
    options.command = o.simulator;
    options.stop = &stop_asked();
    external_result made = make_external_game(options);
    return {made.problem, std::move(made.game), {}, {}};
  }
  std::string problem;
  const std::optional<run_text> found = read_run_text(o.source, o.daemon, max_bytes, problem, o.quiet);
  if (!found) return {shown(o.source) + ": " + problem, nullptr, {}, {}};
  opened out;
  if (found->is_file && is_trajectory(found->text)) {
    trajectory_result made = read_trajectory(found->text);
    out = {made.problem, std::move(made.game), {}, {}};
  } else {
    out = open_trace(found->text, o.structure);
  }
  if (!out.problem.empty()) out.problem = shown(o.source) + ": " + out.problem;
  return out;
}

std::string write_plots(const shapley::report& r, const std::string& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return folder + ": " + failed.message();
  const std::pair<const char*, std::string> items[] = {
      {"when.svg", plot_steps(r)}, {"who.svg", plot_agents(r)}, {"what.svg", plot_behaviours(r)}};
  for (const auto& [name, text] : items) {
    if (std::string problem = write_file(fs::path(folder) / name, text); !problem.empty())
      return name + (": " + problem);
  }
  return {};
}

// digd::report, which digd::shapley::report would hide.
namespace verdicts = digd::report;

// Whom the values blame, if anybody. A recorded run says how it ended and what was healed.
verdicts::conclusion conclude(const opened& game, const shapley::report& r) {
  verdicts::run_facts run;
  verdicts::observed seen;
  if (!game.trace.empty()) {
    seen = verdicts::observe(game.trace);
    run = verdicts::facts_for_conclusion(seen);
  }
  verdicts::part part{.id = "responsibility", .name = "Shapley values", .ran = true};
  // The same run has the same JSON, wherever it is read from: no name of a source in it.
  const std::string remedy = game.trace.empty() ? "" : "open its detections with digctl show";
  verdicts::add_suspects(part, r, game.trace, seen, remedy);
  return verdicts::conclude(run, {part});
}

std::string verdict_json(const verdicts::conclusion& c) {
  std::string out;
  json_writer to(out);
  to.open_object().key("kind").text(verdicts::to_string(c.verdict));
  to.key("confidence").text(verdicts::to_string(c.sure)).key("words").text(c.words);
  if (c.verdict == verdicts::conclusion::kind::suspect)
    to.key("agent").text(c.suspect.agent).key("activation").text(c.suspect.activation);
  to.close_object();
  return out;
}

// Writes the parts of `--chunk I/N` instead of a result.
int write_chunk(shapley_options& o, const digd::shapley::game& game, const std::string& key) {
  std::size_t index = 0, count = 0;
  const char* const end = o.chunk.data() + o.chunk.size();
  const auto [slash, no_index] = std::from_chars(o.chunk.data(), end, index);
  const bool is_pair = no_index == std::errc{} && slash != end && *slash == '/';
  const auto [rest, no_count] = std::from_chars(is_pair ? slash + 1 : end, end, count);
  if (no_count != std::errc{} || rest != end || index < 1 || index > count || count > max_shares)
    return complain("attribute shapley", fmt::format("--chunk: I/N is expected, with 1 <= I <= N <= {}", max_shares));
  part_output output(key, index - 1, count);
  o.options.control.output = &output;
  const estimate_result result = estimate(game, o.options);
  if (!result) return complain("attribute shapley", result.problem);
  if (stop_asked()) return complain("attribute shapley", "stopped before the chunk was done");
  const std::string problem = write_file(o.out, output.file());
  return problem.empty() ? done : complain("attribute shapley", output_problem(o.out, problem));
}

std::string read_parts(const std::vector<std::string>& files, part_input& into) {
  for (const std::string& name : files) {
    std::string problem;
    std::optional<std::string> text = read_file(name, part_input::max_input_bytes, problem);
    if (text) problem = into.add_file(std::move(*text));
    if (!problem.empty()) return shown(name) + ": " + problem;
  }
  return {};
}

int attribute(shapley_options& o) {
  if (o.source.empty() == o.simulator.empty())
    return complain("attribute shapley", "name either a run, trace or trajectory file, or --simulator");
  if (!o.simulator.empty() && (!o.chunk.empty() || !o.merge.empty()))
    return complain("attribute shapley",
                    "--chunk and --merge do not work with --simulator, which may answer differently each time");
  o.options.estimator = *estimator_from(o.estimator);
  o.options.control = control_of(o);
  const opened game = open_game(o);
  if (!game.problem.empty()) return complain("attribute shapley", game.problem);

  const cache kept(o.no_cache ? fs::path() : o.cache_folder.empty() ? cache::usual_folder() : fs::path(o.cache_folder));
  const std::string key = cache::key_of(*game.game, o.options);
  if (!o.chunk.empty()) return write_chunk(o, *game.game, key);
  part_input parts(key);
  if (std::string problem = read_parts(o.merge, parts); !problem.empty()) return complain("attribute shapley", problem);
  if (!o.merge.empty()) o.options.control.input = &parts;
  std::optional<estimate_result> result;
  if (o.merge.empty()) result = kept.find(key, *game.game);
  const bool found_it = result.has_value();
  if (!result) {
    progress shown_progress(o.quiet);
    o.options.control.progress = [&](std::size_t done, std::size_t total) { shown_progress.set(done, total); };
    shown_progress.begin({.name = "Shapley values"});
    result = estimate(*game.game, o.options);
    o.options.control.progress = {};
  }
  if (!*result) return complain("attribute shapley", result->problem);
  if (!found_it && game.game->repeatable()) kept.keep(key, *result);
  shapley::report r = make_report(*game.game, std::move(*result), o.q, o.options.seed);
  r.weights = game.weights;
  if (o.threshold) {
    r.threshold = *o.threshold;
    r.metrics = measure(game.game->players(), r.result, r.threshold, o.q);
  }
  const bool ranked = r.result.adds_risk();
  if (o.faithful && ranked && !stop_asked()) {
    r.faithful = show_while(
        {.name = "checking faithfulness"}, [&] { return judge(*game.game, r.result.phi.value, o.options.seed); },
        o.quiet);
    if (!r.faithful->problem.empty()) return complain("attribute shapley", r.faithful->problem);
  }
  if (!o.plots.empty() && !ranked)
    std::cerr << "digctl attribute shapley: made no plots, because there is nothing to attribute\n";
  if (!o.plots.empty() && ranked) {
    if (std::string problem = write_plots(r, o.plots); !problem.empty()) return complain("attribute shapley", problem);
  }
  const verdicts::conclusion conclusion = conclude(game, r);
  r.verdict = verdict_json(conclusion);
  const bool succeeded = conclusion.verdict == verdicts::conclusion::kind::healthy ||
                         conclusion.verdict == verdicts::conclusion::kind::healed;
  const std::string text = o.format == "json"
                               ? to_json(r)
                               : printable(conclusion.words) +
                                     (succeeded ? " The values below divide the risk of its detections.\n\n" : "\n\n") +
                                     to_table(r, o.max_rows);
  if (std::string problem = write_file(o.out, text); !problem.empty())
    return complain("attribute shapley", output_problem(o.out, problem));
  if (!o.quiet) {
    std::cerr << (found_it ? std::string("from the cache\n")
                           : fmt::format("{:.2f} s, {} threads\n", r.result.seconds, o.options.control.threads));
  }
  return done;
}

int generate_file(const shapley_options& o) {
  const generated made = generate(o.scenario, true);
  if (!made.problem.empty()) return complain("attribute shapley", made.problem);
  if (std::string problem = write_file(o.out, made.json); !problem.empty())
    return complain("attribute shapley", output_problem(o.out, problem));
  return done;
}

// The cases of a study: the scenarios, or the given traces.
std::string cases_of(const shapley_options& o, std::vector<study_case>& to) {
  if (o.traces.empty()) to = o.paper_sizes ? paper_cases() : small_cases();
  for (const std::string& name : o.traces) {
    std::string problem;
    std::optional<std::string> text = read_file(name, max_bytes, problem);
    if (!text) return shown(name) + ": " + problem;
    opened game =
        is_trajectory(*text) ? opened{read_trajectory(*text).problem, nullptr, {}, {}} : open_trace(*text, o.structure);
    if (!game.problem.empty()) return shown(name) + ": " + game.problem;
    to.push_back({fs::path(name).stem().string(),
                  [text = std::make_shared<std::string>(std::move(*text)), structure = o.structure](std::uint64_t) {
                    return is_trajectory(*text) ? read_trajectory(*text).game
                                                : make_structure_game(*text, structure).game;
                  }});
  }
  return {};
}

using study = std::string (*)(const std::vector<study_case>&, const shapley_options&);

int run_study(shapley_options& o, study study) {
  std::vector<study_case> cases;
  if (std::string problem = cases_of(o, cases); !problem.empty()) return complain("attribute shapley", problem);
  o.study.control = control_of(o);
  std::cout << show_while(
      {.name = "measuring"}, [&] { return study(cases, o); }, o.quiet);
  if (stop_asked()) std::cout << "INTERRUPTED: fewer runs than requested\n";
  return done;
}

void add_common(CLI::App& app, const options& o) {
  app.add_option("--threads", o->threads, "threads; the result does not depend on it. 0: one for each core")
      ->check(CLI::Range(0, 256));
  app.add_flag("-q,--quiet", o->quiet, "print no progress and no times");
  app.add_option("--failure-weight", o->structure.failure_weight, "weight of a failure rule's firing")
      ->capture_default_str();
  app.add_option("--warning-weight", o->structure.warning_weight, "weight of a warning's firing")
      ->capture_default_str();
  app.add_option("--unresolved-weight", o->structure.unresolved_weight,
                 "weight of an event that is still reachable work at the end")
      ->capture_default_str();
}

void add_study(CLI::App& app, const options& o, int& status, const char* name, const char* text, study run,
               bool paper_sizes) {
  CLI::App* sub = app.add_subcommand(name, text);
  add_common(*sub, o);
  sub->add_option("FILE", o->traces, "traces or trajectories, instead of the scenarios");
  sub->add_option("--runs", o->study.runs,
                  "the number of runs; each has its own seed for the trajectory and the sampling")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  sub->add_option("-M,--samples", o->options.samples, "the number of permutations, for the tables that use only one")
      ->check(CLI::Range(1, 10'000'000));
  sub->add_option("--reference", o->study.reference_samples,
                  "permutations for the reference values, if there are too many players for exact ones")
      ->capture_default_str();
  CLI::Option* sizes = sub->add_option("--sizes", "small: 4 × 5; paper: 10 × 34, 10 × 27, 20 × 21")
                           ->check(CLI::IsMember({"small", "paper"}));
  sub->callback([o, run, sizes, paper_sizes, &status] {
    o->paper_sizes = sizes->count() > 0 ? sizes->as<std::string>() == "paper" : paper_sizes;
    status = run_study(*o, run);
  });
}

void add_studies(CLI::App& app, const options& o, int& status) {
  add_study(
      app, o, status, "accuracy", "Compares Algorithm 1 with exact values, after the paper's Table 1",
      [](const std::vector<study_case>& c, const shapley_options& o) { return accuracy_table(c, o.study); }, false);
  add_study(
      app, o, status, "estimators", "Compares all estimators at equal evaluations",
      [](const std::vector<study_case>& c, const shapley_options& o) { return estimator_table(c, o.study); }, false);
  add_study(
      app, o, status, "faithfulness", "Measures risk drops after deletion, after the paper's Table 3",
      [](const std::vector<study_case>& c, const shapley_options& o) {
        return faithfulness_table(c, o.options.samples, o.study);
      },
      true);
  add_study(
      app, o, status, "metrics", "Computes the five metrics, after the paper's Table 2",
      [](const std::vector<study_case>& c, const shapley_options& o) {
        return metrics_table(c, o.options.samples, o.study);
      },
      true);
  CLI::App* speed = app.add_subcommand("speed", "Measures the speed on this machine");
  add_common(*speed, o);
  speed->add_flag("--large", o->large, "also socialnetwork with 100,000 players");
  speed->callback([o, &status] {
    if (o->threads == 0) o->threads = 1;
    std::cout << speed_table(o->large, control_of(*o));
    status = done;
  });
}

// Where the game comes from: a run, a trace, a trajectory or a simulator.
void add_game_options(CLI::App& app, const options& o) {
  app.add_option(
      "SOURCE", o->source,
      "a run of a daemon or archive, a trace (JSON lines), or a scenario's trajectory; - for standard input");
  app.add_option("--simulator", o->simulator, "a command that answers sets with risks, instead of a file");
  app.add_option("--timeout-ms", o->external.timeout_ms, "time limit of one answer of the simulator")
      ->check(CLI::Range(1, 86'400'000))
      ->capture_default_str();
  app.add_option("--batch", o->external.batch, "the maximum number of sets in one question to the simulator")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
}

void add_estimate_options(CLI::App& app, const options& o) {
  app.add_option("--estimator", o->estimator, "auto: exact if that is cheap, otherwise the best for the game")
      ->check(CLI::IsMember({"auto", "exact", "permutation", "antithetic", "owen", "leverage"}))
      ->capture_default_str();
  app.add_option("-M,--samples", o->options.samples, "permutations, or samples of the same cost")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  app.add_option("--seed", o->options.seed, "seed of the sampling")->capture_default_str();
  app.add_option("-Q,--share", o->q, "q: the event counts as formed when the running sum exceeds this share of ρ")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--threshold", o->threshold, "ρ, instead of the trajectory's; a trace has none, so its risk is used");
  app.add_option("--steps", o->structure.steps, "the number of steps into which a trace's time is divided")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
}

void add_output_options(CLI::App& app, const options& o) {
  app.add_flag("--faithfulness", o->faithful, "the risk drop after deleting the top actions");
  app.add_option("--format", o->format, "table for people, json for machines")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  app.add_option("--top", o->max_rows, "the number of rows in each table")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("-o,--output", o->out, "file; - for standard output")->capture_default_str();
  app.add_option("--plots", o->plots, "a folder for when.svg, who.svg, what.svg");
  app.add_option("--cache", o->cache_folder, "the folder that keeps results; default: the user's cache folder");
  app.add_flag("--no-cache", o->no_cache, "compute again, and keep nothing");
}

void add_share_options(CLI::App& app, const options& o) {
  app.add_option("--chunk", o->chunk, "I/N: compute only this share of the estimate, and write its parts for --merge")
      ->group("A fleet");
  app.add_option("--merge", o->merge, "the files of all shares, instead of computing; may be repeated")
      ->allow_extra_args(false)
      ->group("A fleet");
}

void add_generate(CLI::App& app, const options& o, int& status) {
  CLI::App* make = app.add_subcommand("generate", "Writes a SYNTHETIC trajectory that reaches an extreme event");
  make->add_option("SCENARIO", o->scenario.scenario)
      ->required()
      ->check(CLI::IsMember({"econagent", "twinmarket", "socialnetwork"}));
  CLI::Option* agents =
      make->add_option("--agents", o->scenario.agents, "default: the paper's number")->check(CLI::Range(2, 1'000'000));
  CLI::Option* steps =
      make->add_option("--steps", o->scenario.steps, "default: the paper's number")->check(CLI::Range(4, 100'000));
  make->add_option("--views", o->scenario.views, "the maximum number of posts that an agent sees in a step")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  make->add_option("--seed", o->scenario.seed)->capture_default_str();
  make->add_option("-o,--output", o->out, "file; - for standard output")->capture_default_str();
  make->callback([o, agents, steps, &status] {
    const bool social = o->scenario.scenario == "socialnetwork";
    if (agents->count() == 0) o->scenario.agents = social ? 20 : 10;
    if (steps->count() == 0) o->scenario.steps = social ? 21 : o->scenario.scenario == "econagent" ? 34 : 27;
    status = generate_file(*o);
  });
}

}  // namespace

void add_attribute_shapley(CLI::App& app, int& status) {
  const options o = std::make_shared<shapley_options>();
  CLI::App* sub =
      attribute_methods(app).add_subcommand("shapley", "Divides a run's risk among its actions, by Shapley values");
  sub->require_subcommand(0, 1);
  sub->footer(
      "Examples:\n  digctl attribute shapley my-run --data-dir /var/lib/digd --plots plots\n  digctl attribute shapley "
      "run.jsonl\n"
      "  digctl attribute shapley generate twinmarket -o t.json && digctl attribute shapley t.json --faithfulness\n"
      "  digctl attribute shapley --simulator 'python3 examples/shapley_simulator.py'");
  add_game_options(*sub, o);
  add_estimate_options(*sub, o);
  add_output_options(*sub, o);
  add_daemon_options(*sub, o->daemon);
  add_data_dir_option(*sub, o->daemon);
  add_common(*sub, o);
  add_pass_options(*sub, o->pass);
  add_share_options(*sub, o);
  add_generate(*sub, o, status);
  add_studies(*sub, o, status);
  sub->callback([sub, o, &status] {
    if (!sub->get_subcommands().empty()) return;
    const bool is_fleet = !effective_fleet(o->daemon.fleet).urls.empty();
    if (o->pass.on_workers && !is_fleet) status = complain("attribute shapley", "--on-workers needs --fleet");
    else if (is_fleet && o->simulator.empty() && (o->source.empty() || o->pass.on_workers))
      status = exec_pass("attribute shapley", *sub, o->daemon.fleet, o->pass, o->source);
    else status = attribute(*o);
  });
}

}  // namespace digd::cli
