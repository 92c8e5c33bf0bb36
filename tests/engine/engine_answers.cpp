#include "tests/engine/engine_answers.h"

#include <algorithm>
#include <boost/json.hpp>
#include <iterator>

#include "ingest/protocol/replay.h"
#include "oracle/oracle.h"

namespace digd::tests {

namespace {

namespace json = boost::json;

json::value or_null(const std::optional<std::string>& text) { return text ? json::value(*text) : json::value(); }

json::array names(const std::vector<std::string>& texts) { return json::array(texts.begin(), texts.end()); }

json::value name_or_null(std::string_view text) {
  return text.empty() || text == "none" ? json::value() : json::value(text);
}

std::string line(const detection& d) {
  json::object out{{"d", to_string(d.rule)},
                   {"at", d.at ? json::value(*d.at) : json::value()},
                   {"ts", d.ts},
                   {"session", or_null(d.session)},
                   {"event", or_null(d.event)},
                   {"agent", or_null(d.agent)},
                   {"evidence", names(d.evidence)},
                   {"total", d.evidence_total},
                   {"healed", d.healed},
                   {"healing", d.healing == action::none ? json::value() : name_or_null(to_string(d.healing))},
                   {"cause", d.cause == cause::none ? json::value() : name_or_null(to_string(d.cause))}};
  if (d.guard) {
    out["action"] = to_string(*d.guard);
    out["limits"] = json::array(d.limits.begin(), d.limits.end());
  }
  return json::serialize(out);
}

std::string line(const verdict& v, std::uint64_t seq, std::string_view session) {
  json::object out{{"v", seq},
                   {"session", session},
                   {"event", v.event},
                   {"action", to_string(v.action)},
                   {"recipients", v.recipients.empty() ? json::value() : json::value(names(v.recipients))}};
  if (v.hold != 0) out["hold"] = v.hold;
  out["inject"] = !v.inject.empty();
  return json::serialize(out);
}

std::string line(const intervention& i) {
  json::object out{
      {"i", i.id}, {"action", to_string(i.action)}, {"event", or_null(i.event)}, {"recipients", names(i.recipients)}};
  if (i.action == action::cancel) out["activations"] = names(i.activations);
  out["inject"] = !i.inject.empty();
  return json::serialize(out);
}

std::string error_line(std::uint64_t seq, std::string_view session, std::string_view code, std::string_view field) {
  return json::serialize(json::object{{"e", seq},
                                      {"session", session},
                                      {"code", code},
                                      {"field", code == "bad_message" ? json::value(field) : json::value()}});
}

std::string status_line(const digd::run& r) {
  const graph::graph& g = r.graph();
  std::vector<std::string> reachable, roster;
  for (const graph::event_index e : g.reachable()) reachable.push_back(g.event(e).id);
  std::sort(reachable.begin(), reachable.end());
  for (const graph::agent_index a : g.roster()) roster.push_back(g.agent(a).name);
  json::object status{{"reachable", names(reachable)},
                      {"active", g.active_count()},
                      {"roster", names(roster)},
                      {"terminal", r.terminal()},
                      {"clock", r.clock()}};
  json::array holds;
  for (const auto& [number, hold] : r.open_holds().by_number()) holds.emplace_back(number);
  if (!holds.empty()) status["holds"] = std::move(holds);
  return json::serialize(json::object{{"s", std::move(status)}});
}

void append(std::vector<std::string>& out, const ingest::record& record) {
  const answer& a = record.answer;
  for (std::uint32_t d = 0; d < a.detections.size(); ++d) {
    if (a.detections[d].at) continue;
    out.push_back(line(a.detections[d]));
    for (const intervention& i : a.interventions) {
      if (!i.detections.empty() && i.detections.front() == d) out.push_back(line(i));
    }
  }
  for (const intervention& i : a.interventions) {
    if (i.detections.empty()) out.push_back(line(i));  // the end of a hold
  }
  for (const detection& d : a.detections) {
    if (d.at) out.push_back(line(d));
  }
  for (const intervention& i : a.interventions) {
    if (!i.detections.empty() && a.detections[i.detections.front()].at) out.push_back(line(i));
  }
  for (const verdict& v : a.verdicts) out.push_back(line(v, record.seq, record.session));
  if (a.refused) out.push_back(error_line(record.seq, record.session, to_string(a.refused.code), a.refused.field));
}

// A `bad_seq` or `hold_closed` leaves no record, so read it from its frame.
void append_bad_seq(std::vector<std::string>& out, std::string_view frame, const std::string& first_session) {
  if (frame.find("\"hold_closed\"") != std::string_view::npos) {
    const json::object closed{{"e", nullptr}, {"session", ""}, {"code", "hold_closed"}, {"field", nullptr}};
    out.push_back(json::serialize(closed));
  }
  if (frame.find("\"bad_seq\"") == std::string_view::npos) return;
  const json::object reply = json::parse(frame).as_object();
  if (reply.at("type") != "error") return;
  const json::value* session = reply.if_contains("session");
  out.push_back(error_line(static_cast<std::uint64_t>(reply.at("seq").to_number<std::int64_t>()),
                           session != nullptr ? std::string_view(session->as_string()) : first_session, "bad_seq", ""));
}

}  // namespace

std::vector<std::string> engine_answers(const std::vector<std::string>& trace) {
  std::vector<std::string> out;
  ingest::replay::listener to;
  to.record = [&](const ingest::record& record) { append(out, record); };
  const json::object hello = json::parse(trace.front()).as_object();
  const json::value* session = hello.if_contains("session");
  const std::string first_session = session != nullptr ? std::string(session->as_string()) : "main";
  to.frame = [&](std::string_view frame) { append_bad_seq(out, frame, first_session); };
  ingest::replay through(run_policy{}, to);
  for (const std::string& text : trace) {
    if (!through.line(text)) out.push_back("stopped: " + through.problem());
    if (through.run() != nullptr) out.push_back(status_line(*through.run()));
  }
  return out;
}

std::string disagreement(const std::vector<std::string>& trace) {
  const std::vector<std::string> expected = oracle::evaluate(trace);
  const std::vector<std::string> engine = engine_answers(trace);
  const auto [a, b] = std::mismatch(expected.begin(), expected.end(), engine.begin(), engine.end());
  if (a == expected.end() && b == engine.end()) return {};
  const auto at = std::count_if(expected.begin(), a, [](const std::string& s) { return s.starts_with("{\"s\""); });
  return "line " + std::to_string(at + 1) + ": " +
         (static_cast<std::size_t>(at) < trace.size() ? trace[static_cast<std::size_t>(at)] : "") + "\n  oracle " +
         (a == expected.end() ? "nothing" : *a) + "\n  engine " + (b == engine.end() ? "nothing" : *b);
}

}  // namespace digd::tests
