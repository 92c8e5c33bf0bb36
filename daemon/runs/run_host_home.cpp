// A run's home in a fleet (run_host.h).
#include <algorithm>
#include <utility>

#include "daemon/fleet/home_keeper.h"
#include "daemon/runs/engine_loop.h"
#include "daemon/runs/run_host.h"

namespace digd::daemon {

void run_host::set_home(std::uint64_t generation, bool pinned) {
  home_generation_ = generation;
  is_pinned_ = pinned;
}

bool run_host::holds_home() const {
  if (homes_ == nullptr || is_pinned_) return true;
  return homes_->may_judge(home_generation_);
}

void run_host::check_home() {
  const bool is_off = inbox_.run().unjudged() == limit_id::fleet_lease;
  const bool is_here = holds_home();
  if (is_here && !is_off) return acknowledge_streamed();
  if (is_here) {
    if (inbox_.run().can_resume()) carry_out(inbox_.resume_judging(now()));
    acknowledge_streamed();
  } else if (!is_off && !inbox_.sessions().empty()) {
    carry_out(inbox_.hit(limit_id::fleet_lease, limit_policy::observe, now()));
  } else {
    return;
  }
  after_call();
}

void run_host::streamed(std::string_view session, std::uint64_t seq) {
  const auto found = by_name_.find(std::string(session));
  if (found == by_name_.end()) return;
  slots_[found->second].streamed_seq = std::max(slots_[found->second].streamed_seq, seq);
  has_streamed_ = true;
  if (!holds_home()) return;
  acknowledge_streamed();
  after_call();
  holder_.retire_if_idle(*this);
}

void run_host::acknowledge_streamed() {
  if (!std::exchange(has_streamed_, false)) return;
  for (ingest::session_index s = 0; s < slots_.size(); ++s) {
    const ingest::session& session = inbox_.sessions()[s];
    const std::uint64_t seq = std::min(slots_[s].streamed_seq, session.taken_seq);
    if (seq <= session.durable_seq) continue;
    inbox_.durable(s, seq);
    acknowledge(s);
    touch(s);
  }
}

void run_host::close_moved(const std::string& to) {
  close([to](run_client& client) { client.on_moved(to); });
}

}  // namespace digd::daemon
