#include "tests/simulation/recorded_run.h"

#include "ingest/protocol/decode.h"
#include "ingest/protocol/encode.h"

namespace digd::tests {

void digest::mix(std::string_view text) {
  for (const char c : text) value_ = (value_ ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  mix(text.size());
}

void digest::mix(std::uint64_t number) {
  value_ = (value_ ^ number) * 1099511628211ull;
  value_ ^= value_ >> 29;
}

std::uint64_t digest_of(const ingest::record& record) {
  digest d;
  d.mix(static_cast<std::uint64_t>(record.kind));
  d.mix(record.session);
  d.mix(record.seq);
  d.mix(static_cast<std::uint64_t>(record.ts));
  d.mix(to_string(record.answer.refused.code));
  d.mix(record.answer.refused.field);
  d.mix(record.answer.refused.text);
  d.mix(record.verdicts);
  d.mix(record.answered);
  for (const std::string& frame : record.interventions) d.mix(frame);
  std::string text;
  for (const detection& detection : record.answer.detections) {
    text.clear();
    ingest::encode_detection(text, detection, true);
    d.mix(text);
  }
  for (const outcome_report& outcome : record.answer.outcomes) {
    d.mix(to_string(outcome.rule));
    d.mix(static_cast<std::uint64_t>(outcome.ts));
    d.mix(outcome.event.value_or(""));
    d.mix(static_cast<std::uint64_t>(outcome.detected_ts));
    d.mix(to_string(outcome.outcome));
  }
  return d.value();
}

std::uint64_t digest_of(const digd::run& run) {
  const graph::graph& g = run.graph();
  digest d;
  const auto name = [&](graph::agent_index a) { return a == graph::nobody ? std::string_view() : g.agent(a).name; };
  for (const graph::event_index i : g.all_events()) {
    const graph::event_node& e = g.event(i);
    d.mix(e.id);
    d.mix(name(e.source_agent));
    d.mix(e.submit | e.fyi << 1 | e.placeholder << 2 | e.settled << 3 | e.consumed << 4 | e.derived << 5);
    d.mix(static_cast<std::uint64_t>(e.window));
    d.mix(e.reroute_acts);
    for (const graph::delivery& delivery : e.deliveries) {
      d.mix(name(delivery.agent));
      d.mix(static_cast<std::uint64_t>(delivery.state) << 1 | delivery.given_back);
    }
  }
  for (const graph::activation_index i : g.all_activations()) {
    const graph::activation_node& v = g.activation(i);
    d.mix(v.id);
    d.mix(name(v.agent));
    d.mix(v.open | v.active << 1 | v.failed << 2);
    d.mix(static_cast<std::uint64_t>(v.heard_ms));
    d.mix(v.output_count);
  }
  for (const graph::agent_index a : g.roster()) d.mix(name(a));
  d.mix(run.terminal() | run.ended() << 1);
  d.mix(run.healing().budget_used());
  d.mix(run.system_events());
  for (const auto& [number, hold] : run.open_holds().by_number()) {
    d.mix(number);
    d.mix(g.event(hold.event).id);
    d.mix(static_cast<std::uint64_t>(hold.due_ms));
  }
  d.mix(static_cast<std::uint64_t>(run.clock()));
  d.mix(static_cast<std::uint64_t>(run.next_due().value_or(-1)));
  return d.value();
}

recorded_entry entry_of(const ingest::record& record, std::uint64_t n) {
  using kind = ingest::record_kind;
  recorded_entry e;
  e.stored.kind = record.kind == kind::message     ? archive::entry_kind::message
                  : record.kind == kind::refused   ? archive::entry_kind::refused
                  : record.kind == kind::firing    ? archive::entry_kind::firing
                  : record.kind == kind::limit     ? archive::entry_kind::limit
                  : record.kind == kind::semantics ? archive::entry_kind::semantics
                  : record.kind == kind::decision  ? archive::entry_kind::decision
                                                   : archive::entry_kind::operator_mode;
  e.stored.n = n;
  e.stored.seq = record.seq;
  e.stored.session = record.session;
  e.stored.type = record.type;
  e.stored.frame = record.frame;
  e.stored.ts = record.ts;
  if (record.answer.refused) e.stored.code = to_string(record.answer.refused.code);
  e.response = record.response;
  e.value = digest_of(record);
  return e;
}

recorded_entry joining_entry(const hello& greeting, std::string frame, milliseconds ts, std::uint64_t n) {
  recorded_entry e;
  e.stored.kind = archive::entry_kind::session_joined;
  e.stored.n = n;
  e.stored.session = greeting.session;
  e.stored.type = "hello";
  e.stored.frame = std::move(frame);
  e.stored.ts = ts;
  return e;
}

namespace {

recovered_answers answers_in(const ingest::effects& effects) {
  recovered_answers out{.fits = true, .values = {}};
  for (const ingest::effect& e : effects) {
    if (e.action == ingest::effect::action::keep) out.values.push_back(digest_of(*e.item));
  }
  return out;
}

recovered_answers recover_joining(ingest::inbox& in, ingest::decoder& decoder, const archive::stored_entry& e) {
  hello greeting;
  if (decoder.decode_hello(e.frame, greeting)) return {};
  // The hello was accepted when it was recorded, and the settings of the run are fixed.
  greeting.clock.reset();
  greeting.mode.reset();
  greeting.rules = {};
  return {.fits = !in.join(greeting, run_policy{}).refused, .values = {}};
}

recovered_answers recover_frame(ingest::inbox& in, const archive::stored_entry& e) {
  const auto s = in.find_session(e.session);
  if (!s) return {};
  recovered_answers out = answers_in(e.kind == archive::entry_kind::refused ? in.receive_refused(*s, e.frame, e.ts)
                                                                            : in.receive(*s, e.frame, e.ts));
  out.fits = in.sessions()[*s].taken_seq == e.seq;
  return out;
}

}  // namespace

recovered_answers recover_entry(ingest::inbox& in, ingest::decoder& decoder, const archive::stored_entry& e) {
  switch (e.kind) {
    case archive::entry_kind::run_opened:
    case archive::entry_kind::run_deleted:
    case archive::entry_kind::judgement:
    case archive::entry_kind::barrier: return {.fits = true, .values = {}};  // a barrier is never stored
    case archive::entry_kind::session_joined: return recover_joining(in, decoder, e);
    case archive::entry_kind::firing: return answers_in(in.advance(e.ts));
    case archive::entry_kind::operator_mode:
    case archive::entry_kind::limit:
    case archive::entry_kind::semantics:
    case archive::entry_kind::decision: {
      const auto line = decoder.own_line_of(e.frame);
      return line ? answers_in(in.follow(*line)) : recovered_answers{};
    }
    case archive::entry_kind::message:
    case archive::entry_kind::refused: break;
  }
  return recover_frame(in, e);
}

}  // namespace digd::tests
