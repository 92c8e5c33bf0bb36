#include "ingest/protocol/inbox.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ingest/protocol/encode.h"
#include "ingest/protocol/fingerprints.h"

namespace digd::ingest {

inbox::inbox(const hello& first, const run_settings& settings, options options)
    : name_(first.run), run_(settings, first), options_(options) {}

namespace {

// Whether it is a limit of the run, which a client's gap lifts. The daemon lifts its own limits.
bool is_own_limit(std::optional<limit_id> limit) {
  switch (limit.value_or(limit_id::overload)) {
    case limit_id::run_bytes:
    case limit_id::bytes_of_token:
    case limit_id::overload:
    case limit_id::fleet_lease: return false;
    default: return true;
  }
}

}  // namespace

scratch& inbox::work() {
  if (!work_) work_ = std::make_shared<scratch>();
  return *work_;
}

// The effects of a new call.
effects& inbox::begin() {
  effects& out = work().effects;
  out.clear();
  return out;
}

std::optional<session_index> inbox::find_session(std::string_view name) const {
  for (session_index s = 0; s < sessions_.size(); ++s) {
    if (sessions_[s].name == name) return s;
  }
  return std::nullopt;
}

inbox::joined inbox::join(const hello& greeting, const run_policy& policy) {
  joined result;
  hello asked = greeting;
  if (run_.unjudged() && asked.mode == mode::off) asked.mode.reset();  // `welcome` said off
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
  capabilities any = capabilities::none();
  for (const session& s : sessions_) any.add(s.greeting.able);
  run_.set_able(any);
}

// ---- one frame: decode, sequence, judge, answer

const effects& inbox::receive(session_index s, std::string_view frame, milliseconds stamp) {
  effects& out = begin();
  session& from = sessions_[s];
  if (!from.held.empty()) {
    hold(from, frame, stamp);
  } else {
    take(s, frame, stamp, true);
  }
  if (held_count_ > 0) release_held(stamp);
  return out;
}

const effects& inbox::receive_too_large(session_index s, std::size_t bytes, milliseconds stamp) {
  effects& out = begin();
  session& from = sessions_[s];
  if (!from.held.empty()) {
    hold(from, {}, stamp, bytes);
  } else {
    refuse_too_large(s, bytes, stamp);
  }
  if (held_count_ > 0) release_held(stamp);
  return out;
}

void inbox::take(session_index s, std::string_view frame, milliseconds stamp, bool may_wait) {
  if (frame.size() > run_.settings().limits.message_bytes) return refuse_too_large(s, frame.size(), stamp);
  session& from = sessions_[s];
  effects& out = work().effects;
  message& m = work().message;
  const decoded d = work().decoder.decode(frame, m, run_.counts_repeats());
  const std::uint64_t expected = from.taken_seq + 1;
  if (d.has_seq && d.seq > expected) return send_bad_seq(s, d.seq);
  if (!d.has_seq || d.seq == from.place + 1 || d.seq == expected) from.place = d.has_seq ? d.seq : from.place + 1;
  const std::uint64_t seq = d.has_seq ? d.seq : from.place;  // a frame without a seq gets the next one
  if (seq < expected) return repeat(s, seq);
  refusal_note refused = d.refused;
  if (d.type == line_type::hello)
    refused.consider(refusal::bad_message, "type", "this connection has said hello already");
  const bool ends_run = !refused && m.type == message_type::run_ended;
  if (refusal_ && !ends_run) refused.consider(refusal_->code, refusal_->field, refusal_->text, refusal_->limit);
  if (refused) {
    // A replay would mistake a frame of type `refused` for a line that replaces a frame.
    const bool replays = d.has_seq && !refused.limit && d.type != line_type::refused;
    return refuse(s, expected, refused, replays ? frame : std::string_view{}, stamp);
  }
  forget_replies(from);
  if (const auto unseen = may_wait ? missing_id(m) : std::nullopt) {
    session::held_frame& held = hold(from, frame, stamp);
    held.awaited = unseen->id;
    held.awaits_event = unseen->is_event;
    return;
  }
  const speaker speaker{from.name, from.greeting.able, static_cast<std::uint32_t>(s)};
  record* item = &out.draft();
  run_.apply(m, speaker, stamp, item->answer);
  if (degrade_for(*item, stamp)) {
    item = &out.draft();
    run_.apply(m, speaker, stamp, item->answer);
  }
  from.taken_seq = expected;
  item->seq = expected;
  item->frame = frame;
  if (has_digests(m)) {
    append_with_fingerprints(item->kept_frame, frame, m);
    item->frame = item->kept_frame;
  }
  const bool is_gap = m.type == message_type::gap;
  keep_and_answer(s, *item);
  if (is_gap && is_own_limit(run_.unjudged())) begin_again(stamp);
}

// The record gets the item before the clients get their frames.
void inbox::keep_and_answer(session_index s, record& item) {
  session& from = sessions_[s];
  effects& out = work().effects;
  const message& m = work().message;
  const bool refused = static_cast<bool>(item.answer.refused);
  item.kind = refused ? record_kind::refused : record_kind::message;
  item.session = from.name;
  item.ts = run_.clock();
  item.limit = item.answer.refused.limit;
  frame_type type = frame_type::error;
  if (refused) {
    item.type = to_string(record_kind::refused);
    encode_error(item.response, item.answer.refused, item.seq, false);
  } else {
    type = frame_type::verdicts;
    item.message = m.type;
    item.type = to_string(m.type);
    if (!item.answer.verdicts.empty())
      encode_verdicts(item.response, item.event_ids, item.seq, item.answer, from.greeting.witness);
    item.verdicts = item.response;
    if (m.type == message_type::delivery) item.answered = m.of ? *m.of : *m.event;
    if (m.type == message_type::run_ended) item.ended = m.outcome;
    item.used = m.usage;
  }
  encode_interventions(item);
  out.keep(item);
  send_interventions(item);
  if (!item.answered.empty()) note_answered(s, item.answered);
  if (!item.response.empty()) out.send(s, type, item.response, item.answer.refused.code);
  if (options_.keep_replies) {
    from.unacked.add({item.seq, type, item.response, item.answer.refused.code});
  }
  if (!item.answer.unjudged.empty()) keep_unjudged(item.answer.unjudged);
}

// A seq that was used up before: its answer is sent again, as it may have been lost.
void inbox::repeat(session_index s, std::uint64_t seq) {
  effects& out = work().effects;
  sessions_[s].unacked.each([&](const reply_log::reply& r) {
    if (r.seq == seq && !r.frame.empty()) out.send(s, r.type, out.own(std::string(r.frame)), r.code);
  });
  forget_replies(sessions_[s]);
  out.acknowledge(s);
}

// Reports the seq with which the client has to continue. The frame's seq is not used up, so other errors in the frame
// do not matter.
void inbox::send_bad_seq(session_index s, std::uint64_t seq) {
  const std::uint64_t expected = sessions_[s].taken_seq + 1;
  refusal_note note;
  note.consider(refusal::bad_seq, "seq", "expected seq " + std::to_string(expected) + ", got " + std::to_string(seq));
  std::string frame;
  encode_error(frame, note, expected, false);
  effects& out = work().effects;
  out.send(s, frame_type::error, out.own(std::move(frame)), note.code);
}

// `as_received`: the frame to record; if empty, the record gets a line that replaces the frame. `passes`: the time to
// which the run advances before the refusal. With the trace clock it counts only in a stamped trace, and there only for
// a line that replaces a frame, because other refused frames have no such time.
void inbox::refuse(session_index s, std::uint64_t seq, const refusal_note& note, std::string_view as_received,
                   std::optional<milliseconds> passes) {
  record& item = work().effects.draft();
  item.is_refusal_line = as_received.empty();
  if (item.is_refusal_line) encode_refused(item.kept_frame, note, seq);
  item.frame = item.is_refusal_line ? std::string_view(item.kept_frame) : as_received;
  const bool is_timed = run_.settings().clock == clock_kind::wall || (run_.settings().stamped && item.is_refusal_line);
  if (passes && is_timed) run_.advance(*passes, item.answer);
  item.answer.refused = note;
  item.seq = seq;
  sessions_[s].taken_seq = seq;
  forget_replies(sessions_[s]);
  keep_and_answer(s, item);
}

void inbox::refuse_too_large(session_index s, std::size_t bytes, milliseconds stamp) {
  refusal_note note;
  note.consider(refusal::too_large, "",
                "the message has " + std::to_string(bytes) + " bytes; the limit is " +
                    std::to_string(run_.settings().limits.message_bytes),
                limit_id::message_bytes);
  const std::uint64_t seq = ++sessions_[s].place;
  if (seq <= sessions_[s].taken_seq) return repeat(s, seq);
  refuse(s, seq, note, {}, stamp);
  const limit_policy policy = run_.settings().over_limit.of(limit_id::message_bytes);
  if (!run_.can_degrade(limit_id::message_bytes, policy)) return;
  degrade(work().effects.draft(), limit_id::message_bytes, policy, stamp);
}

const effects& inbox::receive_refused(session_index s, std::string_view line, milliseconds stamp) {
  const std::optional<refused_line> was = work().decoder.refused_line_of(line);
  if (!was || was->seq != sessions_[s].taken_seq + 1) return receive(s, line, stamp);
  effects& out = begin();
  sessions_[s].place = was->seq;
  refuse(s, was->seq, was->note, {}, was->ts.value_or(stamp));
  return out;
}

void inbox::durable(session_index s, std::uint64_t seq) {
  session& of = sessions_[s];
  of.durable_seq = std::max(of.durable_seq, seq);
  forget_replies(of);
}

// A client that reconnected and has not yet repeated a message still needs its answer, even if the message is durable.
void inbox::forget_replies(session& of) {
  const std::uint64_t upto = std::min(of.durable_seq, of.place);
  const auto is_full = [&] {
    return of.unacked.size() > options_.window || of.unacked.bytes() > max_durable_reply_bytes;
  };
  while (!of.unacked.empty() && of.unacked.first_seq() <= upto && (!options_.keep_durable_replies || is_full())) {
    of.unacked.remove_first();
  }
}

// ---- own lines

// If `refused` hit a limit whose policy is not `refuse`: degrades the run, so that it can take the message, and returns
// true.
bool inbox::degrade_for(record& refused, milliseconds stamp) {
  if (!refused.answer.refused.limit) return false;
  const limit_id hit = *refused.answer.refused.limit;
  const limit_policy policy = run_.settings().over_limit.of(hit);
  if (!run_.can_degrade(hit, policy)) return false;
  refused.answer.refused = {};  // what was due before the message stays in the answer
  degrade(refused, hit, policy, stamp);
  return true;
}

const effects& inbox::hit(limit_id which, limit_policy policy, milliseconds stamp) {
  effects& out = begin();
  if (run_.can_degrade(which, policy)) degrade(out.draft(), which, policy, stamp);
  return out;
}

void inbox::degrade(record& item, limit_id hit, limit_policy policy, milliseconds stamp) {
  run_.degrade(hit, policy, stamp, item.answer);
  keep_own_line(item, {.kind = record_kind::limit, .limit = hit, .policy = policy});
}

const effects& inbox::resume_judging(milliseconds stamp) {
  effects& out = begin();
  begin_again(stamp);
  return out;
}

void inbox::begin_again(milliseconds stamp) {
  if (!run_.can_resume()) return;
  const limit_id passed = *run_.unjudged();
  run_.resume_judging(stamp);
  effects& out = work().effects;
  keep_own_line(out.draft(), {.kind = record_kind::limit, .limit = passed, .resumes = true});
  std::string frame;
  encode_judging_resumed(frame, run_.clock());
  const std::string& notice = out.own(std::move(frame));
  for (session_index s = 0; s < sessions_.size(); ++s) out.send(s, frame_type::notice, notice);
}

const effects& inbox::switch_mode(mode strongest, milliseconds stamp) {
  effects& out = begin();
  record& item = out.draft();
  run_.switch_mode(strongest, stamp, item.answer);
  keep_own_line(item, {.kind = record_kind::operator_mode, .strongest = strongest});
  return out;
}

// Records first what was due before the decision, even if the decision is then refused.
inbox::decided inbox::decide(const own_line& line, milliseconds stamp) {
  effects& out = begin();
  const bool is_wall = run_.settings().clock == clock_kind::wall || run_.settings().stamped;
  const milliseconds when = is_wall ? stamp : run_.clock();
  return {decide_at(line, when), out};
}

refusal_note inbox::decide_at(const own_line& line, milliseconds when) {
  pass_time(when);
  record& item = work().effects.draft();
  run_.decide({line.hold, line.decision, line.text, line.by}, when, item.answer);
  if (item.answer.refused) return item.answer.refused;
  keep_own_line(item, line);
  return {};
}

const effects& inbox::adopt_semantics(milliseconds stamp) {
  effects& out = begin();
  record& item = out.draft();
  run_.adopt_semantics(stamp, item.answer);
  keep_own_line(item, {.kind = record_kind::semantics, .version = semantics_version});
  return out;
}

void inbox::keep_own_line(record& item, const own_line& line) {
  own_line stamped = line;
  stamped.ts = run_.clock();
  encode_own_line(item.kept_frame, stamped);
  item.kind = line.kind;
  item.ts = stamped.ts;
  item.type = to_string(line.kind);
  item.frame = item.kept_frame;
  item.resumes = line.resumes;
  if (line.kind == record_kind::operator_mode) item.strongest = line.strongest;
  if (line.kind == record_kind::limit) {
    item.limit = line.limit;
    item.policy = line.policy;
  }
  encode_interventions(item);
  work().effects.keep(item);
  send_interventions(item);
}

// The record names the events that `limits.judging_work` left unjudged.
void inbox::keep_unjudged(const std::vector<std::string>& events) {
  record& item = work().effects.draft();
  item.kind = record_kind::limit;
  item.ts = run_.clock();
  item.type = to_string(item.kind);
  item.limit = limit_id::judging_work;
  encode_unjudged(item.kept_frame, events, item.ts);
  item.frame = item.kept_frame;
  work().effects.keep(item);
}

const effects& inbox::follow(const own_line& line) {
  switch (line.kind) {
    case record_kind::operator_mode: return switch_mode(line.strongest, line.ts);
    case record_kind::semantics: return adopt_semantics(line.ts);
    case record_kind::decision: {
      effects& out = begin();
      if (const refusal_note refused = decide_at(line, line.ts)) {
        std::string frame;
        encode_error(frame, refused, 0, false);
        out.send(0, frame_type::error, out.own(std::move(frame)));
      }
      return out;
    }
    default: break;
  }
  if (line.resumes) return resume_judging(line.ts);
  if (line.policy) return hit(line.limit, *line.policy, line.ts);
  return begin();  // the engine hits judging_work by itself
}

// ---- time

const effects& inbox::advance(milliseconds now) {
  effects& out = begin();
  if (run_.settings().clock == clock_kind::wall || run_.settings().stamped) pass_time(now);
  if (held_count_ > 0) release_held(now);
  return out;
}

void inbox::pass_time(milliseconds now) {
  record& item = work().effects.draft();
  run_.advance(now, item.answer);
  if (item.answer.detections.empty() && item.answer.interventions.empty()) return;
  item.kind = record_kind::firing;
  item.ts = run_.clock();
  item.type = to_string(item.kind);
  encode_interventions(item);
  work().effects.keep(item);
  send_interventions(item);
}

std::optional<milliseconds> inbox::next_due() const {
  std::optional<milliseconds> next;
  if (run_.settings().clock == clock_kind::wall) next = run_.next_due();
  if (held_count_ == 0) return next;
  for (const session& s : sessions_) {
    if (!s.held.empty() && (!next || s.held.front().release_at < *next)) next = s.held.front().release_at;
  }
  if (unfinished_release_ && (!next || *unfinished_release_ < *next)) next = unfinished_release_;
  return next;
}

// ---- several sessions

std::optional<digd::run::named_id> inbox::missing_id(const message& m) const {
  return options_.hold && sessions_.size() > 1 ? run_.first_unseen(m) : std::nullopt;
}

session::held_frame& inbox::hold(session& from, std::string_view frame, milliseconds stamp, std::size_t too_large) {
  from.held.push_back({std::string(frame), later(stamp, run_.settings().limits.reorder_ms), too_large});
  from.held_bytes += frame.size();
  ++held_count_;
  return from.held.back();
}

bool inbox::must_still_wait(const session::held_frame& head, milliseconds now) const {
  return head.release_at > now && !head.awaited.empty() && run_.is_unseen({head.awaited, head.awaits_event});
}

void inbox::drop_held(session_index s) {
  held_count_ -= sessions_[s].held.size();
  sessions_[s].held.clear();
  sessions_[s].held_bytes = 0;
}

// Releases frames that have waited long enough or whose ids are known now. Each may release others.
void inbox::release_held(milliseconds now) {
  unfinished_release_.reset();
  std::size_t released = 0;
  std::uint64_t bytes = 0;
  const std::uint64_t visited_before = run_.graph().counters().visited;
  for (bool again = true; again;) {
    again = false;
    for (session_index s = 0; s < sessions_.size(); ++s) {
      boost::container::deque<session::held_frame>& held = sessions_[s].held;
      if (held.empty() || must_still_wait(held.front(), now)) continue;
      const std::uint64_t visited = run_.graph().counters().visited - visited_before;
      if (released == max_released || bytes + visited > max_released_work) {
        unfinished_release_ = now;
        return;
      }
      ++released;
      bytes += held.front().frame.size();
      session::held_frame head = std::move(held.front());
      held.pop_front();
      sessions_[s].held_bytes -= head.frame.size();
      --held_count_;
      boost::container::deque<session::held_frame> behind = std::exchange(held, {});
      if (head.too_large > 0) {
        refuse_too_large(s, head.too_large, now);
      } else {
        take(s, work().effects.own(std::move(head.frame)), now, head.release_at > now);
      }
      const bool is_released = held.empty();
      if (!is_released) held.front().release_at = head.release_at;
      held.insert(held.end(), std::make_move_iterator(behind.begin()), std::make_move_iterator(behind.end()));
      again = again || is_released;
    }
  }
}

}  // namespace digd::ingest
