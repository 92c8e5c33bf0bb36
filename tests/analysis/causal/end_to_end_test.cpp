// 300 archived runs of a small simulated team: agents that wait too much make it fail. The cause is found, and
// proven by an experiment.
#include <catch2/catch.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "analysis/causal/analyse.h"
#include "analysis/causal/beliefs.h"
#include "analysis/causal/factors/factor_table.h"
#include "analysis/causal/random.h"
#include "analysis/causal/verify.h"
#include "archive/archive.h"

using namespace digd::causal;
namespace arch = digd::archive;

namespace {

struct folder {
  folder() {
    std::string name = (std::filesystem::temp_directory_path() / "digd-causal-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

std::string text_of(double x) { return std::to_string(x); }

// One run: a planner hands out parts, and workers consume them or let them wait, with a tendency that differs by run.
// More waiting makes success less likely. Fan-out and speed vary too, without effect.
std::vector<std::string> simulate(std::size_t number, double habit, digd::splitmix_stream& chance) {
  std::vector<std::string> out;
  std::size_t seq = 0, waits = 0, reactions = 0;
  std::size_t ts = 0;
  const auto say = [&](const std::string& rest) {
    ts += 50 + chance.below(200);
    out.push_back("{\"type\":" + rest + ",\"seq\":" + std::to_string(++seq) + ",\"ts\":" + std::to_string(ts) + "}");
  };
  out.push_back(R"({"type":"hello","protocol":1,"run":"r)" + std::to_string(number) +
                R"(","session":"main","agents":["planner","a","b","c"],"clock":"trace","labels":{"task":"t)" +
                std::to_string(number) + R"(","model":")" + (chance.uniform() < 0.5 ? "small" : "large") + "\"}}");
  const char* workers[] = {"a", "b", "c"};
  const std::size_t steps = 6 + chance.below(8);
  for (std::size_t s = 0; s < steps; ++s) {
    const std::string id = std::to_string(s), worker = workers[chance.below(3)];
    const bool both = chance.uniform() < 0.4;
    say(R"("event","event":{"id":"e)" + id + R"(","recipients":[")" + worker + (both ? R"(","planner)" : "") +
        R"("]})");
    say(R"("activation_started","activation":"v)" + id + R"(","agent":")" + worker + R"(","inputs":["e)" + id +
        R"("])");
    const bool wait = chance.uniform() < habit;
    waits += wait;
    ++reactions;
    say(R"("activation_ended","activation":"v)" + id + R"(","reactions":{"e)" + id + R"(":")" +
        (wait ? "wait" : "consume") + R"("},"outputs":[])");
  }
  const double waited = static_cast<double>(waits) / static_cast<double>(reactions);
  const bool success = chance.uniform() < 0.95 - 0.9 * waited;
  say(std::string(R"("run_ended","outcome":")") + (success ? "success" : "failure") + R"(","metrics":{"cost":)" +
      text_of(chance.uniform()) + "}");
  return out;
}

std::string field(const std::string& line, const std::string& name) {
  const std::size_t at = line.find("\"" + name + "\":");
  if (at == std::string::npos) return {};
  std::size_t from = at + name.size() + 3;
  const bool quoted = line[from] == '"';
  from += quoted;
  return line.substr(from, line.find_first_of(quoted ? "\"" : ",}", from) - from);
}

void push(arch::producer& to, arch::entry&& e) {
  for (auto owned = std::make_unique<arch::entry>(std::move(e)); !to.try_push(owned);)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void store(arch::archive& into, arch::producer& to, const std::vector<std::string>& run) {
  const std::uint64_t number = into.next_run_number();
  std::uint64_t n = 0;
  for (const std::string& line : run) {
    const bool first = n == 0;
    for (int twice = 0; twice < (first ? 2 : 1); ++twice) {
      arch::entry e;
      e.kind = !first       ? arch::entry_kind::message
               : twice == 0 ? arch::entry_kind::run_opened
                            : arch::entry_kind::session_joined;
      e.run_number = number;
      e.run = field(run.front(), "run");
      e.session = "main";
      e.seq = first ? 0 : n - 1;
      e.n = ++n;
      e.ts = first ? 0 : std::stoll(field(line, "ts"));
      e.arrived_ms = 1;
      e.type = field(line, "type");
      e.frame = line;
      if (e.type == "run_ended") e.ended = field(line, "outcome");
      push(to, std::move(e));
    }
  }
}

std::filesystem::path archive_of(const folder& in, const std::string& name, std::size_t runs, double shift,
                                 std::uint64_t seed) {
  const std::filesystem::path path = in.path / (name + ".sqlite");
  arch::options options;
  options.path = path.string();
  std::string problem;
  auto opened = arch::archive::open(
      options, [](std::span<const arch::durable>) {}, &problem);
  INFO(problem);
  REQUIRE(opened);
  const auto to = (*opened)->make_producer();
  for (std::size_t i = 0; i < runs; ++i) {
    digd::splitmix_stream chance(seed, i);
    const double habit = std::min(0.95, std::max(0.0, chance.uniform() + shift));
    store(**opened, *to, simulate(i, habit, chance));
  }
  (*opened)->stop();
  return path;
}

}  // namespace

TEST_CASE("three_hundred_archived_runs_name_the_planted_cause") {
  const folder in;
  const auto path = archive_of(in, "runs", 300, 0, 1);
  const factor_rows rows = factor_table_of({path.string()}, {});
  INFO(rows.problem);
  REQUIRE(rows.data.rows() == 300);
  const auto target = rows.data.find("success");
  REQUIRE(target);
  analysis_options options;
  std::vector<std::string> notes;
  apply_beliefs(rows.data, {}, options, notes);
  const analysis a = analyse(rows.data, *target, options);
  REQUIRE(a.reached == stage::boundary);
  REQUIRE_FALSE(a.levers.empty());
  // What waits is not consumed: with nothing else an agent can do here the two are one factor, under either name.
  const std::string named = rows.data[a.levers[0].facts.factor].name;
  CHECK((named == "wait_ratio" || named == "consume_ratio"));
  CHECK(a.levers[0].words.find("To try") != std::string::npos);
  CHECK_FALSE(a.twins.empty());
}

TEST_CASE("an_experiment_confirms_the_planted_cause_and_a_useless_change_confirms_nothing") {
  const folder in;
  const auto a = archive_of(in, "a", 80, 0.2, 2), b = archive_of(in, "b", 80, -0.5, 2),
             again = archive_of(in, "c", 80, 0.2, 3);
  const auto side = [](const std::filesystem::path& path) {
    const paired_runs read = paired_runs_of(path.string(), {}, "wait_ratio", "success");
    REQUIRE(read.problem.empty());
    paired_values out;
    for (std::size_t r = 0; r < read.labels.size(); ++r) {
      out.factor.emplace_back(read.labels[r].at("task"), read.factor[r]);
      out.outcome.emplace_back(read.labels[r].at("task"), read.outcome[r]);
    }
    return out;
  };
  verify_options options;
  options.factor = "wait_ratio";
  options.pair_by = "task";
  const verification confirmed = verify(side(a), side(b), options);
  CHECK(confirmed.result.result == finding_kind::confirmed);
  CHECK(confirmed.result.sign == -1);
  CHECK(verify(side(a), side(again), options).result.result != finding_kind::confirmed);
}
