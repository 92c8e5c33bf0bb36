// digd-oracle-check [--stop] [SEEDS [MESSAGES [FIRST [DIR]]]]: engine against oracle on seeded random traces.
// Prints progress, and each disagreement shrunk; with DIR keeps the shrunk traces there. Exit 1 if any disagreed.
// --stop: names the first seed that disagrees and ends there, shrinking nothing (scripts/mutate).
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string_view>

#include "oracle/shrink.h"
#include "oracle/trace_generator.h"
#include "tests/engine/engine_answers.h"

int main(int argc, char** argv) {
  const bool stop = argc > 1 && std::string_view(argv[1]) == "--stop";
  if (stop) {
    --argc;
    ++argv;
  }
  const std::uint64_t seeds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 5000;
  const std::size_t messages = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 500;
  const std::uint64_t first = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  const std::string keep = argc > 4 ? argv[4] : "";
  const auto begun = std::chrono::steady_clock::now();
  std::uint64_t wrong = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const std::vector<std::string> trace = oracle::random_trace(seed, messages);
    if (!digd::tests::disagreement(trace).empty()) {
      ++wrong;
      if (stop) {
        std::cout << "seed " << seed << " disagrees\n";
        break;
      }
      const auto small = oracle::shrink(
          trace, [](const std::vector<std::string>& t) { return !digd::tests::disagreement(t).empty(); });
      std::cout << "seed " << seed << " disagrees: " << digd::tests::disagreement(small) << '\n';
      for (const std::string& line : small) std::cout << "    " << line << '\n';
      if (!keep.empty()) {
        std::ofstream file(keep + "/seed-" + std::to_string(seed) + ".jsonl");
        for (const std::string& line : small) file << line << '\n';
      }
      if (wrong == 5) break;
    }
    if ((seed - first + 1) % 500 == 0) std::cerr << seed - first + 1 << " traces compared\n";
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  std::cout << seeds << " traces of " << messages << " messages, " << wrong << " disagree, " << took.count() << " s\n";
  return wrong == 0 ? 0 : 1;
}
