#include "daemon/runs/run_host.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/json_writer.h"
#include "base/quote.h"
#include "base/unix_time.h"
#include "daemon/runs/engine_thread.h"
#include "daemon/runs/entries.h"
#include "daemon/runs/registry.h"
#include "ingest/protocol/encode.h"

namespace digd::daemon {

namespace {

// The client is notified each time the run has handled this many bytes. It stops reading at 4 MiB of unhandled bytes.
constexpr std::uint64_t max_unreported_bytes = 512u << 10;

ingest::inbox::options live_options(const config& settings, bool is_archived) {
  return {.hold = true, .keep_replies = true, .keep_durable_replies = !is_archived, .window = settings.credits};
}

}  // namespace

std::string too_many_agents(std::uint64_t limit) {
  return "the run would have more than " + std::to_string(limit) + " agents (limits.agents)";
}

run_host::run_host(engine_thread& owner, const hello& first, const run_settings& settings, std::uint64_t number,
                   canary_group group)
    : owner_(owner),
      homes_(owner.services().homes.get()),
      number_(number),
      group_(group),
      granted_(owner.services().settings.now()),
      payloads_(owner.services().settings.payloads()),
      inbox_(first, settings, live_options(*granted_, owner.services().archive != nullptr)) {
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

// ---- connections

void run_host::join(join_request&& request) {
  if (is_replaced(group_, request.greeting)) request.greeting.mode.reset();
  if (refuse_session(request)) return;
  const auto joined = inbox_.join(request.greeting, granted_->policy);
  if (joined.refused) {
    if (joined.refused.limit) owner_.counts().limits[*joined.refused.limit].add();
    return answer(request, {.refused = joined.refused});
  }
  last_heard_ms_ = unix_ms();
  if (joined.session == slots_.size()) add_slot(joined.session, request);
  if (joined.changed && owner_.records().is_on()) archive_joining(request);
  static_cast<void>(follow_operator(owner_.services().operator_mode.load()));  // the welcome has the effective mode
  occupy(joined.session, request);
  answer(request, welcome(joined.session, request.greeting.answered_seq));
  carry_out(inbox_.resume(joined.session, request.greeting.answered_seq));
  touch(joined.session);
  after_call();
}

// Before the inbox sees the hello. Returns whether it refused.
bool run_host::refuse_session(const join_request& request) {
  join_result refused;
  if (is_foreign(request)) {
    refused.refused.consider(refusal::unauthorized, "session", "the session belongs to another token");
  } else if (!has_room_for(request.greeting)) {
    owner_.counts().limits[limit_id::agents].add();
    refused.refused.consider(refusal::over_limit, "agents", too_many_agents(inbox_.run().settings().limits.agents));
  } else {
    return false;
  }
  answer(request, std::move(refused));
  return true;
}

void run_host::add_slot(ingest::session_index s, const join_request& request) {
  slots_.emplace_back();
  by_name_[request.greeting.session] = s;
  if (request.grant) note_owner(request.greeting.session, request.grant->name());
}

// `answered`: the last seq to which the client has every answer, if it asks for the answers that it missed.
join_result run_host::welcome(ingest::session_index joined, std::optional<std::uint64_t> answered) {
  const ingest::session& s = inbox_.sessions()[joined];
  join_result result{.host = shared_from_this(), .slot = {joined, slots_[joined].generation}};
  result.acked_seq = s.durable_seq;
  result.taken_seq = s.taken_seq;
  result.ended = ended();
  result.credits = granted_->credits;
  result.message_bytes = inbox_.run().settings().limits.message_bytes;
  ingest::encode_welcome(result.welcome,
                         {.run = inbox_.name(),
                          .session = s.name,
                          .acked_seq = s.durable_seq,
                          .verdict_deadline_ms = granted_->verdict_deadline_ms,
                          .credits = granted_->credits,
                          .unjudged = inbox_.run().unjudged()},
                         inbox_.run().settings());
  if (answered && *answered < s.durable_seq && owner_.services().archive) {
    result.missed = {.run_number = number_, .session = s.name, .after = *answered, .upto = s.durable_seq};
  }
  return result;
}

// Whether the run may have the agents of a new session.
bool run_host::has_room_for(const hello& greeting) const {
  if (!greeting.agents || by_name_.contains(greeting.session)) return true;
  const graph::graph& g = inbox_.run().graph();
  const auto is_new = [&](const std::string& agent) { return g.find_agent(agent) == graph::nobody; };
  const auto added = std::count_if(greeting.agents->begin(), greeting.agents->end(), is_new);
  return g.agent_count() + static_cast<std::size_t>(added) <= inbox_.run().settings().limits.agents;
}

bool run_host::is_foreign(const join_request& request) const {
  const auto owner = owners_.find(request.greeting.session);
  return request.grant && owner != owners_.end() && owner->second != request.grant->name();
}

void run_host::note_owner(const std::string& session, const std::string& token) {
  if (!token.empty()) owners_.emplace(session, token);
}

void run_host::archive_joining(const join_request& request) {
  archive::entry_ptr e = joining_entry(request.greeting, request.frame);
  if (request.grant) e->token = request.grant->name();
  e->ts = inbox_.run().clock();
  push(std::move(e));
}

void run_host::occupy(ingest::session_index s, join_request& request) {
  slot& at = slots_[s];
  if (at.home != nullptr) {
    boost::asio::dispatch(at.home->context(), [client = at.client] {
      if (const auto older = client.lock()) older->on_replaced();
    });
  }
  at.client = std::move(request.client);
  at.home = request.home;
  if (at.memory && at.charged_held > 0) at.memory->remove_waiting(std::exchange(at.charged_held, 0));
  at.memory = std::move(request.memory);
  at.handled = at.reported_handled = 0;
  at.reported_congested = false;
  at.outgoing.clear();
  ++at.generation;
  request.client = at.client;
}

void run_host::release_slot(std::shared_ptr<run_host> host, session_slot slot) {
  boost::asio::io_context& at = host->owner_.context();
  boost::asio::post(at, [host = std::move(host), slot] { host->leave(slot); });
}

void run_host::drop_held(const std::shared_ptr<run_host>& host, session_slot slot) {
  boost::asio::dispatch(host->owner_.context(), [host, slot] {
    if (!host->is_occupied(slot)) return;
    host->inbox_.drop_held(slot.session);
    host->charge_held(slot.session);
  });
}

// Held frames may outlive their connection, by `reorder_ms`.
void run_host::charge_held() {
  if (!has_charged_held_) return;
  for (ingest::session_index s = 0; s < slots_.size(); ++s) charge_held(s);
  has_charged_held_ = std::any_of(slots_.begin(), slots_.end(), [](const slot& at) { return at.charged_held > 0; });
}

void run_host::charge_held(ingest::session_index s) {
  slot& at = slots_[s];
  const std::size_t bytes = at.memory ? inbox_.sessions()[s].held_bytes : 0;
  if (bytes == at.charged_held) return;
  const std::size_t before = std::exchange(at.charged_held, bytes);
  has_charged_held_ = true;
  if (bytes > before) at.memory->add_waiting(bytes - before);
  if (bytes < before) at.memory->remove_waiting(before - bytes);
  if (bytes == 0 && at.home == nullptr) at.memory.reset();
}

void run_host::leave(session_slot number) {
  if (!is_occupied(number)) return;
  slot& at = slots_[number.session];
  at.home = nullptr;
  at.client.reset();
  at.outgoing.clear();
  if (at.charged_held == 0) at.memory.reset();
  owner_.runs().retire_if_idle(*this);
}

bool run_host::is_occupied(session_slot slot) const {
  return slots_[slot.session].home != nullptr && slots_[slot.session].generation == slot.generation;
}

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
  owner_.runs().retire_if_idle(*this);
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
    owner_.runs().ended(*this, *record.ended);
  }
  if (!owner_.records().is_on()) return;
  archive::entry_ptr entry = owner_.records().make_entry();
  fill_entry(*entry, record);
  push(std::move(entry));
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
  const bool is_from_client =
      entry->kind == archive::entry_kind::message || entry->kind == archive::entry_kind::refused;
  if (is_from_client && !payloads_->changes_nothing()) entry->frame = payloads_->stored(entry->frame);
  entry->run_number = number_;
  entry->n = ++entries_;
  entry->arrived_ms = unix_ms();
  if (is_from_client) last_heard_ms_ = entry->arrived_ms;
  bytes_ += entry->frame.size();
  for (const auto& row : entry->detections) bytes_ += row.json.size();
  for (const auto& row : entry->interventions) bytes_ += row.json.size();
  owner_.records().push(std::move(entry));
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

// ---- limits

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

// The token that opened the run is over its max_bytes. For each message, so it asks again only after a change.
bool run_host::is_opener_full() {
  const overload_state& overload = owner_.services().overload;
  const std::uint64_t changes = overload.full_changes();
  if (std::exchange(seen_full_changes_, changes) != changes) is_opener_full_ = overload.is_full(opener_);
  return is_opener_full_;
}

// The limit for which the run refuses all messages now, if any.
std::optional<limit_id> run_host::refusing_limit() {
  if (owner_.services().overload.is_on_for(overload_action::refuse, opener_)) return limit_id::overload;
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

// A client that reconnected first repeats what was not acknowledged, and gets its answers again. Until then digd does
// not acknowledge these messages, even if they are durable: a client could take them for done, and never repeat them.
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
  owner_.runs().retire_if_idle(*this);
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
