#include "tests/simulation/recorded_run.h"

#include "ingest/decode.h"
#include "ingest/encode.h"

namespace digd::tests {

void digest::mix(std::string_view text) {
  for (const char c : text) value_ = (value_ ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  mix(text.size());
}

void digest::mix(std::uint64_t number) {
  value_ = (value_ ^ number) * 1099511628211ull;
  value_ ^= value_ >> 29;
}

std::uint64_t digest_of(const ingest::taken& what) {
  digest d;
  d.mix(static_cast<std::uint64_t>(what.kind));
  d.mix(what.session);
  d.mix(what.seq);
  d.mix(static_cast<std::uint64_t>(what.ts));
  d.mix(to_string(what.answer.refused.code));
  d.mix(what.answer.refused.field);
  d.mix(what.answer.refused.text);
  d.mix(what.verdicts);
  d.mix(what.answered);
  for (const std::string& frame : what.interventions) d.mix(frame);
  std::string text;
  for (const detection& one : what.answer.detections) {
    text.clear();
    ingest::encode_detection(text, one, true);
    d.mix(text);
  }
  for (const outcome_report& one : what.answer.outcomes) {
    text.clear();
    ingest::encode_outcome(text, one);
    d.mix(text);
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
    d.mix(static_cast<std::uint64_t>(e.orphan_window));
    d.mix(e.reroute_acts);
    for (const graph::delivery& one : e.deliveries) {
      d.mix(name(one.agent));
      d.mix(static_cast<std::uint64_t>(one.state) << 1 | one.given_back);
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
  d.mix(static_cast<std::uint64_t>(run.clock()));
  d.mix(static_cast<std::uint64_t>(run.next_due().value_or(-1)));
  return d.value();
}

recorded_entry entry_of(const ingest::taken& what, std::uint64_t n) {
  using kind = ingest::taken::what_kind;
  recorded_entry e;
  e.stored.kind = what.kind == kind::message   ? archive::entry_kind::message
                  : what.kind == kind::refused ? archive::entry_kind::refused
                  : what.kind == kind::firing  ? archive::entry_kind::firing
                                               : archive::entry_kind::operator_mode;
  e.stored.n = n;
  e.stored.seq = what.seq;
  e.stored.session = what.session;
  e.stored.type = what.type;
  e.stored.frame = what.frame;
  e.stored.ts = what.ts;
  if (what.answer.refused) e.stored.code = to_string(what.answer.refused.code);
  e.said = digest_of(what);
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

bool feed(ingest::inbox& in, ingest::decoder& hellos, const archive::stored_entry& e) {
  switch (e.kind) {
    case archive::entry_kind::run_opened:
    case archive::entry_kind::run_deleted:
    case archive::entry_kind::judgement: return true;
    case archive::entry_kind::session_joined: {
      hello greeting;
      if (hellos.decode_hello(e.frame, greeting)) return false;
      // It was accepted then; what it asked for is settled.
      greeting.clock.reset();
      greeting.how.reset();
      greeting.rules = {};
      return !in.join(greeting, run_policy{}).refused;
    }
    case archive::entry_kind::firing: in.advance(e.ts); return true;
    case archive::entry_kind::operator_mode: return in.follow(e.frame);
    case archive::entry_kind::message:
    case archive::entry_kind::refused: break;
  }
  const auto s = in.find_session(e.session);
  if (!s) return false;
  in.receive_recorded(*s, e.frame, e.ts);
  return in.sessions()[*s].taken_seq == e.seq;
}

}  // namespace digd::tests
