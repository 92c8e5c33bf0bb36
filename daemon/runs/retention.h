// Retention: deletes the runs that the configuration no longer keeps, oldest first, one after another.
//
//   retention.days       runs that ended longer ago
//   retention.idle_days  runs that have not ended, and received nothing for longer
//   retention.bytes      while the archive file is larger: the run that ended first
//
// A run with a client is never deleted. A thread of its own chooses the run, by indexes of the archive; the run's
// engine thread forgets it; the archive's writer removes its rows in small steps between batches (archive/store.h), so
// that neither verdicts nor acks wait. Then it chooses the next run. Threads: `start`, `stop`, `check_soon`, `counted`
// any. Lifetime: stopped before the archive closes. Bounds: one run at a time, and `max_candidates` of each kind at a
// time. Runs in use are skipped until the next round. Ended ones in use are at most as many as there are connections.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "archive/browser.h"
#include "daemon/settings/live_settings.h"
#include "model/message.h"

namespace digd::daemon {

class engine_threads;
class run_eraser;

class retention {
 public:
  enum class reason : std::uint8_t { age, idle, size };
  static constexpr std::size_t reason_count = 3;
  static constexpr std::uint64_t max_candidates = 32;
  static constexpr std::chrono::seconds check_interval{1};  // so that it keeps up with what arrives

  struct counters {
    std::array<std::atomic<std::uint64_t>, reason_count> runs{}, bytes{};
    std::atomic<std::uint64_t> over_bytes{0};  // above `retention.bytes` with nothing left to delete
  };

  retention(const live_settings& settings, std::string archive_path, const engine_threads& threads, run_eraser& eraser)
      : settings_(settings), archive_path_(std::move(archive_path)), threads_(threads), eraser_(eraser) {}
  ~retention() { stop(); }

  void start();
  void stop();
  void check_soon();  // the settings changed
  const counters& counted() const { return counted_; }

 private:
  struct attempt;

  void work();
  // Deletes the next run. False: there is none, or all are in use. True even if the daemon stops meanwhile.
  bool delete_one(const retention_settings& settings);
  // `ended_before`: Unix milliseconds; none: of any age.
  bool delete_oldest_ended(reason cause, std::optional<milliseconds> ended_before = {});
  bool delete_first_unused(const std::vector<archive::run_row>& candidates, reason cause,
                           std::optional<milliseconds> quiet_since = {});
  bool delete_run(const archive::run_row& run, reason cause, std::optional<milliseconds> quiet_since);
  bool delete_for_size(std::uint64_t limit);
  bool open_archive();
  void pause();

  const live_settings& settings_;
  const std::string archive_path_;
  const engine_threads& threads_;
  run_eraser& eraser_;
  std::unique_ptr<archive::browser> reads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false, has_work_ = false;
  bool logged_unreadable_ = false;
  counters counted_;
  std::thread thread_;
};

std::string_view to_string(retention::reason reason);

}  // namespace digd::daemon
