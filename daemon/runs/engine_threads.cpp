#include "daemon/runs/engine_threads.h"

#include <functional>

namespace digd::daemon {

void engine_threads::make(std::size_t count, const run_services& services) {
  for (std::size_t i = 0; i < count; ++i) threads_.push_back(std::make_unique<engine_thread>(i, services));
}

engine_thread& engine_threads::owner_of(std::string_view run) const {
  return *threads_[std::hash<std::string_view>{}(run) % threads_.size()];
}

void engine_threads::run_down() {
  for (bool any = true; any;) {
    any = false;
    for (const auto& thread : threads_) {
      thread->context().restart();
      any = thread->context().poll() > 0 || any;
    }
  }
}

}  // namespace digd::daemon
