// The engine and the oracle give the same answers.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "oracle/trace_generator.h"
#include "tests/engine/engine_answers.h"

namespace {

std::vector<std::string> trace_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("engine_and_oracle_agree_on_random_traces", "[long]") {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    INFO("seed " << seed);
    REQUIRE(digd::tests::disagreement(oracle::random_trace(seed, 300)) == "");
  }
}

TEST_CASE("engine_and_oracle_agree_on_every_trace_on_which_they_once_disagreed") {
  std::size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(DIGD_SOURCE_DIR "/tests/traces/regressions")) {
    if (entry.path().extension() != ".jsonl") continue;
    INFO(entry.path());
    CHECK(digd::tests::disagreement(trace_in(entry.path())) == "");
    ++compared;
  }
  CHECK(compared > 0);
}
