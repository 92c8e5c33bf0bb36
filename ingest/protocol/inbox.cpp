#include "ingest/protocol/inbox.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "base/quote.h"
#include "ingest/protocol/encode.h"

namespace digd::ingest {

namespace {

constexpr std::string_view refused_type = "\"type\":\"refused\"";
constexpr std::string_view own_types[] = {"{\"type\":\"operator_mode\"", "{\"type\":\"limit\"",
                                          "{\"type\":\"semantics\""};

// What stands for a refused frame in a replay: it uses up the same seq and is refused with the same words.
std::string stand_in(std::uint64_t seq, const refusal_note& note) {
  std::string out;
  encode_refused(out, note, seq);
  return out;
}

// The text of a member of a line of our own; empty: it has none.
std::string_view word_of(std::string_view line, std::string_view member) {
  const std::string before = "\"" + std::string(member) + "\":\"";
  const std::size_t at = line.find(before);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + before.size());
  return line.substr(0, line.find('"'));
}

std::optional<milliseconds> ts_of(std::string_view line) {
  const std::size_t at = line.find("\"ts\":");
  if (at == std::string_view::npos) return std::nullopt;
  return std::strtoll(std::string(line.substr(at + 5, 21)).c_str(), nullptr, 10);
}

bool can(const capabilities& able, action given_action) {
  return given_action == action::reroute ? able.reroute : able.create;
}

}  // namespace

std::optional<mode> operator_mode_of(std::string_view line) {
  return line.starts_with(own_types[0]) ? mode_from(word_of(line, "mode")) : std::nullopt;
}

std::optional<limit_line> limit_line_of(std::string_view line) {
  if (!line.starts_with(own_types[1])) return std::nullopt;
  const auto hit = limit_from(word_of(line, "limit"));
  const auto policy = policy_from(word_of(line, "policy"));
  if (!hit || !policy) return std::nullopt;
  return limit_line{*hit, *policy};
}

bool adopts_current_semantics(std::string_view line) {
  return line.starts_with(own_types[2]) &&
         line.find("\"version\":" + std::to_string(semantics_version) + ',') != std::string_view::npos;
}

bool is_own_line(std::string_view line) {
  return std::any_of(std::begin(own_types), std::end(own_types), [&](auto type) { return line.starts_with(type); });
}

inbox::inbox(const hello& first, const run_settings& settings, sink& to, options options)
    : name_(first.run), run_(settings, first), sink_(to), options_(options) {}

std::optional<session_index> inbox::find_session(std::string_view name) const {
  for (session_index s = 0; s < sessions_.size(); ++s) {
    if (sessions_[s].name == name) return s;
  }
  return std::nullopt;
}

inbox::joined inbox::join(const hello& greeting, const run_policy& policy) {
  joined result;
  hello asked = greeting;
  if (run_.unjudged() && asked.mode == mode::off) asked.mode.reset();  // as it was told
  if (const std::string field = contradiction(asked, run_.settings(), policy); !field.empty()) {
    result.refused.consider(refusal::hello_conflict, field,
                            "the run goes on with another " + field + "; leave it out or give what `welcome` says");
    return result;
  }
  if (const auto known = find_session(greeting.session)) {
    result.session = *known;
    result.changed = sessions_[*known].greeting.able != greeting.able;
    sessions_[*known].greeting = greeting;
    update_able();
    return result;
  }
  if (sessions_.size() >= run_.settings().limits.sessions) {
    result.refused.consider(refusal::over_limit, "session",
                            "the run has " + std::to_string(sessions_.size()) + " sessions already, the limit",
                            limit_id::sessions);
    return result;
  }
  result.session = sessions_.size();
  session& s = sessions_.emplace_back();
  s.name = greeting.session;
  s.greeting = greeting;
  result.changed = true;
  run_.join(greeting);
  update_able();
  return result;
}

void inbox::update_able() {
  capabilities any{false, false, false};
  for (const session& s : sessions_) {
    any.inject |= s.greeting.able.inject;
    any.reroute |= s.greeting.able.reroute;
    any.create |= s.greeting.able.create;
  }
  run_.set_able(any);
}

void inbox::receive(session_index s, std::string_view frame, milliseconds stamp) {
  session& from = sessions_[s];
  if (!from.held.empty()) {
    hold(from, frame, stamp);
  } else {
    take(s, frame, stamp, true);
  }
  if (held_count_ > 0) release_held(stamp);
}

void inbox::receive_too_large(session_index s, std::size_t bytes, milliseconds stamp) {
  session& from = sessions_[s];
  if (!from.held.empty()) {
    hold(from, {}, stamp, bytes);
  } else {
    refuse_too_large(s, bytes, stamp);
  }
  if (held_count_ > 0) release_held(stamp);
}

void inbox::refuse_too_large(session_index s, std::size_t bytes, milliseconds stamp) {
  refusal_note note;
  note.consider(refusal::too_large, "",
                "the message has " + std::to_string(bytes) + " bytes; the limit is " +
                    std::to_string(run_.settings().limits.message_bytes),
                limit_id::message_bytes);
  const std::uint64_t seq = ++sessions_[s].place;
  if (seq <= sessions_[s].taken_seq) return repeat(s, seq);
  refuse(s, seq, note, stand_in(seq, note), stamp);
  const limit_policy policy = run_.settings().over_limit.of(limit_id::message_bytes);
  if (run_.can_degrade(limit_id::message_bytes, policy)) hit(limit_id::message_bytes, policy, stamp);
}

// One frame: decode, sequence, judge, answer.
void inbox::take(session_index s, std::string_view frame, milliseconds stamp, bool may_wait) {
  if (frame.size() > run_.settings().limits.message_bytes) return refuse_too_large(s, frame.size(), stamp);
  session& from = sessions_[s];
  const decoded d = work().reads.decode(frame, work().message);
  const std::uint64_t expected = from.taken_seq + 1;
  if (d.has_seq && d.seq > expected) return out_of_sequence(s, d.seq);
  if (!d.has_seq || d.seq == from.place + 1 || d.seq == expected) from.place = d.has_seq ? d.seq : from.place + 1;
  const std::uint64_t seq = d.has_seq ? d.seq : from.place;  // what has none is known by its place
  if (seq < expected) return repeat(s, seq);
  refusal_note refused = d.refused;
  if (d.is_hello) refused.consider(refusal::bad_message, "type", "this connection has said hello already");
  const bool is_last = !refused && work().message.type == message_type::run_ended;
  if (turned_away_ && !is_last)
    refused.consider(turned_away_->code, turned_away_->field, turned_away_->text, turned_away_->limit);
  if (refused) {
    // A frame that looks like what stands for one is not kept as it is: a replay would take it for that.
    const bool as_it_is = d.has_seq && !refused.limit && frame.find(refused_type) == std::string_view::npos;
    return refuse(s, expected, refused, as_it_is ? std::string(frame) : stand_in(expected, refused), stamp);
  }
  forget_replies(from);
  if (may_wait && must_wait(work().message)) return hold(from, frame, stamp);
  const speaker who{from.name, from.greeting.able};
  run_.apply(work().message, who, stamp, work().response);
  if (degrades(stamp)) run_.apply(work().message, who, stamp, work().response);
  from.taken_seq = expected;
  answer_to(s, expected, frame);
}

// A seq that was used up before: what it was answered with is said again if it may have been lost.
void inbox::repeat(session_index s, std::uint64_t seq) {
  for (const session::reply& r : sessions_[s].unacked) {
    if (r.seq == seq && !r.frame.empty()) sink_.send(s, r.frame);
  }
  forget_replies(sessions_[s]);
  sink_.repeated(s);
}

// Names the seq from which the client has to go on; whatever else is wrong with the frame does not matter, as
// its seq is not used up.
void inbox::out_of_sequence(session_index s, std::uint64_t seq) {
  const std::uint64_t expected = sessions_[s].taken_seq + 1;
  refusal_note note;
  note.consider(refusal::bad_seq, "seq", "expected seq " + std::to_string(expected) + ", got " + std::to_string(seq));
  work().out.clear();
  encode_error(work().out, note, expected, false);
  sink_.send(s, work().out);
}

// `passes`: the time that passes with it, where the wall clock counts.
void inbox::refuse(session_index s, std::uint64_t seq, const refusal_note& note, std::string_view frame,
                   std::optional<milliseconds> passes) {
  const bool is_read_back = run_.settings().stamped;  // then only a line that stands for a frame has its time with it
  if (passes &&
      (run_.settings().clock == clock_kind::wall || (is_read_back && frame.starts_with("{\"type\":\"refused\"")))) {
    run_.advance(*passes, work().response);
  } else {
    work().response.clear();
  }
  work().response.refused = note;
  sessions_[s].taken_seq = seq;
  forget_replies(sessions_[s]);
  answer_to(s, seq, frame);
}

void inbox::receive_recorded(session_index s, std::string_view line, milliseconds stamp) {
  if (line.find(refused_type) == std::string_view::npos) return receive(s, line, stamp);
  const std::optional<refused_line> was = work().reads.refused_line_of(line);
  if (!was || was->seq != sessions_[s].taken_seq + 1) return receive(s, line, stamp);
  sessions_[s].place = was->seq;
  refuse(s, was->seq, was->note, stand_in(was->seq, was->note), was->ts.value_or(stamp));
}

// ---- limits

// The message in hand hit a limit whose policy is not to refuse: the run gives way, and can take it then.
bool inbox::degrades(milliseconds stamp) {
  if (!work().response.refused.limit) return false;
  const limit_id hit = *work().response.refused.limit;
  const limit_policy policy = run_.settings().over_limit.of(hit);
  if (!run_.can_degrade(hit, policy)) return false;
  work().response.refused = {};  // what was due before the message stays in it
  degrade(hit, policy, stamp);
  return true;
}

void inbox::hit(limit_id which, limit_policy policy, milliseconds stamp) {
  if (!run_.can_degrade(which, policy)) return;
  work().response.clear();
  degrade(which, policy, stamp);
}

void inbox::degrade(limit_id hit, limit_policy policy, milliseconds stamp) {
  run_.degrade(hit, policy, stamp, work().response);
  tell_own_line(
      taken::what_kind::limit, "limit",
      "\"limit\":\"" + std::string(to_string(hit)) + "\",\"policy\":\"" + std::string(to_string(policy)) + '"', hit);
}

void inbox::adopt_semantics(milliseconds stamp) {
  run_.adopt_semantics(stamp, work().response);
  tell_own_line(taken::what_kind::semantics, "semantics", "\"version\":" + std::to_string(semantics_version), {});
}

void inbox::tell_own_line(taken::what_kind kind, std::string_view type, std::string_view member,
                          std::optional<limit_id> limit) {
  encode_interventions();
  const std::string frame = "{\"type\":\"" + std::string(type) + "\"," + std::string(member) +
                            ",\"ts\":" + std::to_string(run_.clock()) + '}';
  sink_.took({.kind = kind,
              .session = {},
              .ts = run_.clock(),
              .type = type,
              .frame = frame,
              .answer = work().response,
              .verdicts = {},
              .interventions = work().intervention_frames,
              .answered = {},
              .ended = {},
              .limit = limit});
  send_interventions();
}

bool inbox::follow(std::string_view line) {
  const std::optional<milliseconds> stamp = ts_of(line);
  if (!stamp) return false;
  if (const auto strongest = operator_mode_of(line)) {
    switch_mode(*strongest, *stamp);
    return true;
  }
  if (line.starts_with(own_types[2])) {
    adopt_semantics(*stamp);
    return true;
  }
  if (word_of(line, "limit") == to_string(limit_id::judging_work)) return true;  // the engine comes to it by itself
  const auto limit = limit_line_of(line);
  if (limit) hit(limit->hit, limit->policy, *stamp);
  return limit.has_value();
}

// Tells the record first, then the clients.
void inbox::answer_to(session_index s, std::uint64_t seq, std::string_view frame) {
  session& from = sessions_[s];
  const bool refused = static_cast<bool>(work().response.refused);
  work().out.clear();
  if (refused) {
    encode_error(work().out, work().response.refused, seq, false);
  } else if (!work().response.verdicts.empty()) {
    encode_verdicts(work().out, seq, work().response, from.greeting.witness);
  }
  encode_interventions();
  taken record{.kind = refused ? taken::what_kind::refused : taken::what_kind::message,
               .session = from.name,
               .seq = seq,
               .ts = run_.clock(),
               .type = refused ? std::string_view("refused") : to_string(work().message.type),
               .frame = frame,
               .answer = work().response,
               .verdicts = refused ? std::string_view{} : std::string_view(work().out),
               .interventions = work().intervention_frames,
               .answered = {},
               .ended = {},
               .limit = work().response.refused.limit};
  if (!refused && work().message.type == message_type::delivery) {
    record.answered = work().message.of ? *work().message.of : *work().message.event;
  }
  if (!refused && work().message.type == message_type::run_ended) record.ended = work().message.outcome;
  sink_.took(record);
  send_interventions();
  if (!record.answered.empty()) note_answered(s, record.answered);
  if (!work().out.empty()) sink_.send(s, work().out);
  if (options_.keep_replies) from.unacked.push_back({seq, work().out});
  if (!work().response.unjudged.empty()) record_unjudged(std::move(work().response.unjudged));
}

// A line of the record names the events that `limits.judging_work` left unjudged, as far as the line is bounded.
void inbox::record_unjudged(std::vector<std::string> events) {
  constexpr std::size_t max_named = 64;
  std::string member =
      "\"limit\":\"judging_work\",\"policy\":\"deliver\",\"unjudged\":" + std::to_string(events.size()) +
      ",\"events\":[";
  for (std::size_t i = 0; i < events.size() && i < max_named; ++i) {
    if (i > 0) member += ',';
    append_quoted(member, events[i]);
  }
  member += ']';
  work().response.clear();
  tell_own_line(taken::what_kind::limit, "limit", member, limit_id::judging_work);
}

void inbox::durable(session_index s, std::uint64_t seq) {
  session& who = sessions_[s];
  who.durable_seq = std::max(who.durable_seq, seq);
  forget_replies(who);
}

// A client that came back and has yet to send a message again is still owed its answer, durable or not.
void inbox::forget_replies(session& who) {
  const std::uint64_t upto = std::min(who.durable_seq, who.place);
  while (!who.unacked.empty() && who.unacked.front().seq <= upto) who.unacked.pop_front();
}

// ---- time

void inbox::advance(milliseconds now) {
  if (run_.settings().clock == clock_kind::wall || run_.settings().stamped) pass_time(now);
  if (held_count_ > 0) release_held(now);
}

void inbox::pass_time(milliseconds now) {
  run_.advance(now, work().response);
  if (work().response.detections.empty()) return;
  encode_interventions();
  sink_.took({.kind = taken::what_kind::firing,
              .session = {},
              .ts = run_.clock(),
              .type = "firing",
              .frame = {},
              .answer = work().response,
              .verdicts = {},
              .interventions = work().intervention_frames,
              .answered = {},
              .ended = {},
              .limit = {}});
  send_interventions();
}

void inbox::switch_mode(mode strongest, milliseconds stamp) {
  run_.switch_mode(strongest, stamp, work().response);
  tell_own_line(taken::what_kind::operator_mode, "operator_mode",
                "\"mode\":\"" + std::string(to_string(strongest)) + '"', {});
}

std::optional<milliseconds> inbox::next_due() const {
  std::optional<milliseconds> next;
  if (run_.settings().clock == clock_kind::wall) next = run_.next_due();
  if (held_count_ == 0) return next;
  for (const session& s : sessions_) {
    if (!s.held.empty() && (!next || s.held.front().release_at < *next)) next = s.held.front().release_at;
  }
  return next;
}

// ---- several sessions

bool inbox::must_wait(const message& m) const { return options_.hold && sessions_.size() > 1 && run_.names_unseen(m); }

void inbox::hold(session& from, std::string_view frame, milliseconds stamp, std::size_t too_large) {
  from.held.push_back({std::string(frame), later(stamp, run_.settings().limits.reorder_ms), too_large});
  ++held_count_;
}

// Lets go of what waited long enough, or for nothing any more; each may set others free.
void inbox::release_held(milliseconds now) {
  for (bool again = true; again;) {
    again = false;
    for (session_index s = 0; s < sessions_.size(); ++s) {
      boost::container::deque<session::held_frame>& held = sessions_[s].held;
      if (held.empty()) continue;
      const session::held_frame head = std::move(held.front());
      held.pop_front();
      --held_count_;
      boost::container::deque<session::held_frame> behind = std::exchange(held, {});
      if (head.too_large > 0) {
        refuse_too_large(s, head.too_large, now);
      } else {
        take(s, head.frame, now, head.release_at > now);
      }
      const bool went = held.empty();
      if (!went) held.front().release_at = head.release_at;
      held.insert(held.end(), std::make_move_iterator(behind.begin()), std::make_move_iterator(behind.end()));
      again = again || went;
    }
  }
}

// ---- interventions

void inbox::encode_interventions() {
  work().intervention_frames.clear();
  for (const intervention& intervention : work().response.interventions) {
    encode_intervention(work().intervention_frames.emplace_back(), intervention, work().response, true);
  }
}

bool inbox::is_addressee(session_index s, const intervention& intervention) const {
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
  encode_intervention(frame, pending.intervention, pending.answer, sessions_[s].greeting.witness);
  sink_.send(s, frame);
}

void inbox::send_interventions() {
  for (const intervention& created : work().response.interventions) {
    if (outstanding_.size() == max_outstanding) outstanding_.pop_front();
    outstanding& pending = outstanding_.emplace_back();
    pending.intervention = created;
    for (std::uint32_t& d : pending.intervention.detections) {
      pending.answer.detections.push_back(work().response.detections[d]);
      d = static_cast<std::uint32_t>(pending.answer.detections.size() - 1);
    }
    for (session_index s = 0; s < sessions_.size(); ++s) {
      if (is_addressee(s, pending.intervention)) send_intervention(s, pending);
    }
  }
}

void inbox::resume(session_index s) {
  sessions_[s].place = sessions_[s].durable_seq;  // it sends on from there, what waits for other sessions too
  forget_replies(sessions_[s]);
  held_count_ -= sessions_[s].held.size();
  sessions_[s].held.clear();
  if (run_.ended()) return;  // nobody could answer
  for (const outstanding& intervention : outstanding_) {
    if (is_addressee(s, intervention.intervention) && !intervention.heard_of.contains(s))
      send_intervention(s, intervention);
  }
}

void inbox::note_answered(session_index s, std::string_view id) {
  const auto found = std::find_if(outstanding_.begin(), outstanding_.end(),
                                  [&](const outstanding& intervention) { return intervention.intervention.id == id; });
  if (found == outstanding_.end()) return;
  found->heard_of.insert(s);
  for (session_index other = 0; other < sessions_.size(); ++other) {
    if (is_addressee(other, found->intervention) && !found->heard_of.contains(other)) return;
  }
  outstanding_.erase(found);
}

}  // namespace digd::ingest
