#include "daemon/fleet/homes/host_lease.h"

#include <utility>

namespace digd::daemon {

namespace {

constexpr int renewals_a_lease = 3, retries_a_lease = 12, margin_share = 10;

}  // namespace

host_lease::host_lease(identity self, std::chrono::milliseconds length, std::string incarnation,
                       std::function<std::string()> random_name)
    : self_(std::move(self)),
      length_(length),
      random_name_(std::move(random_name)),
      process_(random_name_()),
      incarnation_(incarnation.empty() ? random_name_() : std::move(incarnation)) {}

std::optional<bucket_request> host_lease::next(home_time now) {
  if (drained_ || now < next_at_) return std::nullopt;
  switch (phase_) {
    case phase::reading:
      phase_ = phase::read_sent;
      sent_at_ = now;
      return bucket_request{.key = host_key(self_.tenant, self_.host), .value = {}};
    case phase::writing: return make_write(now);
    case phase::read_sent:
    case phase::write_sent: break;
  }
  return std::nullopt;
}

bucket_request host_lease::make_write(home_time now) {
  phase_ = phase::write_sent;
  sent_at_ = now;
  drain_sent_ = draining_;
  const host_record mine{.incarnation = incarnation_,
                         .process = process_,
                         .archive = self_.archive,
                         .url = self_.url,
                         .length = length_,
                         .is = draining_ ? host_record::state::drained : host_record::state::live,
                         .renewals = ++renewals_};
  return {.is = bucket_request::kind::write,
          .key = host_key(self_.tenant, self_.host),
          .value = encode(mine),
          .expected = revision_};
}

void host_lease::drain() {
  draining_ = true;
  judge_until_ = home_time{0};
  next_at_ = home_time{0};
}

void host_lease::on_reply(const bucket_reply& reply, home_time now) {
  if (reply.is == bucket_reply::result::failed) {
    // A write may have been carried out: only a read can tell.
    phase_ = phase::reading;
    problem_ = reply.problem;
    next_at_ = now + part(retries_a_lease);
    return;
  }
  if (phase_ == phase::read_sent) return take_read(reply, now);
  if (reply.is != bucket_reply::result::ok) {
    phase_ = phase::reading;
    next_at_ = now;
    return;
  }
  revision_ = reply.revision;
  phase_ = phase::writing;
  problem_.clear();
  if (draining_) {
    drained_ = drain_sent_;  // false: the reply is to a renewal that was sent before the drain
    next_at_ = now;
    return;
  }
  if (!std::exchange(is_known_, true)) ++generation_;
  judge_until_ = sent_at_ + home_time(length_) - part(margin_share);
  next_at_ = sent_at_ + part(renewals_a_lease);
}

void host_lease::take_read(const bucket_reply& reply, home_time now) {
  phase_ = phase::writing;
  next_at_ = now;
  revision_ = reply.revision;
  if (reply.is == bucket_reply::result::missing) {
    // Removing the key ends the lease.
    if (is_known_) begin_incarnation();
    return;
  }
  const auto found = host_record_of(reply.value);
  if (!found) return wait_for("the key of this host has no lease that this digd can read", now);
  take_record(*found, now);
}

void host_lease::take_record(const host_record& found, home_time now) {
  const bool is_live = found.is == host_record::state::live;
  if (is_live && found.process == process_) return;  // the write whose reply was lost
  // An earlier process of this archive is dead, as the archive's lock shows. Its lease continues, with all its homes.
  if (is_live && !is_known_ && found.archive == self_.archive && found.incarnation == incarnation_) return;
  if (draining_) {  // the lease ended before the drain was written
    drained_ = true;
    return;
  }
  const bool is_free = !is_live || (!is_known_ && found.archive == self_.archive);
  const host_watch::renewal last{found.process, found.renewals};
  if (is_free ||
      others_.see(host_key(self_.tenant, self_.host), last, found.length, sent_at_, now) == host_watch::state::lapsed) {
    return begin_incarnation();
  }
  if (is_known_) begin_incarnation();
  wait_for("another daemon has the name of this host", now);
}

// The earlier lease has ended permanently.
void host_lease::begin_incarnation() {
  judge_until_ = home_time{0};
  is_known_ = false;
  incarnation_ = random_name_();
}

void host_lease::wait_for(const std::string& problem, home_time now) {
  problem_ = problem;
  phase_ = phase::reading;
  next_at_ = now + part(renewals_a_lease);
}

}  // namespace digd::daemon
