// The limits of a run: when digd refuses its messages, stops to judge it, or forgets (run_host.h).
#include <spdlog/spdlog.h>
#include <utility>

#include "base/quote.h"
#include "daemon/runs/engine_loop.h"
#include "daemon/runs/run_host.h"

namespace digd::daemon {

// Log once when judging stops. A run that forgets what is pending is logged each time, within the log's rate limit.
void run_host::note_degradation(const ingest::record& record) {
  std::uint64_t suppressed = 0;
  if (record.resumes) {
    owner_.counts().judging_resumed.add();
    return spdlog::warn("judging_resumed run={} number={}", digd::quoted(inbox_.name()), number_);
  }
  const bool is_final = inbox_.run().unjudged().has_value();
  if (!is_final && !owner_.may_log(suppressed)) return;
  if (*record.limit == limit_id::judging_work) {
    spdlog::warn("judging_work_exceeded run={} number={} suppressed={}", digd::quoted(inbox_.name()), number_,
                 suppressed);
    return;
  }
  spdlog::warn("{} run={} number={} limit={} suppressed={}", is_final ? "judging_stopped" : "pending_forgotten",
               digd::quoted(inbox_.name()), number_, to_string(*record.limit), suppressed);
}

// Whether the token that opened the run is over its max_bytes. Called for each message, so it takes the mutex of
// `is_full` only after a change.
bool run_host::is_opener_full() {
  const overload_state& overload = owner_.services().conditions.overload;
  const std::uint64_t changes = overload.full_changes();
  if (std::exchange(seen_full_changes_, changes) != changes) is_opener_full_ = overload.is_full(opener_);
  return is_opener_full_;
}

// The limit for which the run refuses all messages now, if any.
std::optional<limit_id> run_host::refusing_limit() {
  if (owner_.services().conditions.overload.is_on_for(overload_action::refuse, opener_)) return limit_id::overload;
  if (is_opener_full()) return limit_id::bytes_of_token;
  const bool is_over = granted_->run_bytes > 0 && bytes_ > granted_->run_bytes;
  if (is_over && granted_->over_run_bytes == limit_policy::refuse) return limit_id::run_bytes;
  return std::nullopt;
}

void run_host::update_refusals() {
  const std::optional<limit_id> limit = refusing_limit();
  if (limit == last_refusing_limit_) return;
  last_refusing_limit_ = limit;
  if (!limit) return inbox_.refuse_messages(std::nullopt);
  std::string text =
      "the run has more than " + std::to_string(granted_->run_bytes) + " bytes in the archive (run_bytes)";
  if (*limit == limit_id::overload) text = "the daemon is short of memory or disk; deliver as it is";
  if (*limit == limit_id::bytes_of_token) {
    text = "the runs of the token that opened this run have more bytes in the archive than its max_bytes";
  }
  refusal_note note;
  note.consider(refusal::over_limit, "", std::move(text), *limit);
  inbox_.refuse_messages(std::move(note));
}

void run_host::limit_run_bytes() {
  if (granted_->run_bytes == 0 || bytes_ <= granted_->run_bytes || ended()) return;
  if (granted_->over_run_bytes != limit_policy::observe || payloads_->keeps() == payload_keeping::none) return;
  payloads_ = std::make_shared<const payload_policy>(payload_settings{.keep = payload_keeping::none});
  carry_out(inbox_.hit(limit_id::run_bytes, limit_policy::observe, now()));
}

// Counts what the graph ignored or forgot because of its own limits. These limits refuse no message.
void run_host::count_graph_limits() {
  const graph::graph_counters& g = inbox_.run().graph().counters();
  auto& limits = owner_.counts().limits;
  const auto add = [&](limit_id which, std::uint64_t is, std::uint64_t was) {
    if (is > was) limits[which].add(is - was);
  };
  add(limit_id::generators, g.generator_overflows, counted_graph_limits_.generator_overflows);
  add(limit_id::settled_events, g.forgotten_events, counted_graph_limits_.forgotten_events);
  counted_graph_limits_ = g;
}

bool run_host::can_degrade() const {
  return inbox_.run().can_degrade(limit_id::overload, limit_policy::observe) && !inbox_.sessions().empty();
}

std::size_t run_host::graph_size() const {
  const graph::graph& g = inbox_.run().graph();
  return g.remembered_events() + g.open_count() + g.agent_count();
}

std::size_t run_host::memory_bytes() const {
  constexpr std::size_t bytes_of_a_node = 256;  // with its names and its lists
  std::size_t bytes = graph_size() * bytes_of_a_node;
  for (const ingest::session& s : inbox_.sessions()) bytes += s.unacked.bytes() + s.held_bytes;
  return bytes;
}

void run_host::degrade() {
  carry_out(inbox_.hit(limit_id::overload, limit_policy::observe, now()));
  after_call();
}

bool run_host::can_resume() const { return inbox_.run().unjudged() == limit_id::overload && inbox_.run().can_resume(); }

void run_host::resume_judging() {
  carry_out(inbox_.resume_judging(now()));
  after_call();
}

}  // namespace digd::daemon
