// The sessions of a run, and the clients that occupy their slots (run_host.h).
#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/unix_time.h"
#include "daemon/runs/engine_loop.h"
#include "daemon/runs/entries.h"
#include "daemon/runs/run_host.h"
#include "ingest/protocol/encode.h"

namespace digd::daemon {

void answer(const join_request& request, join_result&& result) {
  boost::asio::dispatch(request.home->context(), [client = request.client, result = std::move(result)]() mutable {
    if (const auto receiver = client.lock()) return receiver->on_joined(std::move(result));
    if (result.host) run_host::release_slot(std::move(result.host), result.slot);
  });
}

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
  // The welcome has the effective mode.
  static_cast<void>(follow_operator(owner_.services().conditions.operator_mode.load()));
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
  if (answered && *answered < s.durable_seq && owner_.services().storage.archive) {
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
  holder_.retire_if_idle(*this);
}

bool run_host::is_occupied(session_slot slot) const {
  return slots_[slot.session].home != nullptr && slots_[slot.session].generation == slot.generation;
}

}  // namespace digd::daemon
