#include <boost/json.hpp>

#include "base/json_writer.h"
#include "report/conclusion.h"
#include "report/picture/model.h"
#include "report/text.h"

namespace digd::report {

namespace json = boost::json;

namespace {

json::array texts(const std::vector<std::string>& given_texts) {
  json::array out;
  for (const std::string& text : given_texts) out.emplace_back(text);
  return out;
}

json::array counts(const std::vector<std::uint32_t>& values) {
  json::array out;
  for (const std::uint32_t n : values) out.emplace_back(n);
  return out;
}

std::string_view view_of(json::string_view text) { return {text.data(), text.size()}; }

json::value or_null(const std::string& text) { return text.empty() ? json::value(nullptr) : json::value(text); }

json::value flow_end(const observed& seen, index end) {
  if (end == flow::outside) return nullptr;
  return json::object(end == flow::monitor ? json::object{{"digd", true}}
                                           : json::object{{"agent", seen.agents[end].name}});
}

json::array agents_of(const observed& seen) {
  json::array out;
  for (const agent_facts& a : seen.agents) {
    out.push_back(json::object{{"agent", a.name},
                               {"activations", a.activations},
                               {"failed", a.failed},
                               {"open", a.open},
                               {"busy_ms", a.busy_ms},
                               {"inputs", a.inputs},
                               {"consumed", a.consumed},
                               {"waited", a.waited},
                               {"discarded", a.discarded},
                               {"rerouted", a.rerouted},
                               {"outputs", a.outputs},
                               {"findings", a.findings},
                               {"starts", counts(a.starts)}});
  }
  return out;
}

json::array flows_of(const observed& seen) {
  json::array out;
  for (const flow& f : seen.flows) {
    out.push_back(json::object{
        {"from", flow_end(seen, f.from)}, {"to", flow_end(seen, f.to)}, {"given", f.given}, {"idle", f.idle}});
  }
  return out;
}

json::object rules_of(const observed& seen) {
  json::object out;
  for (std::size_t i = 0; i < rule_count; ++i) {
    const rule_facts& r = seen.rules[i];
    if (r.found == 0) continue;
    json::object causes, outcomes;
    for (std::size_t c = 1; c < r.causes.size(); ++c) {
      if (r.causes[c] > 0) causes[to_string(static_cast<cause>(c))] = r.causes[c];
    }
    for (std::size_t k = 0; k < r.outcomes.size(); ++k)
      outcomes[to_string(static_cast<outcome_kind>(k))] = r.outcomes[k];
    out[rule_names[i]] = json::object{{"found", r.found},
                                      {"healed", r.healed},
                                      {"causes", std::move(causes)},
                                      {"outcomes", std::move(outcomes)},
                                      {"over_time", counts(r.over_time)}};
  }
  return out;
}

json::object witness_of(const witness& w) {
  const auto nodes = [](const std::vector<witness::node>& given_nodes) {
    json::array out;
    for (const witness::node& n : given_nodes) out.push_back(json::object{{"id", n.id}, {"agent", or_null(n.agent)}});
    return out;
  };
  json::array edges;
  for (const witness::edge& e : w.edges) {
    const char* kind = e.kind == witness::edge_kind::generated   ? "generated"
                       : e.kind == witness::edge_kind::delivered ? "delivered"
                                                                 : "pending";
    json::object object{{"kind", kind}, {"from", e.from}, {"to", e.to}};
    if (e.label != reaction::none) object["reaction"] = to_string(e.label);
    edges.push_back(std::move(object));
  }
  return {{"activations", nodes(w.activations)},
          {"events", nodes(w.events)},
          {"edges", std::move(edges)},
          {"truncated", w.truncated}};
}

json::array detections_of(const observed& seen) {
  json::array out;
  for (const reported_detection& d : seen.detections) {
    json::object object{{"rule", to_string(d.detection.rule)},
                        {"severity", to_string(d.detection.severity)},
                        {"ts", d.detection.ts},
                        {"line", d.line},
                        {"event", d.detection.event ? json::value(*d.detection.event) : json::value(nullptr)},
                        {"agent", d.detection.agent ? json::value(*d.detection.agent) : json::value(nullptr)},
                        {"evidence", texts(d.detection.evidence)},
                        {"reason", d.detection.reason},
                        {"healed", d.detection.healed}};
    object["cause"] =
        d.detection.cause == cause::none ? json::value(nullptr) : json::value(to_string(d.detection.cause));
    object["healing"] =
        d.detection.healing == action::none ? json::value(nullptr) : json::value(to_string(d.detection.healing));
    object["inject"] = or_null(d.inject);
    object["recipients"] = texts(d.recipients);
    object["outcome"] = d.outcome ? json::value(to_string(*d.outcome)) : json::value(nullptr);
    object["outcome_ts"] = d.outcome ? json::value(d.outcome_ts) : json::value(nullptr);
    object["witness"] = witness_of(d.detection.witness);
    out.push_back(std::move(object));
  }
  return out;
}

json::array answers_in(const document& document) {
  json::array out;
  for (const answer_line& line : document.answers) out.emplace_back(line.text);
  return out;
}

json::object conclusion_in(const conclusion& concluded) {
  json::object out{
      {"kind", to_string(concluded.verdict)}, {"confidence", to_string(concluded.sure)}, {"words", concluded.words}};
  if (concluded.verdict != conclusion::kind::suspect) return out;
  out["method"] = concluded.method;
  out["margin"] = or_null(concluded.margin);
  out["agent"] = concluded.suspect.agent;
  out["place"] = concluded.suspect.place;
  out["activation"] = or_null(concluded.suspect.activation);
  out["event"] = or_null(concluded.suspect.event);
  out["quote"] = or_null(concluded.suspect.quote);
  out["evidence"] = concluded.suspect.evidence;
  return out;
}

// Contains the pass's own JSON unchanged, so that its numbers stay as they are.
std::string part_of(const part& p) {
  json::object own{{"ran", p.ran}};
  if (!p.ran) own["why_not"] = p.not_run_reason;
  own["command"] = or_null(p.command);
  own["says"] = or_null(p.answer);
  std::string out;
  json_writer to(out);
  to.open_object();
  for (const auto& [name, value] : own) to.key(view_of(name)).raw(json::serialize(value));
  p.json.empty() ? to.key("result").null() : to.key("result").raw(p.json);
  to.close_object();
  return out;
}

}  // namespace

std::string to_json(const gathered& from, const std::vector<part>& parts, const document& document) {
  const observed& seen = from.seen;
  json::object run{{"id", seen.run},
                   {"mode", to_string(seen.mode)},
                   {"clock", to_string(seen.clock)},
                   {"outcome", or_null(seen.ended_text)},
                   {"submitted", seen.submitted},
                   {"first_ts", seen.first_ts},
                   {"last_ts", seen.last_ts},
                   {"messages", seen.messages},
                   {"refused", seen.refused},
                   {"not_observed", seen.dropped},
                   {"events", seen.events},
                   {"activations", seen.activations},
                   {"failed_activations", seen.failed},
                   {"open_activations", seen.open_at_end},
                   {"system_events", seen.system_events},
                   {"detections", seen.found},
                   {"healed", seen.healed}};
  json::array guessed;
  if (seen.guessed.links) guessed.emplace_back("links");
  if (seen.guessed.times) guessed.emplace_back("times");
  run["inferred"] = std::move(guessed);
  json::object labels;
  for (const auto& [name, value] : seen.labels) labels[name] = value;
  run["labels"] = std::move(labels);
  json::array waiting, notes;
  for (const waiting_event& w : seen.pending) waiting.push_back(json::object{{"event", w.id}, {"at", texts(w.at)}});
  for (const timed_note& n : seen.notes) notes.push_back(json::object{{"ts", n.ts}, {"text", n.text}});
  const json::object whole{
      {"format", "digd.report"},
      {"version", 1},
      {"verdict", answers_in(document)},
      {"conclusion", conclusion_in(conclude(seen, parts))},
      {"run", std::move(run)},
      {"bins", json::object{{"start", seen.time.start}, {"width_ms", seen.time.width}, {"count", seen.time.max_bins}}},
      {"agents", agents_of(seen)},
      {"agents_left_out", seen.agents_left_out},
      {"flows", flows_of(seen)},
      {"flows_left_out", seen.flows_left_out},
      {"rules", rules_of(seen)},
      {"detections", detections_of(seen)},
      {"detections_left_out", seen.found - seen.detections.size()},
      {"waiting", std::move(waiting)},
      {"waiting_total", seen.pending_total},
      {"notes", std::move(notes)},
      {"notes_left_out", seen.notes_left_out}};
  std::string out;
  json_writer to(out);
  to.open_object();
  for (const auto& [name, value] : whole) to.key(view_of(name)).raw(json::serialize(value));
  to.key("usage").raw(usage_json(seen.run, seen.clock, seen.time, seen.usage));
  to.key("passes").open_object();
  for (const part& p : parts) to.key(p.id).raw(part_of(p));
  to.close_object().close_object();
  return out + '\n';
}

}  // namespace digd::report
