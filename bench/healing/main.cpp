// digd-bench-healing: makes the runs of the study and writes a line of JSON for each.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <thread>

#include "bench/healing/line_monitor.h"
#include "bench/healing/study.h"

namespace {

using namespace digd::bench;

struct options {
  std::uint64_t first = 1;
  std::uint64_t seeds = 200;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::string output = "-";
  std::vector<std::string> arms;  // only these; all if empty
  int agents = 0;                 // only cells with these; 0: all
  std::int64_t integers = 0;
  bool tuning = false;
  std::string speak;  // a run's name: plays one run with whoever is at the other end of the pipes
};

bool wanted(const trial& t, const options& how) {
  const bool arm = how.arms.empty() || std::find(how.arms.begin(), how.arms.end(), t.arm) != how.arms.end();
  return arm && (how.agents == 0 || t.where.agents == how.agents) &&
         (how.integers == 0 || t.where.integers == how.integers);
}

// One run with a monitor behind standard input and output.
int speak(const options& how) {
  const arm* which = how.arms.size() == 1 ? arm_named(how.arms.front()) : nullptr;
  if (which == nullptr || which->what != arm::kind::engine || how.agents == 0 || how.integers == 0) {
    throw std::invalid_argument("--speak wants --agents, --integers and one --arm that is digd's");
  }
  line_monitor to(std::cin, std::cout, how.speak, which->asks);
  const cell where{how.agents, how.integers};
  const trial one{.where = where, .arm = which->name, .seed = how.first};
  write_line(std::cout, {one, world(where, how.first, {}, to).live()});
  return 0;
}

int run(const options& how) {
  std::vector<trial> all;
  for (const trial& t : how.tuning ? tuning_study(how.first, how.seeds) : whole_study(how.first, how.seeds)) {
    if (wanted(t, how)) all.push_back(t);
  }
  const auto results = run_all(all, how.threads, [&](std::size_t done) {
    if (done % 100 == 0 || done == all.size()) std::fprintf(stderr, "\r%zu of %zu runs", done, all.size());
  });
  std::fprintf(stderr, "\n");
  std::ofstream file;
  if (how.output != "-") file.open(how.output);
  std::ostream& to = how.output == "-" ? std::cout : file;
  for (const trial_result& one : results) write_line(to, one);
  to.flush();
  if (to) return 0;
  std::cerr << "digd-bench-healing: cannot write " << how.output << '\n';
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Simulated agents with and without digd: one line of JSON a run (docs/healing.md)");
  options how;
  app.add_option("--first-seed", how.first, "first seed")->capture_default_str();
  app.add_option("--seeds", how.seeds, "runs of each arm in each cell")->capture_default_str();
  app.add_option("--threads", how.threads, "threads")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--output,-o", how.output, "file; - for standard output")->capture_default_str();
  app.add_option("--arm", how.arms, "only this arm; may be given again");
  app.add_option("--agents", how.agents, "only cells with so many agents");
  app.add_option("--integers", how.integers, "only cells with so many integers");
  app.add_flag("--tuning", how.tuning, "instead of the study: what was tried to choose digd's texts and attempts");
  app.add_option("--speak", how.speak, "one run of this name: its messages on standard output, answers on standard input");
  CLI11_PARSE(app, argc, argv);
  try {
    return how.speak.empty() ? run(how) : speak(how);
  } catch (const std::exception& problem) {
    std::cerr << "digd-bench-healing: " << problem.what() << '\n';
    return 2;
  }
}
