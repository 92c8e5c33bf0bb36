#include "daemon/runs/pending_writes.h"

#include <utility>
#include <vector>

namespace digd::daemon {

void pending_writes::expect(std::uint64_t key, std::function<void()> on_durable) {
  const std::lock_guard guard(mutex_);
  waiting_.emplace(key, std::move(on_durable));
}

void pending_writes::complete(std::uint64_t key) {
  std::vector<std::function<void()>> callbacks;
  {
    const std::lock_guard guard(mutex_);
    const auto [from, to] = waiting_.equal_range(key);
    for (auto at = from; at != to; ++at) callbacks.push_back(std::move(at->second));
    waiting_.erase(from, to);
  }
  for (const auto& callback : callbacks) callback();
}

void pending_writes::abandon() {
  std::unordered_multimap<std::uint64_t, std::function<void()>> abandoned;  // destroyed after the mutex is free
  const std::lock_guard guard(mutex_);
  abandoned.swap(waiting_);
}

}  // namespace digd::daemon
