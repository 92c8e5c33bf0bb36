// digctl eval: attribution methods against logs whose truth is known. digctl chief-train: the default's weights.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "analysis/whowhen/ablation.h"
#include "analysis/whowhen/combine.h"
#include "analysis/whowhen/fallback.h"
#include "analysis/whowhen/frameworks.h"
#include "analysis/whowhen/planted.h"
#include "analysis/whowhen/planted_frameworks.h"
#include "analysis/whowhen/structure_game.h"
#include "analysis/whowhen/validate.h"
#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/files.h"
#include "cli/llm_options.h"
#include "cli/printable.h"
#include "cli/progress.h"

namespace digd::cli {

namespace {

using whowhen::labelled_log;

struct eval_options {
  std::string folder;
  std::vector<std::string> methods{"chief"};
  std::string format = "table", svg, reliability;
  bool cv = false, nested = false, ablate = false, prior = false;
  std::size_t framework_runs = 60, sample = 0;
  std::size_t runs = 400, structure_runs = 25, seed = 1;
  llm_options llm;
};

const std::string cross_validated = "chief (cv)";

int print(const eval_options& options, const whowhen::results& r, std::string_view command) {
  const std::string reference = options.cv || options.nested ? cross_validated : std::string();
  std::cout << (options.format == "json" ? whowhen::as_json(r, reference) + "\n"
                                         : printable_lines(whowhen::as_table(r) + whowhen::paired_table(r, reference)));
  if (options.svg.empty()) return done;
  const std::string problem = write_file(options.svg, whowhen::as_svg(r));
  return problem.empty() ? done : complain(std::string(command), shown(options.svg) + ": " + problem);
}

// Empty, or the reason why it could not be written.
std::string print_reliability(const eval_options& options, const std::vector<labelled_log>& logs,
                              const std::vector<whowhen::answer>& answers, const std::string& title) {
  const auto bins = whowhen::reliability(logs, answers);
  std::cerr << title << '\n' << whowhen::reliability_table(bins);
  const std::string problem = write_file(options.reliability, whowhen::reliability_svg(bins, title));
  return problem.empty() ? problem : shown(options.reliability) + ": " + problem;
}

// An error that every further log would have too; the figures would be useless.
bool hopeless(const boost::system::error_code& error) {
  using chief::llm::llm_errc;
  return error == make_error_code(llm_errc::rejected) || error == make_error_code(llm_errc::over_budget);
}

// The logs to answer and to score, with what the methods need to know of each.
struct trial {
  std::vector<labelled_log> logs;
  std::vector<std::size_t> scored;      // of `logs`, ascending
  std::vector<whowhen::answer> ranked;  // by entry of `scored`, cross-validated; empty: not asked for
};

// Empty, or an error.
std::string validate(trial& t, const eval_options& options, whowhen::results& r) {
  std::vector<labelled_log> scored;
  scored.reserve(t.scored.size());
  for (std::size_t i : t.scored) scored.push_back(t.logs[i]);
  std::vector<whowhen::answer> last;
  const auto add = [&](const std::string& name, bool nested) {
    const whowhen::validated v =
        show_while({.name = "cross-validating"}, [&] { return whowhen::cross_validate(t.logs, nested); });
    last.clear();
    for (std::size_t i : t.scored) {
      whowhen::record(r, name, t.logs[i], v.answers[i]);
      last.push_back(v.answers[i]);
    }
  };
  add(cross_validated, false);
  t.ranked = last;
  if (options.nested) add("chief (nested cv)", true);
  return options.reliability.empty()
             ? std::string()
             : print_reliability(options, scored, last, "Reliability of CHIEF, questions left out");
}

// `ranked`: the default method's answer; a shortlist gets its first five steps. Null: a shortlist gets those of
// `attribute chief`. Sets `stop_reason` if asking about further logs would be useless; empty: go on.
whowhen::answer judge(const labelled_log& l, const std::string& method, chief::llm::endpoint& model,
                      const eval_options& options, const whowhen::answer* ranked, progress& progress,
                      std::string& stop_reason) {
  constexpr std::size_t max_suspects = 5;
  const chief::llm::usage before = model.used();
  const auto from = std::chrono::steady_clock::now();
  chief::llm::judge_options to = judging(options.llm, l.answer);
  for (std::size_t i = 0; ranked && i < ranked->steps.size() && i < max_suspects; ++i)
    to.suspects.push_back(ranked->steps[i]);
  const chief::llm::ruling ruling = rule_by(method, model, l.log, to);
  whowhen::answer a{ruling.agent, ruling.steps};
  a.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  a.tokens = model.used().tokens() - before.tokens();
  a.cost = model.used().cost - before.cost;
  if (ruling.error || ruling.is_deterministic) {  // the answer comes from another method
    a.failed = true;
    a.agent.clear();
    a.steps.clear();
  }
  std::string problem = ruling.error ? ruling.error.message() + (ruling.detail.empty() ? "" : ": " + ruling.detail)
                        : ruling.is_deterministic && !ruling.notes.empty() ? ruling.notes.back()
                                                                           : std::string();
  const auto held = progress.pause();
  if (a.failed && !options.llm.dry_run) std::cerr << printable(l.log.id + ", " + method + ": " + problem) << '\n';
  if (hopeless(ruling.error)) stop_reason = std::move(problem);
  return a;
}

std::string judge_all(const trial& t, const std::string& method, chief::llm::endpoint& model,
                      const eval_options& options, whowhen::results& r) {
  const std::string name = options.llm.with_answer ? method + " (with answer)" : method;
  std::vector<const labelled_log*> logs;
  std::vector<whowhen::answer> judged;
  std::string problem;
  std::optional<progress> shown_progress(std::in_place);
  shown_progress->begin({.name = "asking the model", .total = t.scored.size(), .unit = "logs"});
  for (std::size_t k = 0; k < t.scored.size(); ++k) {
    logs.push_back(&t.logs[t.scored[k]]);
    judged.push_back(judge(*logs.back(), method, model, options, t.ranked.empty() ? nullptr : &t.ranked[k],
                           *shown_progress, problem));
    if (!problem.empty()) return problem;
    shown_progress->add();
    whowhen::record(r, name, *logs.back(), judged.back());
  }
  shown_progress.reset();
  if (t.ranked.empty() || options.llm.dry_run) return {};
  const whowhen::combined both = whowhen::weigh_judge(logs, t.ranked, judged);
  for (std::size_t k = 0; k < logs.size(); ++k)
    whowhen::record(r, "chief + " + name + " (cv)", *logs[k], both.answers[k]);
  const auto [low, high] = std::minmax_element(both.weights.begin(), both.weights.end());
  std::cerr << fmt::format("chief + {}: cross-validation gave the judge a weight of {} to {}\n", name, *low, *high);
  return {};
}

// Measures CHIEF before the judges. With --cv they use its answers: a shortlist gets its suspects, and each judge is
// weighed together with it.
std::string measure(trial& t, const eval_options& options, chief::llm::endpoint* model, whowhen::results& r) {
  std::vector<std::string> methods = options.methods;
  std::stable_partition(methods.begin(), methods.end(), [](const std::string& m) { return m == "chief"; });
  if ((options.cv || options.nested) && methods.front() != "chief") methods.insert(methods.begin(), "chief");
  for (const std::string& method : methods) {
    std::string problem;
    if (method == "chief" && (options.cv || options.nested)) {
      if (problem = validate(t, options, r); !problem.empty()) return problem;
    } else if (method == "chief") {
      progress shown_progress;
      shown_progress.begin({.name = "measuring", .total = t.scored.size(), .unit = "logs"});
      for (std::size_t i : t.scored) {
        whowhen::record(r, method, t.logs[i], whowhen::answer_of(t.logs[i], chief::committed_rankers()));
        shown_progress.add();
      }
      const auto held = shown_progress.pause();
      std::cerr
          << "The committed weights were trained on such logs, so these figures say nothing about those. Use --cv.\n";
    } else if (problem = judge_all(t, method, *model, options, r); !problem.empty()) {
      return method + ": " + printable(problem) + "; nothing is measured";
    }
  }
  return {};
}

bool read_logs(const std::string& folder, std::vector<labelled_log>& into, std::string& problem) {
  problem = no_folder_reason(folder);
  return problem.empty() && whowhen::read_folder(folder, into, problem);
}

int eval_whowhen(const eval_options& options) {
  trial t;
  std::string problem;
  if (!read_logs(options.folder, t.logs, problem))
    return complain("eval whowhen", shown(options.folder) + ": " + problem);
  const std::size_t n = t.logs.size(), wanted = options.sample == 0 ? n : std::min(n, options.sample);
  if (options.ablate) {
    const auto ablations = show_while({.name = "measuring"}, [&] { return whowhen::ablate_known(t.logs); });
    std::cout << printable_lines(whowhen::as_table(ablations));
    return done;
  }
  for (std::size_t i = 0; i < wanted; ++i) t.scored.push_back(i * n / wanted);
  std::unique_ptr<chief::llm::endpoint> model;
  const bool asks =
      std::any_of(options.methods.begin(), options.methods.end(), [](const std::string& m) { return m != "chief"; });
  if (asks && !(model = open_endpoint(options.llm, problem))) return complain("eval whowhen", problem);
  whowhen::results r;
  for (std::size_t i : t.scored) whowhen::add_constants(r, t.logs[i]);
  problem = measure(t, options, model.get(), r);
  if (model) std::cerr << describe(model->used(), options.llm.dry_run) << '\n';
  if (!problem.empty()) return complain("eval whowhen", problem);
  if (options.llm.dry_run && asks) return done;  // a dry run gives no figures
  return print(options, r, "eval whowhen");
}

int eval_frameworks(const eval_options& options) {
  std::vector<labelled_log> logs;
  std::string problem;
  if (!read_logs(options.folder, logs, problem))
    return complain("eval frameworks", shown(options.folder) + ": " + problem);
  for (labelled_log& l : whowhen::simulated_frameworks(options.framework_runs, options.seed))
    logs.push_back(std::move(l));
  std::set<std::string> subsets;
  for (const labelled_log& l : logs) subsets.insert(l.subset);
  if (subsets.size() > 5)
    return complain("eval frameworks",
                    shown(options.folder) + ": has more than two folders of logs; each is a framework");
  if (options.ablate) {
    const auto ablation = show_while({.name = "measuring"}, [&] { return whowhen::ablate_generic(logs); });
    std::cout << printable_lines(whowhen::as_table({ablation}));
    return done;
  }
  if (options.prior && options.format == "json") return complain("eval frameworks", "--prior prints only tables");
  const whowhen::transfer t =
      show_while({.name = "measuring"}, [&] { return whowhen::leave_one_framework_out(std::move(logs)); });
  std::cout << (options.format == "json" ? whowhen::as_json(t) + "\n" : printable_lines(whowhen::as_table(t)));
  if (options.prior) std::cout << printable_lines(whowhen::as_table(whowhen::weigh_prior(t)));
  if (options.reliability.empty()) return done;
  problem = print_reliability(options, t.logs, t.answers, "Reliability of CHIEF, frameworks left out");
  return problem.empty() ? done : complain("eval frameworks", problem);
}

int eval_planted(const eval_options& options) {
  whowhen::results r;
  std::optional<progress> shown_progress(std::in_place);
  shown_progress->begin({.name = "measuring", .total = options.runs, .unit = "runs"});
  for (std::size_t i = 0; i < options.runs; ++i, shown_progress->add()) {
    const labelled_log l = whowhen::planted_run(options.seed + i);
    labelled_log of_all = l;
    of_all.subset = "all";
    const whowhen::answer a = whowhen::answer_of(l, chief::committed_rankers());
    for (const labelled_log* counted_as : {&l, static_cast<const labelled_log*>(&of_all)}) {
      whowhen::add_constants(r, *counted_as);
      whowhen::add(r.at(counted_as->subset, "chief"), *counted_as, a);
    }
    if (i >= options.structure_runs) continue;
    if (const std::string problem = whowhen::add_structure(r, options.seed + i); !problem.empty()) {
      shown_progress.reset();
      return complain("eval planted", "seed " + std::to_string(options.seed + i) + ": " + problem);
    }
  }
  shown_progress.reset();
  return print(options, r, "eval planted");
}

constexpr std::size_t simulated_runs = 60, folds = 5;

int chief_train(const std::string& folder, const std::string& out) {
  std::vector<labelled_log> logs;
  std::string problem;
  if (!read_logs(folder, logs, problem)) return complain("chief-train", shown(folder) + ": " + problem);
  const std::size_t given = logs.size();
  progress shown_progress;
  shown_progress.begin({.name = "training"});
  for (labelled_log& l : whowhen::simulated_frameworks(simulated_runs, 1)) logs.push_back(std::move(l));
  const std::vector<chief::lesson> lessons = whowhen::lessons_of(logs);
  std::vector<const chief::lesson*> of_all_frameworks, known;
  std::vector<std::size_t> framework_folds, question_folds;
  std::map<std::string, std::size_t> questions, frameworks;
  std::size_t recognised = 0;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    of_all_frameworks.push_back(&lessons[i]);
    framework_folds.push_back(frameworks.try_emplace(logs[i].subset, frameworks.size()).first->second % folds);
    if (i >= given) continue;
    known.push_back(&lessons[i]);
    question_folds.push_back(questions.try_emplace(logs[i].log.question, questions.size()).first->second % folds);
    recognised += lessons[i].framework != chief::known_framework::none;
  }
  chief::training training = whowhen::calibrate(known, question_folds, false);
  const chief::training generic = whowhen::calibrate_generic(of_all_frameworks, framework_folds);
  training.generic = generic.generic;
  training.generic_temperature = generic.generic_temperature;
  const std::string source = chief::weights_source(
      chief::train(of_all_frameworks, training),
      {fmt::format("From {} logs of {} questions, {} of a known framework, and {} simulated runs of {} frameworks.",
                   given, questions.size(), recognised, logs.size() - given, whowhen::log_styles.size()),
       fmt::format("Ridge penalties: chat {}, orchestrated {}, agents {}, generic {}.", training.chat,
                   training.orchestrated, training.agents, training.generic),
       fmt::format("Temperatures: chat {}, orchestrated {}, agents {}, generic {}.", training.chat_temperature,
                   training.orchestrated_temperature, training.agents_temperature, training.generic_temperature)});
  const auto held = shown_progress.pause();
  problem = write_file(out, source);
  return problem.empty() ? done : complain("chief-train", output_problem(out, problem));
}

void add_output(CLI::App& app, eval_options& options) {
  app.add_option("--format", options.format, "table for people, json for machines")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  app.add_option("--svg", options.svg, "also write a bar chart to this file");
}

void add_whowhen(CLI::App& eval, const std::shared_ptr<eval_options>& options, int& status) {
  CLI::App* logs = eval.add_subcommand("whowhen", "Measures on Who&When logs, or others of that form");
  logs->add_option("DIR", options->folder, "folder of subsets (folders of *.json)")->required();
  std::vector<std::string> methods{"chief"};
  methods.insert(methods.end(), llm_methods.begin(), llm_methods.end());
  logs->add_option("--method", options->methods, "the methods to measure; all except chief ask a model")
      ->check(CLI::IsMember(methods))
      ->capture_default_str();
  logs->add_flag("--cv", options->cv, "cross-validate: for each question, train without its logs");
  logs->add_option("--sample", options->sample,
                   "answer and score only this many logs, evenly spaced; training uses all; 0: all")
      ->capture_default_str();
  logs->add_flag("--nested", options->nested, "as --cv, and also choose the penalties without the question");
  logs->add_option(
      "--reliability", options->reliability,
      "with --cv or --nested: write a reliability diagram (SVG) to this file, and its table to standard error");
  logs->add_flag("--ablate", options->ablate,
                 "instead, leave out each evaluator of the known frameworks in turn, cross-validated by question");
  add_output(*logs, *options);
  add_llm_options(*logs, options->llm);
  logs->callback([options, &status] { status = eval_whowhen(*options); });
}

void add_frameworks(CLI::App& eval, const std::shared_ptr<eval_options>& options, int& status) {
  CLI::App* frameworks = eval.add_subcommand(
      "frameworks",
      "Measures chief on frameworks that were left out of training: those in DIR, and three simulated ones");
  frameworks
      ->add_option("DIR", options->folder, "folder of at most two subsets of Who&When logs, each of one framework")
      ->required();
  frameworks->add_option("--runs", options->framework_runs, "the number of simulated runs of each framework")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  frameworks->add_option("--seed", options->seed, "seed of the first run; each further run has the next number")
      ->capture_default_str();
  CLI::Option* ablate = frameworks->add_flag(
      "--ablate", options->ablate, "instead, leave out each generic evaluator in turn; cross-validated by framework");
  frameworks
      ->add_flag("--prior", options->prior,
                 "also weigh an answer that starts from a constant and deviates only for strong evidence")
      ->excludes(ablate);
  frameworks->add_option("--reliability", options->reliability,
                         "write a reliability diagram (SVG) to this file, and its table to standard error");
  frameworks->add_option("--format", options->format, "table for people, json for machines")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  frameworks->callback([options, &status] { status = eval_frameworks(*options); });
}

void add_planted(CLI::App& eval, const std::shared_ptr<eval_options>& options, int& status) {
  CLI::App* planted = eval.add_subcommand(
      "planted", "Measures chief and the structure game on simulated runs with one planted fault each");
  planted->add_option("--runs", options->runs, "the number of simulated runs")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  planted
      ->add_option("--structure-runs", options->structure_runs,
                   "measure the structure game on the first N runs, too: one of each rule and a clean one")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  planted->add_option("--seed", options->seed, "seed of the first run; each further run has the next number")
      ->capture_default_str();
  add_output(*planted, *options);
  planted->callback([options, &status] { status = eval_planted(*options); });
}

void add_chief_train(CLI::App& app, int& status) {
  auto data = std::make_shared<std::string>();
  auto out = std::make_shared<std::string>("-");
  CLI::App* train =
      app.add_subcommand("chief-train", "Trains the weights of `attribute chief` (analysis/chief/weights.inc)");
  train->add_option("--data", *data, "folder of labelled Who&When logs")->required();
  train->add_option("-o,--output", *out, "the file; - for standard output")->capture_default_str();
  train->callback([data, out, &status] { status = chief_train(*data, *out); });
}

}  // namespace

void add_eval(CLI::App& app, int& status) {
  auto options = std::make_shared<eval_options>();
  CLI::App* eval = app.add_subcommand("eval", "Measures attribution on logs with known answers");
  eval->require_subcommand(1);
  add_whowhen(*eval, options, status);
  add_frameworks(*eval, options, status);
  add_planted(*eval, options, status);
  add_chief_train(app, status);
}

}  // namespace digd::cli
