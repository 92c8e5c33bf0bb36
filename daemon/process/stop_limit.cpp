#include "daemon/process/stop_limit.h"

#include <unistd.h>

#include <spdlog/spdlog.h>

namespace digd::daemon {

namespace {

constexpr std::chrono::milliseconds log_time{200};  // for the log's own thread to write the last line

}  // namespace

stop_limit::stop_limit(std::chrono::milliseconds max_time, int status)
    : thread_([this, max_time, status] {
        std::unique_lock hold(mutex_);
        if (wake_.wait_for(hold, max_time, [this] { return has_stopped_; })) return;
        spdlog::critical(
            "stop_gave_up after_ms={}: something hangs; entries that are not archived were not acknowledged",
            max_time.count());
        static_cast<void>(wake_.wait_for(hold, log_time, [this] { return has_stopped_; }));
        ::_exit(status);
      }) {}

stop_limit::~stop_limit() {
  {
    const std::lock_guard hold(mutex_);
    has_stopped_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

}  // namespace digd::daemon
