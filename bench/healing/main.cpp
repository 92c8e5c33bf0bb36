// digd-bench-healing: plays the runs of the study and writes one line of JSON for each. Also draws the charts of
// docs/healing.md.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>

#include "bench/healing/comparison_chart.h"
#include "bench/healing/line_monitor.h"
#include "bench/healing/study.h"

namespace {

using namespace digd::bench;

struct options {
  std::uint64_t first = 1;
  std::uint64_t seeds = 200;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::string output = "-";
  std::vector<std::string> arms;  // only these; empty: all
  int agents = 0;                 // only cells with this number; 0: all
  std::int64_t integers = 0;
  bool fitting = false;
  bool second_round = false;
  std::vector<std::string> set;  // NAME=VALUE of parameters
  bool chart = false;
  std::string speak;  // name of a run that is played with a monitor at the other end of the pipes
};

bool wanted(const trial& t, const options& options) {
  const bool arm =
      options.arms.empty() || std::find(options.arms.begin(), options.arms.end(), t.arm) != options.arms.end();
  return arm && (options.agents == 0 || t.where.agents == options.agents) &&
         (options.integers == 0 || t.where.integers == options.integers);
}

parameters parameters_of(const options& options) {
  parameters parameters;
  for (const std::string& given : options.set) {
    const std::size_t equals = given.find('=');
    const auto found = std::find_if(named_parameters().begin(), named_parameters().end(),
                                    [&](const named_parameter& p) { return p.name == given.substr(0, equals); });
    if (found == named_parameters().end() || equals == std::string::npos)
      throw std::invalid_argument("--set: no such parameter: " + given);
    parameters.*found->value = std::stod(given.substr(equals + 1));
  }
  return parameters;
}

// Plays one run with a monitor behind standard input and output.
int speak(const options& options) {
  const arm* treatment = options.arms.size() == 1 ? arm_named(options.arms.front()) : nullptr;
  if (treatment == nullptr || treatment->kind != arm::kind::engine || options.agents == 0 || options.integers == 0) {
    throw std::invalid_argument("--speak wants --agents, --integers and one --arm that is digd's");
  }
  line_monitor to(std::cin, std::cout, options.speak, treatment->asks);
  const cell where{options.agents, options.integers};
  const trial trial{.where = where, .arm = treatment->name, .seed = options.first};
  write_line(std::cout, {trial, world(where, options.first, {}, to).live()});
  return 0;
}

int run(const options& options) {
  const auto runs = options.fitting ? fitting_runs : options.second_round ? second_round : whole_study;
  std::vector<trial> trials = runs(options.first, options.seeds);
  std::erase_if(trials, [&](const trial& t) { return !wanted(t, options); });
  const auto results = run_all(trials, parameters_of(options), options.threads, [&](std::size_t done) {
    if (done % 100 == 0 || done == trials.size()) std::fprintf(stderr, "\r%zu of %zu runs", done, trials.size());
  });
  std::fprintf(stderr, "\n");
  std::ofstream file;
  if (options.output != "-") file.open(options.output);
  std::ostream& to = options.output == "-" ? std::cout : file;
  for (const trial_result& result : results) write_line(to, result);
  to.flush();
  if (to) return 0;
  std::cerr << "digd-bench-healing: cannot write " << options.output << '\n';
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Simulated agents with and without digd: one line of JSON a run (docs/healing.md)");
  options options;
  app.add_option("--first-seed", options.first, "first seed")->capture_default_str();
  app.add_option("--seeds", options.seeds, "runs of each arm in each cell")->capture_default_str();
  app.add_option("--threads", options.threads, "threads")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--output,-o", options.output, "file; - for standard output")->capture_default_str();
  app.add_option("--arm", options.arms, "only this arm; may be given again");
  app.add_option("--agents", options.agents, "only cells with so many agents");
  app.add_option("--integers", options.integers, "only cells with so many integers");
  app.add_flag("--fitting", options.fitting, "instead of the study: the cells of the paper's Table 2, observed");
  app.add_flag("--second-round", options.second_round, "instead of the study: its second round")->excludes("--fitting");
  app.add_option("--set", options.set, "NAME=VALUE: another value of a parameter; may be given again");
  app.add_option("--speak", options.speak,
                 "one run of this name: its messages on standard output, answers on standard input");
  app.add_flag("--chart", options.chart, "draws the chart that standard input describes, as SVG");
  CLI11_PARSE(app, argc, argv);
  try {
    if (options.chart) {
      std::cout << comparison_chart(std::string(std::istreambuf_iterator<char>(std::cin), {}));
      return 0;
    }
    return options.speak.empty() ? run(options) : speak(options);
  } catch (const std::exception& problem) {
    std::cerr << "digd-bench-healing: " << problem.what() << '\n';
    return 2;
  }
}
