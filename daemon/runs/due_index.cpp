#include "daemon/runs/due_index.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

namespace digd::daemon {

namespace {
// The wall clock may be set forward, or the machine may sleep, while the timer runs.
constexpr milliseconds max_timer_ms = 1'000;
}  // namespace

void due_index::watch(due_run& run, std::optional<milliseconds> at) {
  if (run.due_ == at) return;
  if (run.due_) items_.erase({*run.due_, &run});
  if (at) items_.insert({*at, &run});
  run.due_ = at;
  if (!items_.empty() && (!armed_for_ || items_.begin()->first < *armed_for_)) arm();
}

void due_index::arm() {
  if (stopped_) return;
  armed_for_ = items_.begin()->first;
  timer_.expires_after(
      std::chrono::milliseconds(std::clamp<milliseconds>(*armed_for_ - clock_.now(), 0, max_timer_ms)));
  timer_.async_wait([this](boost::system::error_code ec) {
    if (!ec) ring();
  });
}

void due_index::ring() {
  armed_for_.reset();
  const milliseconds now = clock_.now();
  std::vector<std::shared_ptr<due_run>> due;
  for (const auto& [at, run] : items_) {
    if (at > now) break;
    due.push_back(run->shared_from_this());
  }
  for (const auto& run : due) run->advance_time();
  if (!items_.empty() && !armed_for_) arm();
}

void due_index::stop() {
  stopped_ = true;
  timer_.cancel();
}

}  // namespace digd::daemon
