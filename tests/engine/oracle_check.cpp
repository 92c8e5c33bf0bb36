// digd-oracle-check [--stop] [SEEDS [MESSAGES [FIRST [DIR]]]]: compares engine and oracle on seeded random traces.
// Prints progress and a shortened trace for each disagreement; writes these traces to DIR if it is given.
// --stop: prints the first seed that disagrees and ends, without shortening its trace (for scripts/mutate).
// Exit code 1 if any seed disagreed.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string_view>

#include "oracle/shrink.h"
#include "oracle/trace_generator.h"
#include "tests/engine/engine_answers.h"

int main(int argc, char** argv) {
  const bool stop_at_first = argc > 1 && std::string_view(argv[1]) == "--stop";
  if (stop_at_first) {
    --argc;
    ++argv;
  }
  const std::uint64_t seeds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 5000;
  const std::size_t messages = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 500;
  const std::uint64_t first = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  const std::string folder = argc > 4 ? argv[4] : "";
  const auto started = std::chrono::steady_clock::now();
  std::uint64_t disagreements = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const std::vector<std::string> trace = oracle::random_trace(seed, messages);
    if (!digd::tests::disagreement(trace).empty()) {
      ++disagreements;
      if (stop_at_first) {
        std::cout << "seed " << seed << " disagrees\n";
        break;
      }
      const auto shortened = oracle::shrink(
          trace, [](const std::vector<std::string>& t) { return !digd::tests::disagreement(t).empty(); });
      std::cout << "seed " << seed << " disagrees: " << digd::tests::disagreement(shortened) << '\n';
      for (const std::string& line : shortened) std::cout << "    " << line << '\n';
      if (!folder.empty()) {
        std::ofstream file(folder + "/seed-" + std::to_string(seed) + ".jsonl");
        for (const std::string& line : shortened) file << line << '\n';
      }
      if (disagreements == 5) break;
    }
    if ((seed - first + 1) % 500 == 0) std::cerr << seed - first + 1 << " traces compared\n";
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started;
  std::cout << seeds << " traces of " << messages << " messages, " << disagreements << " disagree, " << elapsed.count()
            << " s\n";
  return disagreements == 0 ? 0 : 1;
}
