// Keeps the alerts of a webhook for people few: joins equal alerts, and spreads posts over time.
//
// Thread: the webhooks'. Bounds: `max_groups` groups; beyond that, alerts of further groups are not joined. It keeps
// the times of at most `rate` posts. Failure: none. Nothing survives a restart.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>
#include <utility>

namespace digd::daemon {

class alert_limits {
 public:
  using clock = std::chrono::steady_clock;
  static constexpr std::size_t max_groups = 1'000;
  static constexpr std::chrono::minutes span{1};

  // Whether an alert of this group, archived at `at_ms`, joins the group's period: the period must begin less than
  // `group_ms` before or after the alert. It may begin after, because engine threads archive out of order and the wall
  // clock may be set back. If the alert does not join, it begins a new period, and `joined` gets the number of alerts
  // that the last period joined.
  bool joins(const std::string& group, std::int64_t at_ms, std::int64_t group_ms, std::uint64_t& joined) {
    joined = 0;
    if (group_ms == 0) return false;
    const auto found = groups_.find(group);
    const auto is_near = [&](const period& each) { return std::abs(at_ms - each.since_ms) < group_ms; };
    if (found != groups_.end() && is_near(found->second)) {
      ++found->second.joined;
      return true;
    }
    if (found != groups_.end()) {
      joined = std::exchange(found->second, period{at_ms, 0}).joined;
      return false;
    }
    if (groups_.size() >= max_groups) {
      erase_if(groups_, [&](const auto& each) { return !is_near(each.second); });
    }
    if (groups_.size() < max_groups) groups_.emplace(group, period{at_ms, 0});
    return false;
  }

  // When the next post may begin, so that no minute has more than `rate`; 0: no limit.
  clock::time_point next_post(clock::time_point now, std::int64_t rate) {
    while (!posts_.empty() && posts_.front() + span <= now) posts_.pop_front();
    if (rate == 0 || std::cmp_less(posts_.size(), rate)) return now;
    return posts_[posts_.size() - static_cast<std::size_t>(rate)] + span;
  }
  void count_post(clock::time_point now, std::int64_t rate) {
    if (rate != 0) posts_.push_back(now);
  }

 private:
  struct period {
    std::int64_t since_ms = 0;  // Unix
    std::uint64_t joined = 0;
  };
  boost::unordered_flat_map<std::string, period> groups_;
  std::deque<clock::time_point> posts_;
};

}  // namespace digd::daemon
