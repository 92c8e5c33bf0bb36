#include "tests/simulation/world.h"

#include <algorithm>
#include <deque>

#include "tests/simulation/check.h"
#include "tests/simulation/client.h"

namespace digd::simulation {

namespace {

constexpr microseconds faults_end = 3'000'000;
constexpr microseconds deadline = 120'000'000;

class world {
 public:
  world(std::uint64_t seed, totals& sum, disk::fault fault) : chance_(seed), sum_(sum), monitor_(clock_, chance_, sum) {
    monitor_.archive().inject(fault);
    switches_ = chance_.one_in(4);
    const std::uint64_t runs = 1 + chance_.below(4);
    for (std::uint64_t r = 0; r < runs; ++r) add_run("r" + std::to_string(r));
  }

  void simulate() {
    for (client& client : clients_) client.begin();
    plan(&world::kill, 2'000'000);
    plan(&world::cut, 300'000);
    if (switches_) plan(&world::switch_mode, 500'000);
    monitor_.watch_holds(
        [this](const std::string& run, std::uint64_t hold, milliseconds hold_ms) { ask_operator(run, hold, hold_ms); });
    clock_.at(faults_end, [this] { monitor_.archive().set_troubled(false); });
    do {
      must(clock_.step(), "a task is planned until the end");
      monitor_.check();
      must(clock_.now() < deadline, "after the faults everything comes to rest");
    } while (!is_at_rest());
    monitor_.check_replay();
    for (const client& client : clients_) client.check_record(monitor_.archive());
    sum_.commits_failed += monitor_.archive().failed_commits();
  }

 private:
  void add_run(const std::string& name) {
    const std::uint64_t sessions = chance_.one_in(2) ? 1 : 1 + chance_.below(3);
    const bool trace_clock = !chance_.one_in(3);
    const bool ends = chance_.one_in(3);  // the run ends without an answer
    const bool guarded = chance_.one_in(3);
    story& story = stories_.emplace_back(chance_, sessions,
                                         story::options{.timed = trace_clock, .answers = !ends, .guarded = guarded});
    for (std::uint64_t s = 0; s < sessions; ++s) {
      clients_.emplace_back(
          clock_, chance_, monitor_, story,
          client::behaviour{.run = name,
                            .session = "s" + std::to_string(s),
                            .number = s,
                            .trace_clock = trace_clock,
                            .guarded = guarded,
                            .is_sole_cause = sessions == 1 && !switches_ && !guarded,
                            .ignores_credits = chance_.one_in(10),
                            .changes_capabilities = chance_.one_in(6),
                            .ends_run = s == 0 && ends,
                            .messages = 50 + chance_.below(1'500),
                            .latency = chance_.one_in(4) ? chance_.between(5'000, 60'000) : chance_.between(50, 1'000),
                            .read_time = chance_.one_in(6) ? chance_.between(100, 3'000) : 0});
    }
  }

  // Calls `action` at random times, `interval` apart on average, until the faults end.
  void plan(void (world::*action)(), microseconds interval) {
    clock_.after(chance_.between(0, 2 * interval), [this, action, interval] {
      if (clock_.now() >= faults_end) return;
      (this->*action)();
      plan(action, interval);
    });
  }

  void kill() {
    if (!monitor_.is_up()) return;
    monitor_.kill();
    for (client& client : clients_) client.allow_new_verdicts();
    clock_.after(chance_.between(1'000, 400'000), [this] { monitor_.start(); });
  }

  void cut() {
    ++sum_.cuts;
    chance_.pick(clients_).cut();
  }

  void switch_mode() {
    constexpr mode modes[] = {mode::enforce, mode::enforce, mode::observe, mode::shadow, mode::off};
    if (monitor_.is_up()) monitor_.switch_modes(modes[chance_.below(5)]);
  }

  // An operator decides at once, after a while, when the hold has ended, twice, or never.
  void ask_operator(const std::string& run, std::uint64_t hold, milliseconds hold_ms) {
    if (chance_.one_in(4)) return;
    const microseconds length = hold_ms * 1'000;
    const std::uint64_t times = chance_.one_in(6) ? 2 : 1;
    for (std::uint64_t i = 0; i < times; ++i) {
      const microseconds after = chance_.one_in(3)   ? chance_.between(0, 1'000)
                                 : chance_.one_in(3) ? length + chance_.between(0, 200'000)
                                                     : chance_.between(1'000, length);
      ingest::own_line decision{.kind = ingest::record_kind::decision};
      decision.hold = hold;
      decision.decision = chance_.one_in(2) ? hold_end::release : hold_end::give_back;
      decision.text = chance_.one_in(2) ? "Use the answer that you have." : "";
      decision.by = "operator";
      clock_.after(after, [this, run, decision] { monitor_.decide(run, decision); });
    }
  }

  bool is_at_rest() const {
    return monitor_.is_up() &&
           std::all_of(clients_.begin(), clients_.end(), [](const client& c) { return c.is_finished(); }) &&
           monitor_.is_settled();
  }

  scheduler clock_;
  dice chance_;
  totals& sum_;
  bool switches_ = false;
  monitor monitor_;
  std::deque<story> stories_;
  std::deque<client> clients_;
};

}  // namespace

void simulate(std::uint64_t seed, totals& sum, disk::fault fault) { world(seed, sum, fault).simulate(); }

}  // namespace digd::simulation
