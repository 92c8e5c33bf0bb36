// When the runs of an engine thread next need `advance_time`: an ordered index with one timer.
//
// Thread: its engine thread. A run is in it at most once; a message costs at most one removal and one insertion.
// Lifetime: the event loop and the clock outlive it. While the loop runs, the caller removes a run (`watch` with
// nullopt) before destroying it. Failure: none.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "daemon/runs/forward_clock.h"
#include "model/message.h"
#include "net/types.h"

namespace digd::daemon {

// A run, as the index knows it. `due_index` holds it while it calls it.
class due_run : public std::enable_shared_from_this<due_run> {
 public:
  virtual void advance_time() = 0;

 protected:
  ~due_run() = default;

 private:
  friend class due_index;
  std::optional<milliseconds> due_;  // when it next needs `advance_time`
};

class due_index {
 public:
  due_index(boost::asio::io_context& on, forward_clock& clock) : clock_(clock), timer_(on.get_executor()) {}

  // `at`: on the thread's clock.
  void watch(due_run& run, std::optional<milliseconds> at);
  void stop();

 private:
  void arm();
  void ring();

  std::set<std::pair<milliseconds, due_run*>> items_;
  std::optional<milliseconds> armed_for_;
  bool stopped_ = false;
  forward_clock& clock_;
  net::steady_timer timer_;
};

}  // namespace digd::daemon
