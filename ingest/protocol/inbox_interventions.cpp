// Sends interventions to the sessions: selects the recipients, and repeats unanswered interventions after a reconnect.
#include <algorithm>
#include <utility>

#include "ingest/protocol/encode.h"
#include "ingest/protocol/inbox.h"

namespace digd::ingest {

namespace {

bool can(const capabilities& able, action given_action) {
  switch (given_action) {
    case action::reroute: return able.reroute;
    case action::cancel: return able.cancel;
    default: return able.create;
  }
}

}  // namespace

void inbox::encode_interventions(record& item) {
  for (const intervention& intervention : item.answer.interventions) {
    encode_intervention(item.interventions.emplace_back(), intervention, item.answer, true);
  }
}

bool inbox::is_addressee(session_index s, const intervention& intervention) const {
  const std::vector<std::uint32_t>& for_sessions = intervention.sessions;
  if (!for_sessions.empty()) {
    const bool is_hold_end = intervention.hold != 0;  // a client that can hold events can also end a hold
    return (is_hold_end || can(sessions_[s].greeting.able, intervention.action)) &&
           std::find(for_sessions.begin(), for_sessions.end(), s) != for_sessions.end();
  }
  const auto named = [&](const session& session) {
    return can(session.greeting.able, intervention.action) && session.greeting.agents &&
           std::any_of(intervention.recipients.begin(), intervention.recipients.end(), [&](const std::string& name) {
             return std::find(session.greeting.agents->begin(), session.greeting.agents->end(), name) !=
                    session.greeting.agents->end();
           });
  };
  if (!can(sessions_[s].greeting.able, intervention.action)) return false;
  return named(sessions_[s]) || std::none_of(sessions_.begin(), sessions_.end(), named);
}

void inbox::send_intervention(session_index s, const outstanding& pending) {
  std::string frame;
  const bool is_cancel = pending.intervention.action == action::cancel;
  encode_intervention(frame, is_cancel ? session_part(s, pending.intervention) : pending.intervention, pending.answer,
                      sessions_[s].greeting.witness);
  effects& out = work().effects;
  out.send(s, frame_type::intervention, out.own(std::move(frame)));
}

// The activations of a cancel that the session reported.
intervention inbox::session_part(session_index s, const intervention& whole) {
  intervention part = whole;
  part.activations.clear();
  for (std::size_t i = 0; i < whole.activations.size(); ++i) {
    if (whole.sessions[i] == s) part.activations.push_back(whole.activations[i]);
  }
  return part;
}

void inbox::send_interventions(const record& item) {
  for (const intervention& created : item.answer.interventions) {
    if (outstanding_.size() == max_outstanding) outstanding_.pop_front();
    outstanding& pending = outstanding_.emplace_back();
    pending.intervention = created;
    for (std::uint32_t& d : pending.intervention.detections) {
      pending.answer.detections.push_back(item.answer.detections[d]);
      d = static_cast<std::uint32_t>(pending.answer.detections.size() - 1);
    }
    for (session_index s = 0; s < sessions_.size(); ++s) {
      if (is_addressee(s, pending.intervention)) send_intervention(s, pending);
    }
  }
}

const effects& inbox::resume(session_index s, std::optional<std::uint64_t> answered_seq) {
  effects& out = begin();
  if (answered_seq && options_.keep_durable_replies) {
    sessions_[s].unacked.each([&](const reply_log::reply& r) {
      const bool is_missing = r.seq > *answered_seq && r.seq <= sessions_[s].durable_seq && !r.frame.empty();
      if (is_missing) out.send(s, r.type, out.own(std::string(r.frame)), r.code);
    });
  }
  sessions_[s].place = sessions_[s].durable_seq;  // the client sends everything after it again, also held frames
  forget_replies(sessions_[s]);
  drop_held(s);
  if (run_.ended()) return out;  // no client could answer
  for (const outstanding& pending : outstanding_) {
    if (is_addressee(s, pending.intervention) && !pending.reporting_sessions.contains(s)) send_intervention(s, pending);
  }
  return out;
}

void inbox::note_answered(session_index s, std::string_view id) {
  const auto found = std::find_if(outstanding_.begin(), outstanding_.end(),
                                  [&](const outstanding& pending) { return pending.intervention.id == id; });
  if (found == outstanding_.end()) return;
  found->reporting_sessions.insert(s);
  for (session_index other = 0; other < sessions_.size(); ++other) {
    if (is_addressee(other, found->intervention) && !found->reporting_sessions.contains(other)) return;
  }
  outstanding_.erase(found);
}

}  // namespace digd::ingest
