// The settings in effect now, for runs and connections that begin. Those that began before keep the settings they took.
// Any thread. Read once a run or connection, so the mutex is not contended.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "daemon/access/payload_policy.h"
#include "daemon/settings/config.h"

namespace digd::daemon {

class live_settings {
 public:
  explicit live_settings(const config& c)
      : now_(std::make_shared<const config>(c)), payloads_(std::make_shared<const payload_policy>(c.payloads)) {}

  std::shared_ptr<const config> now() const {
    const std::lock_guard hold(guard_);
    return now_;
  }
  std::shared_ptr<const payload_policy> payloads() const {
    const std::lock_guard hold(guard_);
    return payloads_;
  }
  void change(const config& c) {
    auto next = std::make_shared<const config>(c);
    auto payloads = std::make_shared<const payload_policy>(c.payloads);
    const std::lock_guard hold(guard_);
    now_ = std::move(next);
    payloads_ = std::move(payloads);
  }

 private:
  mutable std::mutex guard_;
  std::shared_ptr<const config> now_;
  std::shared_ptr<const payload_policy> payloads_;
};

}  // namespace digd::daemon
