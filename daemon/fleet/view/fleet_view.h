// A viewer's access to a fleet (docs/fleet.md). Python's digd.fleet, in a process of its own, reads the Parquet files
// and the stream, and answers questions about all runs. When somebody opens a run, its rows go into a temporary
// archive, and later rows follow. The daemon's other parts read that archive like any other.
//
// Threads: `ask`, `open`, `problem` and `counted` any; callbacks come on any. A thread of its own starts the process,
// reads its output and writes the archive. Lifetime: stopped before the readers of the archive. Bounds:
// `max_questions` wait; `max_runs` are in the archive, and the run with the oldest last use leaves it for another;
// `time_limits` for the process. Failure: each callback is called once, if need be with 503. A process that ended or
// hangs is started again after a growing pause, and its runs leave the archive.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "archive/file_lock.h"
#include "archive/row_import.h"
#include "daemon/fleet/fleet_settings.h"
#include "daemon/http/responses.h"

namespace digd::daemon {

struct fleet_view_counts {
  std::atomic<std::uint64_t> questions{0};  // answered
  std::atomic<std::uint64_t> refused{0};    // because too many waited, or the process was away
  std::atomic<std::uint64_t> restarts{0};   // of the process
  std::atomic<std::uint64_t> rows{0};       // written into the archive
  std::atomic<std::uint64_t> runs{0};       // in the archive
  std::atomic<std::uint64_t> evicted{0};    // runs that left it, because others were asked for
};

class fleet_view {
 public:
  static constexpr std::size_t max_questions = 128, max_question_bytes = 4'096, max_runs = 32;
  static constexpr std::chrono::milliseconds check_every{250};
  static constexpr std::size_t max_line_bytes = std::size_t{1} << 30;
  static constexpr std::chrono::milliseconds first_pause{500}, max_pause{30'000};

  struct time_limits {
    std::chrono::milliseconds max_answer{60'000};
    std::chrono::milliseconds max_reading{600'000};  // while rows arrive, as those of a large run
    std::chrono::milliseconds max_end{2'000};        // after `stop`, until the process gets SIGTERM
  };

  using parameters = std::vector<std::pair<std::string, std::string>>;
  using answered = std::function<void(http_response&&)>;
  // Gets nullopt once the archive has the run; otherwise the response for the client.
  using opened = std::function<void(std::optional<http_response>)>;
  // Called on the thread of this object.
  struct listeners {
    std::function<void()> changed;                          // the archive has new rows
    std::function<void(std::uint64_t run_number)> removed;  // the run has left the archive
  };

  fleet_view(const fleet_settings& settings, std::string folder);
  fleet_view(const fleet_settings& settings, std::string folder, const time_limits& limits);
  ~fleet_view() { stop(); }

  const std::string& archive_path() const { return archive_path_; }
  // Creates an empty archive. Returns a problem in words, or nothing.
  std::string prepare();
  void start(listeners to);
  void stop();

  void ask(std::string_view question, const parameters& given, answered then);
  void open(const std::string& run, opened then);
  std::string problem() const;  // why it cannot answer, for people
  const fleet_view_counts& counted() const { return counts_; }

 private:
  struct waiting_question {
    answered then;
    std::chrono::steady_clock::time_point since;
  };
  // A run that has left `runs_`. It leaves the archive once the process sends no more rows of it.
  struct closing_run {
    std::string name;
    std::int64_t number = 0;
    bool is_asked = false;
  };
  struct viewed_run {
    std::int64_t number = 0;  // 0: it is being read
    std::uint64_t last_use = 0;
    std::vector<opened> waiting;
  };

  void work();
  std::string converse();
  bool begin_questions(int to);
  void end_questions(const std::string& problem);
  std::string read_answers(int from);
  std::string find_hang();
  std::string take_line(std::string_view line);
  void take_answer(std::string_view line);
  void complete_opening(const std::string& run, http_response&& answer);
  void take_surplus();
  void close_surplus();
  void complete_closing(std::int64_t number, bool is_closed);
  void forget_run(std::int64_t number);
  std::string remove_evicted();
  std::string remove(std::int64_t run_number);
  std::string forget_all(const std::string& problem);
  void fail_all(const std::string& problem);
  bool send(std::string_view line);
  std::vector<std::string> command() const;
  std::string urls() const;

  const fleet_settings settings_;
  const std::string folder_, archive_path_;
  const time_limits limits_;
  archive::file_lock lock_;
  archive::row_import import_;  // on the thread
  listeners listeners_;
  fleet_view_counts counts_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  bool reads_nothing_ = false;  // the process does not read: a question did not fit into its input
  std::chrono::steady_clock::time_point stopped_at_, last_row_;
  int to_ = -1;  // the process reads from it; -1: there is none
  std::uint64_t last_question_ = 0, last_use_ = 0;
  std::map<std::uint64_t, waiting_question> questions_;
  std::map<std::string, viewed_run> runs_;
  std::vector<closing_run> closing_;
  std::vector<std::int64_t> evicted_;  // to be removed from the archive
  std::string problem_ = "the fleet is being read";
  std::thread thread_;
};

}  // namespace digd::daemon
