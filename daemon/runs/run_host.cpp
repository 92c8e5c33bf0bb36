#include "daemon/runs/run_host.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/json_writer.h"
#include "base/quote.h"
#include "base/unix_time.h"
#include "daemon/runs/engine_loop.h"
#include "daemon/runs/entries.h"
#include "ingest/protocol/encode.h"

namespace digd::daemon {

namespace {

// The client is notified each time the run has handled this many bytes. It stops reading at 4 MiB of unhandled bytes.
constexpr std::uint64_t max_unreported_bytes = 512u << 10;

ingest::inbox::options live_options(const config& settings, bool is_archived) {
  return {.hold = true, .keep_replies = true, .keep_durable_replies = !is_archived, .window = settings.credits};
}

bool is_from_client(archive::entry_kind kind) {
  return kind == archive::entry_kind::message || kind == archive::entry_kind::refused;
}

}  // namespace

std::string too_many_agents(std::uint64_t limit) {
  return "the run would have more than " + std::to_string(limit) + " agents (limits.agents)";
}

run_host::run_host(engine_loop& owner, run_holder& holder, const hello& first, const run_settings& settings,
                   std::uint64_t number, canary_group group)
    : owner_(owner),
      holder_(holder),
      homes_(owner.services().homes.get()),
      number_(number),
      group_(group),
      granted_(owner.services().conditions.settings.now()),
      payloads_(owner.services().conditions.settings.payloads()),
      inbox_(first, settings, live_options(*granted_, owner.services().storage.archive != nullptr)) {
  inbox_.hold_unseen(false);
}

void run_host::go_live(const stored& existing, const hello* first) {
  entries_ = existing.entries;
  bytes_ = existing.bytes;
  counted_graph_limits_ = inbox_.run().graph().counters();
  inbox_.hold_unseen(true);
  slots_.resize(inbox_.sessions().size());
  for (ingest::session_index s = 0; s < inbox_.sessions().size(); ++s) by_name_[inbox_.sessions()[s].name] = s;
  if (first != nullptr && owner_.records().is_on()) {
    archive::entry_ptr opening = opening_entry(*first, inbox_.run().settings(), group_);
    opening->token = opener_;
    push(std::move(opening));
  }
}

void run_host::start_clock() {
  if (inbox_.run().settings().clock == clock_kind::wall) {
    ahead_ms_ = std::max<milliseconds>(0, inbox_.run().clock() - owner_.clock().now());
  }
}

milliseconds run_host::now() { return owner_.clock().now() + ahead_ms_; }

// ---- the path of a frame: to the inbox, and its effects

void run_host::receive(session_slot from, std::string_view frame, std::chrono::steady_clock::time_point read_at) {
  if (!is_occupied(from)) return;
  if (homes_ != nullptr) check_home();
  // Latency is not recorded for frames held for another session.
  const std::size_t held = inbox_.sessions()[from.session].held.size();
  if (held == 0) read_at_ = frame_read{from.session, read_at};
  ++slots_[from.session].handled;
  slots_[from.session].unreported_bytes += frame.size();
  touch(from.session);
  update_refusals();
  carry_out(inbox_.receive(from.session, with_cost(frame), now()));
  read_at_.reset();
  if (inbox_.sessions()[from.session].held.size() > held) owner_.counts().held_messages.add();
  charge_held(from.session);
  after_call();
}

// The message with the cost of its tokens, in `priced_`; or as it is, if it has a cost or nothing has a price.
std::string_view run_host::with_cost(std::string_view frame) {
  const std::size_t max_bytes = inbox_.run().settings().limits.message_bytes;
  if (granted_->prices.empty() || frame.size() + ingest::max_added_bytes > max_bytes) return frame;
  return ingest::add_cost(frame, granted_->prices, priced_) ? std::string_view(priced_) : frame;
}

void run_host::receive_too_large(session_slot from, std::size_t bytes) {
  if (!is_occupied(from)) return;
  if (homes_ != nullptr) check_home();
  ++slots_[from.session].handled;
  touch(from.session);
  carry_out(inbox_.receive_too_large(from.session, bytes, now()));
  after_call();
}

void run_host::end_abandoned() {
  if (ended() || has_connections() || inbox_.sessions().empty() || !holds_home()) return;
  std::string frame;
  json_writer line(frame);
  line.open_object().key("type").text("run_ended");
  line.key("seq").integer(inbox_.sessions().front().taken_seq + 1).close_object();
  carry_out(inbox_.receive(0, frame, now()));
  after_call();
  holder_.retire_if_idle(*this);
}

void run_host::advance_time() {
  if (homes_ != nullptr) check_home();
  carry_out(inbox_.advance(now()));
  after_call();
}

bool run_host::follow_operator(mode strongest) {
  // Before the first session has joined, recovery could not replay the switch.
  if (ended() || inbox_.sessions().empty() || inbox_.run().settings().operator_mode == strongest) return false;
  carry_out(inbox_.switch_mode(strongest, now()));
  after_call();
  return true;
}

refusal_note run_host::decide(const ingest::own_line& decision) {
  const ingest::inbox::decided decided = inbox_.decide(decision, now());
  carry_out(decided.effects);
  after_call();
  return decided.refused;
}

void run_host::close_deleted() {
  close([](run_client& client) { client.on_deleted(); });
}

void run_host::close(const std::function<void(run_client&)>& notify) {
  for (slot& at : slots_) {
    if (at.home == nullptr) continue;
    boost::asio::dispatch(at.home->context(), [client = at.client, notify] {
      if (const auto notified = client.lock()) notify(*notified);
    });
    at.home = nullptr;
    at.client.reset();
    at.outgoing.clear();
    if (at.charged_held > 0) at.memory->remove_waiting(std::exchange(at.charged_held, 0));
    at.memory.reset();
  }
}

void run_host::carry_out(const ingest::effects& effects) {
  for (const ingest::effect& e : effects) {
    switch (e.action) {
      case ingest::effect::action::keep: keep(*e.item); break;
      case ingest::effect::action::send:
        if (e.type == ingest::frame_type::verdicts) measure_latency(e.session);
        send(e.session, {.type = e.type, .text = e.frame, .code = e.code});
        break;
      case ingest::effect::action::acknowledge:
        if (inbox_.sessions()[e.session].durable_seq > 0) acknowledge(e.session);
        break;
    }
  }
}

void run_host::measure_latency(ingest::session_index s) {
  if (!read_at_ || read_at_->session != s) return;
  owner_.counts().verdict_latency.record(std::chrono::steady_clock::now() - read_at_->at);
  read_at_.reset();
}

void run_host::send(ingest::session_index to, const client_frame& frame) {
  slot& at = slots_[to];
  if (at.home == nullptr) return;  // the client gets it when it resumes, or sends the message again
  touch(to);
  if (at.home != &owner_) {
    posted_frame& posted = at.outgoing.emplace_back(frame, std::string(frame.text));
    posted.head.text = {};
  } else if (const auto client = at.client.lock()) {
    client->on_frame(frame);
  }
}

void run_host::keep(const ingest::record& record) {
  count(record);
  if (record.answer.refused) note_refusal(record);
  if (record.kind == ingest::record_kind::limit) note_degradation(record);
  log_detections(record);
  if (record.ended) {
    open_run_.reset();
    holder_.ended(*this, *record.ended);
  }
  if (!owner_.records().is_on()) return;
  if (has_rows(record)) return push(entry_of(record));
  archive::plain_entry entry = plain_entry_of(record);
  std::string stored;
  if (is_from_client(entry.kind) && !payloads_->changes_nothing())
    entry.frame = stored = payloads_->stored(entry.frame);
  number(entry);
  owner_.records().push(entry);
}

void run_host::count(const ingest::record& record) {
  thread_counts& counts = owner_.counts();
  counts.take(record.answer);
  if (record.limit && !record.resumes) counts.limits[*record.limit].add();
  switch (record.kind) {
    case ingest::record_kind::message: return counts.messages[*record.message].add();
    case ingest::record_kind::refused: return counts.refusals[record.answer.refused.code].add();
    case ingest::record_kind::firing: return counts.firings.add();
    case ingest::record_kind::operator_mode:
    case ingest::record_kind::limit:
    case ingest::record_kind::semantics:
    case ingest::record_kind::decision: return;
  }
}

void run_host::push(archive::entry_ptr entry) {
  if (is_from_client(entry->kind) && !payloads_->changes_nothing()) entry->frame = payloads_->stored(entry->frame);
  number(*entry);
  for (const auto& row : entry->detections) bytes_ += row.json.size();
  for (const auto& row : entry->interventions) bytes_ += row.json.size();
  owner_.records().push(std::move(entry));
}

template <class Entry>
void run_host::number(Entry& entry) {
  entry.run_number = number_;
  entry.n = ++entries_;
  entry.arrived_ms = unix_ms();
  if (is_from_client(entry.kind)) last_heard_ms_ = entry.arrived_ms;
  bytes_ += entry.frame.size();
}

void run_host::log_detections(const ingest::record& record) {
  for (const detection& d : record.answer.detections) {
    std::uint64_t suppressed = 0;
    if (!owner_.may_log_detection(suppressed)) continue;
    const std::string event = d.event ? " about=" + digd::quoted(*d.event) : "";
    const std::string agent = d.agent ? " agent=" + digd::quoted(*d.agent) : "";
    const std::string_view cause = d.healed ? "healing" : "cause";
    spdlog::info("detection run={} number={} rule={} severity={}{}{} healed={} {}={} reason={} suppressed={}",
                 digd::quoted(inbox_.name()), number_, to_string(d.rule), to_string(d.severity), event, agent, d.healed,
                 cause, d.healed ? to_string(d.healing) : to_string(d.cause), digd::quoted(d.reason), suppressed);
  }
}

void run_host::note_refusal(const ingest::record& record) {
  std::uint64_t suppressed = 0;
  if (!owner_.may_log(suppressed)) return;
  spdlog::warn("refused run={} session={} seq={} code={} field={} suppressed={}", digd::quoted(inbox_.name()),
               digd::quoted(record.session), record.seq, to_string(record.answer.refused.code),
               digd::quoted(record.answer.refused.field), suppressed);
}

// ---- after each call

void run_host::touch(ingest::session_index s) {
  if (std::exchange(slots_[s].touched, true)) return;
  touched_.push_back(s);
}

void run_host::watch_due() {
  std::optional<milliseconds> next = inbox_.next_due();
  if (next) *next -= ahead_ms_;
  owner_.watch(*this, next);
}

void run_host::after_call() {
  limit_run_bytes();
  charge_held();
  count_graph_limits();
  watch_due();
  if (!owner_.records().is_on()) {  // without an archive, digd acknowledges every message at once
    for (ingest::session_index s = 0; s < slots_.size(); ++s) {
      const ingest::session& session = inbox_.sessions()[s];
      if (session.durable_seq == session.taken_seq) continue;
      inbox_.durable(s, session.taken_seq);
      acknowledge(s);
    }
  }
  for (const ingest::session_index s : touched_) {
    slots_[s].touched = false;
    flush(s);
  }
  touched_.clear();
}

flow_state run_host::flow_state_of(ingest::session_index s) const {
  const ingest::session& session = inbox_.sessions()[s];
  return {.handled = slots_[s].handled,
          .outstanding = session.taken_seq - session.durable_seq + session.held.size(),
          .congested = owner_.records().is_congested()};
}

// A client on this thread is called directly. A client on another thread gets all its frames in one post.
void run_host::flush(ingest::session_index s) {
  slot& at = slots_[s];
  if (at.home == nullptr) return;
  const flow_state now = flow_state_of(s);
  if (at.home == &owner_) {
    if (const auto client = at.client.lock()) client->on_flow_state(now);
    return;
  }
  const bool is_due = now.handled - at.reported_handled > granted_->credits / 4 ||
                      at.unreported_bytes > max_unreported_bytes || now.congested != at.reported_congested;
  if (at.outgoing.empty() && !is_due) return;
  at.reported_handled = now.handled;
  at.unreported_bytes = 0;
  at.reported_congested = now.congested;
  boost::asio::post(at.home->context(), [client = at.client, frames = std::exchange(at.outgoing, {}), now] {
    const auto receiver = client.lock();
    if (!receiver) return;
    for (const posted_frame& frame : frames) {
      client_frame head = frame.head;
      head.text = frame.text;
      receiver->on_frame(head);
    }
    receiver->on_flow_state(now);
  });
}

void run_host::send_flow_state() {
  for (ingest::session_index s = 0; s < slots_.size(); ++s) flush(s);
}

// ---- durability

// After it reconnects, a client first repeats its unacknowledged messages and gets their answers again. digd
// acknowledges such a message only once the client has repeated it, even if it is durable. Otherwise the client might
// consider it done, never repeat it, and miss its answer.
void run_host::acknowledge(ingest::session_index s) {
  ack_.clear();
  const ingest::session& session = inbox_.sessions()[s];
  const std::uint64_t seq = std::min(session.durable_seq, session.place);
  ingest::encode_ack(ack_, seq);
  send(s, {.type = ingest::frame_type::ack, .text = ack_, .acked_seq = seq});
}

void run_host::durable(std::string_view session, std::uint64_t seq) {
  const auto found = by_name_.find(std::string(session));
  if (found == by_name_.end()) return;
  const ingest::session_index s = found->second;
  inbox_.durable(s, seq);
  acknowledge(s);
  touch(s);
  after_call();
  holder_.retire_if_idle(*this);
}

bool run_host::has_connections() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const slot& at) { return at.home != nullptr; });
}

bool run_host::can_retire() const {
  if (!ended()) return false;
  for (ingest::session_index s = 0; s < slots_.size(); ++s) {
    const ingest::session& session = inbox_.sessions()[s];
    if (slots_[s].home != nullptr || session.taken_seq != session.durable_seq || !session.held.empty()) return false;
  }
  return true;
}

}  // namespace digd::daemon
