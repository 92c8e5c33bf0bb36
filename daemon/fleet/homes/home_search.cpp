#include "daemon/fleet/homes/home_search.h"

#include <algorithm>
#include <utility>

namespace digd::daemon {

namespace {

using std::chrono::milliseconds;

constexpr int looks_a_lease = 6;
constexpr milliseconds min_look{20}, max_look{1'000};
constexpr milliseconds length_of_unknown{10'000};  // of a lease that the bucket does not have

}  // namespace

home_search::step home_search::unavailable(std::string problem) {
  return {.is = step::kind::done, .request = {}, .decision = {.home = {}, .url = {}, .problem = std::move(problem)}};
}

home_search::step home_search::request(bucket_request wanted) {
  return {.is = step::kind::request, .request = std::move(wanted), .decision = {}};
}

home_search::step home_search::done(home_decision::kind is, run_record home) const {
  return {
      .is = step::kind::done, .request = {}, .decision = {.is = is, .home = std::move(home), .url = {}, .problem = {}}};
}

home_search::step home_search::elsewhere(const std::string& url) const {
  if (url.empty()) return unavailable("the run's home, " + run_.host + ", is not known to the fleet");
  step found = done(home_decision::kind::elsewhere, run_);
  found.decision.url = url;
  return found;
}

home_search::step home_search::read_run(home_time now) {
  if (attempts_++ >= max_attempts) return unavailable("other daemons take the run at the same time");
  phase_ = phase::reading_run;
  sent_at_ = now;
  return request({.key = run_key(self_.tenant, asked_.run), .value = {}});
}

home_search::step home_search::read_host(home_time now) {
  phase_ = phase::reading_host;
  sent_at_ = now;
  return request({.key = host_key(self_.tenant, run_.host), .value = {}});
}

home_search::step home_search::on_reply(const bucket_reply& reply, home_time now) {
  if (reply.is == bucket_reply::result::failed) return unavailable(reply.problem);
  switch (phase_) {
    case phase::reading_run: return on_run(reply, now);
    case phase::reading_host: return on_host(reply, now);
    case phase::proving_host: return on_proven(reply, now);
    case phase::ending_host: return on_ended(reply, now);
    case phase::writing_run: break;
  }
  return on_written(reply, now);
}

home_search::step home_search::on_run(const bucket_reply& reply, home_time now) {
  run_revision_ = reply.revision;
  if (reply.is == bucket_reply::result::missing) {
    if (!self_.may_take) return unavailable("this daemon drains, and takes no runs");
    const std::uint64_t number = asked_.number != 0 ? asked_.number : asked_.new_number;
    return write_run({.run = asked_.run,
                      .host = self_.host,
                      .incarnation = self_.incarnation,
                      .archive = self_.archive,
                      .number = number,
                      .origin_archive = self_.archive,
                      .origin_number = number,
                      .start = asked_.number != 0 ? 0 : asked_.start,
                      .pinned = self_.pins},
                     reply.revision, asked_.number != 0 ? home_decision::kind::kept : home_decision::kind::opened);
  }
  const auto found = run_record_of(reply.value);
  if (!found || found->run != asked_.run) return unavailable("the key of the run is not readable");
  run_ = *found;
  if (run_.archive != self_.archive) return read_host(now);
  // The archive's lock shows that no other process judges this archive's copies. An earlier lease of the archive has
  // ended.
  if (!is_own_copy(run_)) return take();
  if (run_.incarnation == self_.incarnation && run_.host == self_.host) {
    return done(home_decision::kind::kept, run_);
  }
  run_record next = run_;
  next.host = self_.host;
  next.incarnation = self_.incarnation;
  next.pinned = self_.pins;
  return write_run(std::move(next), run_revision_, home_decision::kind::kept);
}

home_search::step home_search::on_host(const bucket_reply& reply, home_time now) {
  const std::string key = host_key(self_.tenant, run_.host);
  const bool is_missing = reply.is == bucket_reply::result::missing;
  host_record host;
  host.incarnation = run_.incarnation;
  host.length = length_of_unknown;
  if (!is_missing) {
    const auto found = host_record_of(reply.value);
    if (!found) return unavailable("the lease of the run's home is not readable");
    host = *found;
  }
  const std::uint64_t revision = reply.revision;  // of a missing key: 0, or that of its removal
  const bool is_same = host.incarnation == run_.incarnation;
  const bool is_drained = is_same && host.is == host_record::state::drained;
  if (run_.pinned && !is_drained) return elsewhere(host.url);
  if (is_same && host.is != host_record::state::live) return take();
  if (!is_same) return hosts_.has_ended(run_.incarnation) ? take() : prove_host(reply);
  const host_watch::renewal last{host.process, is_missing ? revision : host.renewals};
  return while_live(host, revision, hosts_.see(key, last, host.length, sent_at_, now), now);
}

home_search::step home_search::while_live(const host_record& host, std::uint64_t revision, host_watch::state seen,
                                          home_time now) {
  if (seen == host_watch::state::lapsed && self_.may_take) return end_host(host, revision);
  const bool can_wait = seen != host_watch::state::renewed && self_.may_take;
  if (!can_wait || (!asked_.was_elsewhere && !host.url.empty())) return elsewhere(host.url);
  const milliseconds look = std::clamp(host.length / looks_a_lease, min_look, max_look);
  return {.is = step::kind::wait, .request = {}, .wait_until = now + look, .decision = {}};
}

// The record that was read names another lease than the run's. The write fails if the read was stale.
home_search::step home_search::prove_host(const bucket_reply& read) {
  if (!self_.may_take) return take();
  phase_ = phase::proving_host;
  return request({.is = bucket_request::kind::write,
                  .key = host_key(self_.tenant, run_.host),
                  .value = read.value,
                  .expected = read.revision});
}

home_search::step home_search::on_proven(const bucket_reply& reply, home_time now) {
  if (reply.is != bucket_reply::result::ok) return read_run(now);
  hosts_.note_ended(run_.incarnation);
  return take();
}

home_search::step home_search::end_host(host_record host, std::uint64_t revision) {
  phase_ = phase::ending_host;
  host.is = host_record::state::lapsed;
  return request({.is = bucket_request::kind::write,
                  .key = host_key(self_.tenant, run_.host),
                  .value = encode(host),
                  .expected = revision});
}

home_search::step home_search::on_ended(const bucket_reply& reply, home_time now) {
  if (reply.is == bucket_reply::result::ok) return take();
  return read_run(now);  // it was renewed, or another daemon ended it
}

home_search::step home_search::take() {
  if (!self_.may_take) return unavailable("this daemon drains, and takes no runs");
  run_record next = run_;
  next.host = self_.host;
  next.incarnation = self_.incarnation;
  next.archive = self_.archive;
  next.number = asked_.new_number;
  next.epoch = run_.epoch + 1;
  next.pinned = self_.pins;
  return write_run(std::move(next), run_revision_, home_decision::kind::taken);
}

home_search::step home_search::write_run(run_record next, std::uint64_t expected, home_decision::kind then) {
  phase_ = phase::writing_run;
  written_ = std::move(next);
  then_ = then;
  return request({.is = bucket_request::kind::write,
                  .key = run_key(self_.tenant, asked_.run),
                  .value = encode(written_),
                  .expected = expected});
}

home_search::step home_search::on_written(const bucket_reply& reply, home_time now) {
  if (reply.is != bucket_reply::result::ok) return read_run(now);
  return done(then_, written_);
}

}  // namespace digd::daemon
