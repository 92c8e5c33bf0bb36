// An estimate whose chunks several machines compute is that of one machine, to the last bit.
#include "analysis/shapley/parts.h"

#include <catch2/catch.hpp>

#include "analysis/shapley/cache.h"
#include "tests/analysis/shapley/support.h"

using namespace digd::shapley;
using namespace shapley_tests;

namespace {

constexpr std::size_t share_count = 5;

small_game bumpy_game() {
  return small_game(16, [](const set& s) { return bumpy(s, 4); });
}

std::vector<std::string> files_of_shares(const game& game, estimate_options options) {
  std::vector<std::string> files;
  for (std::size_t i = 0; i < share_count; ++i) {
    part_output output(cache::key_of(game, options), i, share_count);
    options.control.output = &output;
    options.control.threads = 1 + i % 2;
    const estimate_result none = estimate(game, options);
    REQUIRE(none.problem.empty());
    CHECK(none.phi.value.empty());
    files.push_back(output.file());
  }
  return files;
}

// An error sentence, or empty and the merged result.
std::string merge(const game& game, estimate_options options, const std::vector<std::string>& files,
                  estimate_result& into) {
  part_input input(cache::key_of(game, options));
  for (const std::string& file : files) {
    if (std::string error = input.add_file(file); !error.empty()) return error;
  }
  options.control.input = &input;
  into = estimate(game, options);
  return into.problem;
}

}  // namespace

TEST_CASE("the_parts_of_an_estimate_merge_to_the_bits_of_one_machine") {
  const small_game game = bumpy_game();
  for (const estimator e :
       {estimator::exact, estimator::permutation, estimator::antithetic, estimator::owen, estimator::leverage}) {
    INFO(to_string(e));
    const estimate_options options = ask(e, 700, 2);
    const estimate_result whole = estimate(game, options);
    estimate_result merged;
    std::vector<std::string> files = files_of_shares(game, options);
    std::reverse(files.begin(), files.end());  // the order of the files does not matter
    REQUIRE(merge(game, options, files, merged).empty());
    CHECK(merged.phi.value == whole.phi.value);
    CHECK(merged.phi.error == whole.phi.error);
    CHECK(merged.by_agent.value == whole.by_agent.value);
    CHECK(merged.by_step.error == whole.by_step.error);
    CHECK(merged.gap == whole.gap);
    CHECK(merged.samples == whole.samples);
    CHECK(merged.evaluations == whole.evaluations);
    CHECK_FALSE(merged.interrupted);
  }
}

TEST_CASE("parts_that_are_incomplete_or_of_another_estimate_are_refused") {
  const small_game game = bumpy_game();
  const estimate_options options = ask(estimator::antithetic, 700);
  const std::vector<std::string> files = files_of_shares(game, options);
  estimate_result merged;
  const auto refused = [&](std::vector<std::string> given, const std::string& reason) {
    CHECK_THAT(merge(game, options, given, merged), Catch::Contains(reason));
  };
  std::vector<std::string> missing = files;
  missing.erase(missing.begin() + 1);
  refused(missing, "chunks are missing");
  std::vector<std::string> cut = files;
  cut[2].pop_back();
  refused(cut, "ends within a part");
  refused({"no parts\n"}, "no parts of an estimate");
  estimate_options other = options;
  other.seed = 6;
  refused(files_of_shares(game, other), "belong to another run");
  // A chunk of another length, as another build of digd might write it.
  std::vector<std::string> shorter = files;
  const std::size_t head = shorter[0].find('\n') + 1;
  std::uint64_t size = 0;
  std::memcpy(&size, shorter[0].data() + head + 8, sizeof size);
  shorter[0].erase(head + 16, 8);
  size -= 8;
  std::memcpy(shorter[0].data() + head + 8, &size, sizeof size);
  refused(shorter, "has another size");
}
