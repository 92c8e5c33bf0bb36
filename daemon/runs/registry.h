// The runs of one engine thread: those that are open, or have clients.
//
// Thread: its engine thread. Bounds: `runs` that have not ended, over all threads; beyond that, a new run is refused
// with over_limit. Ended runs without clients leave memory, with their names. So a hello for a run that is not in
// memory first looks for it in the archive, on another thread, at most `max_searches` at once. What it finds is read
// back on a further thread, at most `max_rebuilding` at once. Open runs that the archive had at the start are read back
// one after the other; those that a client waits for go first. At most `max_waiting` hellos wait for a run. Lifetime:
// its engine thread owns it.
#pragma once

#include <boost/system/result.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "archive/stored.h"
#include "daemon/runs/run_client.h"
#include "daemon/runs/run_host.h"

namespace digd::daemon {

class home_keeper;
struct config;
struct home_answer;
struct recovered_run;
struct token_weight;

class registry final : public run_holder {
 public:
  static constexpr std::size_t max_searches = 10'000;
  static constexpr std::size_t max_rebuilding = 64;
  static constexpr std::size_t max_waiting = 1'000;

  explicit registry(engine_loop& owner);
  ~registry();

  void join(join_request&& request);
  // Drops the client's hello if it waits for the run. Called when the client has left, or when digd closes it to free
  // memory.
  void withdraw(const std::string& run, const std::weak_ptr<run_client>& client);
  std::shared_ptr<run_host> find(std::uint64_t number) const;
  std::shared_ptr<run_host> find(const std::string& name) const;  // in memory; null: none
  template <class Each>
  void each(Each visit) {
    for (const auto& [name, host] : by_name_) visit(*host);
  }

  // ---- recovery. The first two before the thread starts.
  // `numbers`: the numbers of all runs with the same name, latest first. Returns the number of the one that counts; 0:
  // all were deleted, or moved away.
  std::uint64_t latest_of(const std::vector<std::uint64_t>& numbers) const;
  // Announces an open run that must be read back.
  void expect(archive::stored_run run);
  // Begins to read the next expected run back; the others follow one after another.
  void recover_next();
  // Whether the run is known and not in memory yet.
  bool is_being_read(const std::string& name) const { return rebuilding_.contains(name); }

  // ---- in a fleet with homes
  // The daemon lost its lease or holds it again: stops or resumes all runs, and confirms those of an earlier lease.
  void check_homes();

  void ended(run_host& host, run_outcome outcome) override;
  void retire_if_idle(run_host& host) override;

  // Forgets a run permanently and notifies its clients. The caller removes it from the archive.
  struct removal {
    enum class result : std::uint8_t { unknown, busy, removed } outcome = result::unknown;
    std::uint64_t number = 0;
  };
  // `done` is called on this thread, before or after the call returns.
  void remove(const std::string& name, std::function<void(removal)> done);
  // Notes that nothing of a removed run is stored any longer.
  void erased(std::uint64_t number);
  // As `remove`, for retention; `busy` if the run is in use. A run is in use while it has a client. A run that has not
  // ended is also in use if it received something since `quiet_since` (Unix milliseconds). `number`: of the stored run;
  // a number that is unknown here is `removed`.
  removal::result remove_unused(const std::string& name, std::uint64_t number, std::optional<milliseconds> quiet_since);
  // Called when memory runs out: stops judging the token's heaviest runs and frees their graphs, until that frees
  // `wanted` bytes. Runs of less than `least` bytes stay as they are.
  void degrade_heaviest(const std::string& token, std::uint64_t least, std::uint64_t wanted);
  // Called when memory suffices again: resumes judging of one run that an overload had stopped.
  void resume_one();
  // Adds what the runs hold to the weights of the tokens that opened them.
  void weigh(std::map<std::string, token_weight>& weights) const;
  // Applies the operator's switch to all open runs. Returns how many changed.
  std::size_t follow_operator();

 private:
  home_keeper* homes() const;
  void forget(run_host& host);
  void drop(run_host& host);
  // `home`: the answer about the run's home, with the new run's number; null: runs have no homes.
  void open(join_request&& request, const home_answer* home = nullptr);
  bool refuse_at_limit(const join_request& request, const config& settings);
  std::shared_ptr<run_host> make_run(const hello& first, run_settings granted, const config& settings,
                                     const home_answer* home);
  void adopt(std::shared_ptr<run_host> host);
  // A run that is read back, or waits for that.
  struct pending_run {
    archive::stored_run run;
    bool is_expected = false;  // by recovery
    bool is_reading = false;   // it is read back, or the archive is searched for it
    bool is_wanted = false;    // a client has asked for it: recovery reads it back before the others
    std::vector<join_request> requests;
    // ---- in a fleet with homes
    std::unique_ptr<home_answer> home;    // once it is known
    std::unique_ptr<recovered_run> read;  // read back, and waits for its home
  };
  void wait_for(pending_run& pending, join_request&& request);
  // ---- search of the archive
  // The number of the run; 0: there is none; an error: the archive cannot be read.
  using search_result = boost::system::result<std::uint64_t>;
  bool can_search() const { return searches_begun_ - searches_done_ < max_searches; }
  void search(const std::string& name, std::function<void(search_result)> then);
  void search_for(join_request&& request);
  void found(const std::string& name, search_result number);
  void forget_erased();
  bool remove_loaded(const std::string& name, removal& result);
  void read(pending_run& pending);
  void rebuilt(const std::string& name, recovered_run&& result);
  void count_recovered(bool failed);
  void take_in(pending_run&& pending, recovered_run&& result);
  void refuse_all(std::vector<join_request>& requests, const std::string& problem);

  // ---- homes
  void ask_home(const std::string& name, std::uint64_t number);
  void on_home(const std::string& name, home_answer&& answer);
  void on_home_elsewhere(pending_run&& pending, const home_answer& answer);
  void on_home_unavailable(pending_run&& pending, const home_answer& answer);
  void open_all(std::vector<join_request>&& requests, const home_answer* home);
  void settle_home(run_host& host);
  void confirm(run_host& host);
  void on_confirmed(const std::string& name, std::uint64_t number, home_answer&& answer);

  engine_loop& owner_;
  boost::unordered_flat_map<std::string, std::shared_ptr<run_host>> by_name_;
  boost::unordered_flat_map<std::uint64_t, std::shared_ptr<run_host>> by_number_;
  boost::unordered_flat_map<std::string, pending_run> rebuilding_;
  std::size_t expected_left_ = 0;  // in rebuilding_
  std::size_t searched_ = 0;       // in rebuilding_: names that the archive is searched for
  // Names of runs to recover; clients wait for those in `wanted_`. Some may be read already.
  std::deque<std::string> expected_, wanted_;
  std::uint64_t searches_begun_ = 0, searches_done_ = 0;  // they end in the order in which they began
  // Removed runs that must not be found: the archive may still have rows of them, or a search may have seen such rows.
  // A run leaves these sets after `erased`, once all searches are done that had begun by then.
  struct erased_run {
    std::uint64_t number, searches_begun;
  };
  boost::unordered_flat_set<std::uint64_t> removed_;
  std::deque<erased_run> erased_;
};

}  // namespace digd::daemon
