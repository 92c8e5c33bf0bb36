#include "tests/simulation/fleet_world.h"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "daemon/fleet/homes/home_search.h"
#include "daemon/fleet/homes/host_lease.h"
#include "tests/simulation/check.h"
#include "tests/simulation/fleet_server.h"

namespace digd::simulation {

namespace {

using daemon::home_decision;
using daemon::home_search;
using daemon::home_time;
using daemon::host_lease;
using daemon::run_record;

constexpr microseconds length_of_world = 30'000'000;
constexpr std::chrono::milliseconds lease_length{1'000};
constexpr std::size_t hosts = 3, runs = 4;

// The facts that must be true of each run, whichever daemon judges it.
struct truth {
  std::uint64_t judged_epoch = 0;
  std::size_t judged_by = 0;
  std::map<std::uint64_t, std::uint64_t> acked;  // ids of entries, and the epoch that acknowledged them
};

struct shared_world {
  scheduler clock;
  dice chance;
  fleet_totals& sum;
  const fleet_faults& faults;
  fleet_server server;
  std::map<std::string, truth> runs;
  std::uint64_t last_id = 0;

  shared_world(std::uint64_t seed, fleet_totals& totals, const fleet_faults& with)
      : chance(seed), sum(totals), faults(with), server(clock, chance, totals.lost) {}
};

// A daemon. What a kill leaves is its archive: the incarnation, and the runs with their numbers and entries.
class simulated_daemon {
 public:
  simulated_daemon(shared_world& in, std::size_t index) : in_(in), index_(index) {
    drift_ = in.faults.max_drift * static_cast<double>(in.chance.between(-100, 100)) / 100;
    offset_ = in.chance.between(0, 1'000'000'000);
    start();
  }

  void start() {
    life_ = std::make_shared<int>(0);
    watch_ = std::make_unique<daemon::host_watch>();
    const host_lease::identity who{"t", "h" + std::to_string(index_), "ws://h" + std::to_string(index_),
                                   archive_name()};
    lease_ = std::make_unique<host_lease>(who, lease_length, incarnation_,
                                          [this] { return "x" + std::to_string(in_.chance.below(1u << 30)); });
    searches_.clear();
    restoring_.clear();
    for (auto& [run, copy] : copies_) {
      copy.generation = 0;
      copy.is_publishing = false;
      publish_next(run, copy.number);
    }
    tick();
  }

  void kill() {
    ++in_.sum.kills;
    life_.reset();
  }
  void drain() {
    ++in_.sum.drains;
    lease_->drain();
  }
  bool is_up() const { return life_ != nullptr; }
  bool is_drained() const { return lease_->is_drained(); }

  void ask(const std::string& run) {
    if (searches_.contains(run) || restoring_.contains(run) || !lease_->is_held(now()) || is_judging(run)) return;
    const auto copy = copies_.find(run);
    const daemon::home_question asked{.run = run,
                                      .number = copy == copies_.end() ? 0 : copy->second.number,
                                      .new_number = ++last_number_,
                                      .start = 0,
                                      .was_elsewhere = in_.chance.one_in(2)};
    const daemon::home_taker self{"t", "h" + std::to_string(index_), "ws://h" + std::to_string(index_), archive_name(),
                                  lease_->incarnation()};
    const auto search = std::make_shared<searching>(searching{home_search(self, asked, *watch_), lease_->generation()});
    searches_[run] = search;
    follow(run, search->search.begin(now()));
  }

  // A message of a client arrives: the daemon judges it if it may, archives and publishes it.
  void judge(const std::string& run) {
    const auto found = copies_.find(run);
    if (found == copies_.end() || !found->second.is_ready) return;
    copy& at = found->second;
    if (may_judge(at)) note_judged(run, at);
    published entry{.archive = archive_name(),
                    .run = run,
                    .origin_archive = at.home.epoch > 1 ? at.home.origin_archive : "",
                    .number = at.number,
                    .n = ++at.entries,
                    .epoch = at.home.epoch,
                    .origin_number = at.home.epoch > 1 ? at.home.origin_number : 0,
                    .id = ++in_.last_id};
    at.waiting.push_back(entry);
    publish_next(run, at.number);
  }

 private:
  struct copy {
    std::uint64_t number = 0, entries = 0;
    run_record home;
    std::uint64_t generation = 0;   // of the lease that it was confirmed with
    bool is_ready = false;          // restored
    std::deque<published> waiting;  // in the archive, and not yet in the stream
    bool is_publishing = false;
  };
  struct searching {
    home_search search;
    std::uint64_t generation;
  };

  home_time now() const {
    return home_time(offset_ + static_cast<microseconds>(static_cast<double>(in_.clock.now()) * (1 + drift_)));
  }
  std::string archive_name() const { return "a" + std::to_string(index_); }
  bool may_judge(const copy& at) const {
    if (in_.faults.judges_without_lease) return at.generation > 0;
    return at.generation == lease_->generation() && lease_->is_held(now());
  }
  bool is_judging(const std::string& run) const {
    const auto found = copies_.find(run);
    return found != copies_.end() && found->second.is_ready && found->second.generation == lease_->generation();
  }

  // Calls `task` if this process still lives then.
  template <class... Arguments>
  std::function<void(Arguments...)> while_alive(std::function<void(Arguments...)> task) {
    return [life = std::weak_ptr<int>(life_), task = std::move(task)](Arguments... arguments) {
      if (life.lock()) task(arguments...);
    };
  }
  void after(home_time wait, std::function<void()> task) {
    const double own = static_cast<double>(std::max<std::int64_t>(wait.count(), 0));
    in_.clock.after(static_cast<microseconds>(own / (1 + drift_)) + 1, while_alive(std::move(task)));
  }

  void tick() {
    if (const auto request = lease_->next(now())) {
      const std::function<void(daemon::bucket_reply)> on_reply = [this](const daemon::bucket_reply& reply) {
        const std::string before = lease_->incarnation();
        lease_->on_reply(reply, now());
        if (lease_->incarnation() != before) ++in_.sum.leases_ended;
        incarnation_ = lease_->incarnation();
        tick();
      };
      in_.server.call(index_, *request, while_alive(on_reply));
      return;
    }
    if (!lease_->is_drained()) after(lease_->next_at() - now(), [this] { tick(); });
  }

  void follow(const std::string& run, const home_search::step& step) {
    switch (step.is) {
      case home_search::step::kind::request: {
        const std::function<void(daemon::bucket_reply)> on_reply = [this, run](const daemon::bucket_reply& reply) {
          follow(run, searches_[run]->search.on_reply(reply, now()));
        };
        return in_.server.call(index_, step.request, while_alive(on_reply));
      }
      case home_search::step::kind::wait:
        return after(step.wait_until - now(), [this, run] { follow(run, searches_[run]->search.resume(now())); });
      case home_search::step::kind::done: break;
    }
    const auto search = searches_[run];
    searches_.erase(run);
    decide(run, step.decision, search->generation);
  }

  void decide(const std::string& run, const home_decision& decision, std::uint64_t generation) {
    switch (decision.is) {
      case home_decision::kind::opened: {
        ++in_.sum.opened;
        copies_[run] = copy{.number = decision.home.number,
                            .home = decision.home,
                            .generation = generation,
                            .is_ready = true,
                            .waiting = {}};
        return;
      }
      case home_decision::kind::kept:
        ++in_.sum.kept;
        copies_[run].home = decision.home;
        copies_[run].generation = generation;
        return;
      case home_decision::kind::taken:
        ++in_.sum.taken;
        restoring_.insert(run);
        return move_here(run, decision.home, generation);
      case home_decision::kind::elsewhere: {
        ++in_.sum.elsewhere;
        if (const auto mine = copies_.find(run); mine != copies_.end() && mine->second.number != 0) copies_.erase(mine);
        return;
      }
      case home_decision::kind::unavailable: ++in_.sum.unavailable; return;
    }
  }

  void move_here(const std::string& run, const run_record& home, std::uint64_t generation) {
    copies_.erase(run);
    published marker{.is = daemon::stream_line::kind::run_moved,
                     .archive = archive_name(),
                     .run = run,
                     .origin_archive = home.origin_archive,
                     .epoch = home.epoch,
                     .origin_number = home.origin_number};
    const std::function<void(std::uint64_t)> on_published = [this, run, home, generation](std::uint64_t sequence) {
      if (sequence == 0) return move_here(run, home, generation);
      restore(run, home, generation, sequence);
    };
    in_.server.publish(index_, marker, while_alive(on_published));
  }

  void restore(const std::string& run, const run_record& home, std::uint64_t generation, std::uint64_t upto) {
    daemon::run_parts parts(run, home.origin_archive, home.origin_number);
    std::set<std::uint64_t> ids;
    for (std::uint64_t i = 0; i < upto; ++i) {
      const published& message = in_.server.stream()[i];
      if (message.run != run) continue;
      if (in_.faults.restores_without_marker && message.is == daemon::stream_line::kind::run_moved && i + 1 < upto) {
        continue;
      }
      const auto use = parts.take(message.line());
      must(use != daemon::run_parts::use::early, "no entry is missing before another");
      if (use == daemon::run_parts::use::next) ids.insert(message.id);
      if (use == daemon::run_parts::use::stale) ++in_.sum.stale;
    }
    // A later home may have taken the run over already, and acknowledged more than this restoration can know.
    for (const auto& [id, epoch] : in_.runs[run].acked) {
      must(epoch > home.epoch || ids.contains(id), "a takeover restores what was acked");
    }
    in_.sum.restored += ids.size();
    restoring_.erase(run);
    copies_[run] = copy{.number = home.number,
                        .entries = parts.entries(),
                        .home = home,
                        .generation = generation,
                        .is_ready = true,
                        .waiting = {}};
  }

  void note_judged(const std::string& run, const copy& at) {
    truth& of = in_.runs[run];
    ++in_.sum.judged;
    must(at.home.epoch >= of.judged_epoch, "a run is not judged by its old home after a new one");
    must(at.home.epoch > of.judged_epoch || of.judged_by == index_, "one home judges in each epoch");
    of.judged_epoch = at.home.epoch;
    of.judged_by = index_;
  }

  // In the order of the archive, again until the stream has them.
  void publish_next(const std::string& run, std::uint64_t number) {
    const auto found = copies_.find(run);
    if (found == copies_.end() || found->second.number != number) return;
    copy& at = found->second;
    if (at.waiting.empty() || std::exchange(at.is_publishing, true)) return;
    const std::uint64_t generation = at.generation;
    const std::function<void(std::uint64_t)> on_published = [this, run, number, generation](std::uint64_t sequence) {
      const auto now_at = copies_.find(run);
      if (now_at == copies_.end() || now_at->second.number != number) return;
      copy& now = now_at->second;
      now.is_publishing = false;
      if (sequence != 0) {
        // Acknowledged only while the lease is held, by this daemon's own clock.
        if (generation == now.generation && may_judge(now)) {
          in_.runs[run].acked.emplace(now.waiting.front().id, now.home.epoch);
          ++in_.sum.acked;
        }
        now.waiting.pop_front();
      }
      publish_next(run, number);
    };
    in_.server.publish(index_, at.waiting.front(), while_alive(on_published));
  }

  shared_world& in_;
  const std::size_t index_;
  double drift_ = 0;
  microseconds offset_ = 0;
  std::shared_ptr<int> life_;  // of the process
  std::unique_ptr<daemon::host_watch> watch_;
  std::unique_ptr<host_lease> lease_;
  std::map<std::string, std::shared_ptr<searching>> searches_;
  std::set<std::string> restoring_;
  // ---- survives a kill
  std::string incarnation_;
  std::uint64_t last_number_ = 0;
  std::map<std::string, copy> copies_;
};

class fleet_world {
 public:
  fleet_world(std::uint64_t seed, fleet_totals& sum, const fleet_faults& faults) : in_(seed, sum, faults) {
    for (std::size_t h = 0; h < hosts; ++h) hosts_.emplace_back(in_, h);
  }

  void simulate() {
    repeat(20'000, [this] { with_any([this](simulated_daemon& h) { h.ask(any_run()); }); });
    repeat(5'000, [this] { with_any([this](simulated_daemon& h) { h.judge(any_run()); }); });
    repeat(3'000'000, [this] { trouble(); });
    while (in_.clock.now() < length_of_world && in_.clock.step()) {
    }
  }

 private:
  void repeat(microseconds interval, const std::function<void()>& task) {
    in_.clock.after(in_.chance.between(0, 2 * interval), [this, interval, task] {
      task();
      repeat(interval, task);
    });
  }
  void with_any(const std::function<void(simulated_daemon&)>& task) {
    simulated_daemon& any = in_.chance.pick(hosts_);
    if (any.is_up()) task(any);
  }
  std::string any_run() { return "r" + std::to_string(in_.chance.below(runs)); }

  void trouble() {
    const std::size_t index = in_.chance.below(hosts);
    simulated_daemon& victim = hosts_[index];
    if (!victim.is_up()) return;
    if (in_.chance.one_in(2)) {
      ++in_.sum.partitions;
      in_.server.cut_off(index, true);
      in_.clock.after(in_.chance.between(50'000, 5'000'000), [this, index] { in_.server.cut_off(index, false); });
      return;
    }
    if (in_.chance.one_in(3)) victim.drain();
    const microseconds end = victim.is_drained() ? 0 : in_.chance.between(0, 500'000);
    in_.clock.after(end, [this, index] {
      if (!hosts_[index].is_up()) return;
      hosts_[index].kill();
      in_.clock.after(in_.chance.between(1'000, 4'000'000), [this, index] {
        if (!hosts_[index].is_up()) hosts_[index].start();
      });
    });
  }

  shared_world in_;
  std::deque<simulated_daemon> hosts_;
};

}  // namespace

void simulate_fleet(std::uint64_t seed, fleet_totals& sum, const fleet_faults& faults) {
  fleet_world(seed, sum, faults).simulate();
}

}  // namespace digd::simulation
