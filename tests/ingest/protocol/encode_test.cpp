#include "ingest/protocol/encode.h"
#include "engine/policy.h"

#include <algorithm>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <limits>
#include <string>

#include "ingest/protocol/decode.h"
#include "rules/rule.h"

using namespace digd;
using namespace digd::ingest;

namespace {

detection a_detection() {
  detection d;
  d.rule = rule_id::early_termination;
  d.severity = severity::failure;
  d.session = "main";
  d.at = 7;
  d.ts = 1010;
  d.event = "e5";
  d.evidence = {"e2"};
  d.evidence_total = 1;
  d.healed = true;
  d.healing = action::reroute;
  d.reason = "One sentence.";
  return d;
}

constexpr std::string_view detection_text =
    R"({"rule":"early_termination","severity":"failure","session":"main","at":7,"ts":1010,"event":"e5","agent":null,)"
    R"("evidence":["e2"],"healed":true,"healing":"reroute","cause":null,"reason":"One sentence."})";

std::string text_of(const detection& detection, bool with_witness = false) {
  std::string out;
  encode_detection(out, detection, with_witness);
  return out;
}

std::string text_of(const intervention& intervention, const answer& from) {
  std::string out;
  encode_intervention(out, intervention, from, false);
  return out;
}

std::string verdicts_of(const answer& from) {
  std::string out, event_ids;
  encode_verdicts(out, event_ids, 5, from, false);
  return out;
}

// An answer in which every text is hostile and every optional part is there.
answer a_full_answer() {
  const std::string hostile = "\"\\\n\r\t\b\f\x01\x7f</script>\u2028\u202e\U0001F600";
  answer a;
  a.detections.push_back(a_detection());
  detection& d = a.detections.back();
  d.event = d.agent = d.session = d.reason = hostile;
  d.evidence = {hostile, "x"};
  d.evidence_total = 5000;
  d.cause = cause::budget;
  d.ts = std::numeric_limits<milliseconds>::min();
  d.at = std::numeric_limits<std::uint64_t>::max();
  d.witness.activations = {{hostile, hostile}};
  d.witness.events = {{hostile, ""}, {"e", "a"}};
  d.witness.edges = {{witness::edge_kind::generated, hostile, "e"},
                     {witness::edge_kind::delivered, "e", hostile, reaction::discard},
                     {witness::edge_kind::pending, "e", "a"}};
  d.witness.truncated = true;
  a.verdicts.push_back({hostile, action::reroute, {hostile, "b"}, hostile, {0, 0}});
  a.interventions.push_back({"give:" + hostile + ":1", action::reroute, hostile, {hostile}, hostile, {0}});
  return a;
}

run_settings unusual_settings() {
  run_settings s = default_settings();
  s.mode = mode::shadow;
  s.clock = clock_kind::trace;
  s.budget = 0;
  s.of(rule_id::early_termination).kinds = {"", "\"odd\"", "solution"};
  s.of(rule_id::deadlock).except = {"coder", "planner"};
  s.max_returns_per_agent = 7;
  s.of(rule_id::early_termination).max_attempts = 18446744073709551615u;
  s.of(rule_id::early_termination).skip_repeated = true;
  s.of(rule_id::cross_lineage_aggregation).mode = mode::off;
  s.of(rule_id::deadlock).window_ms = 1;
  s.of(rule_id::excessive_rerouting).max_reroutes = 9;
  s.of(rule_id::missing_termination).text = "Submit,\nplease: {agent}";
  s.limits.stalled_ms = 1;
  s.limits.settled_events = 2;
  s.limits.generators = 3;
  s.limits.message_bytes = 4;
  s.limits.reorder_ms = 5;
  s.limits.agents = 6;
  s.limits.recipients = 7;
  s.limits.inputs = 8;
  s.limits.live_events = 9;
  s.limits.open_activations = 10;
  s.limits.sessions = 11;
  return s;
}

hello a_hello() {
  hello h;
  h.protocol = 1;
  h.run = "r\"1\"";
  h.session = "s";
  h.agents = {{"planner", "coder"}};
  h.able.reroute = false;
  h.witness = true;
  h.labels = {{"task", "t42"}, {"\"", "\n"}};
  return h;
}

hello decoded_hello(const hello& original, const run_settings& settings) {
  std::string text;
  encode_trace_hello(text, original, settings);
  hello out;
  const refusal_note note = decoder{}.decode_hello(text, out);
  CAPTURE(text, note.text);
  REQUIRE_FALSE(note);
  return out;
}

}  // namespace

TEST_CASE("an_ack_is_its_seq", "[encode]") {
  std::string out = "before ";
  encode_ack(out, 5);
  CHECK(out == R"(before {"type":"ack","seq":5})");
}

TEST_CASE("an_error_has_its_code_field_and_message", "[encode]") {
  std::string out;
  encode_error(out, {refusal::bad_message, "agent", "agent is missing"}, 6, false);
  CHECK(out ==
        R"({"type":"error","code":"bad_message","seq":6,"field":"agent","message":"agent is missing","fatal":false})");
}

TEST_CASE("an_error_without_seq_or_field_omits_them", "[encode]") {
  std::string out;
  encode_error(out, {refusal::unauthorized, "", "no"}, 0, true);
  CHECK(out == R"({"type":"error","code":"unauthorized","message":"no","fatal":true})");
}

TEST_CASE("a_detection_has_its_fields_in_the_protocols_order", "[encode]") {
  CHECK(text_of(a_detection()) == detection_text);
}

TEST_CASE("a_windows_detection_has_no_message", "[encode]") {
  detection d = a_detection();
  d.session.reset();
  d.at.reset();
  d.event.reset();
  d.agent = "coder";
  d.healed = false;
  d.healing = action::none;
  d.cause = cause::target;
  CHECK(
      text_of(d) ==
      R"({"rule":"early_termination","severity":"failure","session":null,"at":null,"ts":1010,"event":null,)"
      R"("agent":"coder","evidence":["e2"],"healed":false,"healing":null,"cause":"target","reason":"One sentence."})");
}

TEST_CASE("evidence_that_was_cut_gives_its_total", "[encode]") {
  detection d = a_detection();
  d.evidence_total = 4000;
  CHECK(text_of(d).find(R"("evidence":["e2"],"evidence_total":4000,"healed")") != std::string::npos);
}

TEST_CASE("a_detection_has_a_witness_only_if_asked_for", "[encode]") {
  detection d = a_detection();
  d.witness.activations = {{"v1", "coder"}};
  d.witness.events = {{"e1", ""}, {"e2", "coder"}};
  d.witness.edges = {{witness::edge_kind::delivered, "e1", "v1", reaction::wait},
                     {witness::edge_kind::generated, "v1", "e2"},
                     {witness::edge_kind::pending, "e2", "tester"}};
  CHECK(text_of(d) == detection_text);
  const std::string start{detection_text.substr(0, detection_text.size() - 1)};
  CHECK(text_of(d, true) ==
        start + R"(,"witness":{"activations":[{"id":"v1","agent":"coder"}],)"
                R"("events":[{"id":"e1","agent":null},{"id":"e2","agent":"coder"}],)"
                R"("edges":[{"kind":"delivered","from":"e1","to":"v1","label":"wait"},)"
                R"({"kind":"generated","from":"v1","to":"e2"},{"kind":"pending","from":"e2","to":"tester"}]}})");
  d.witness.truncated = true;
  CHECK(text_of(d, true).ends_with(R"(],"truncated":true}})"));
}

TEST_CASE("an_empty_witness_is_empty_lists", "[encode]") {
  CHECK(text_of(a_detection(), true).ends_with(R"("witness":{"activations":[],"events":[],"edges":[]}})"));
}

TEST_CASE("a_delivered_events_verdict_is_short", "[encode]") {
  answer a;
  a.verdicts = {{"e4", action::deliver, {}, "", {}}};
  CHECK(verdicts_of(a) == R"({"type":"verdicts","seq":5,"verdicts":[{"event":"e4","action":"deliver"}]})");
}

TEST_CASE("verdicts_stand_in_the_order_judged_with_their_own_detections", "[encode]") {
  answer a;
  a.detections = {a_detection(), a_detection()};
  a.detections[0].event = "first";
  a.verdicts = {{"e3", action::inject, {"not said"}, "text", {}}, {"e5", action::reroute, {"coder"}, "why", {1}}};
  CHECK(verdicts_of(a) == R"({"type":"verdicts","seq":5,"verdicts":[{"event":"e3","action":"inject","inject":"text"},)"
                          R"({"event":"e5","action":"reroute","recipients":["coder"],"inject":"why","detections":[)" +
                              std::string{detection_text} + "]}]}");
}

TEST_CASE("no_verdicts_are_an_empty_list", "[encode]") {
  CHECK(verdicts_of({}) == R"({"type":"verdicts","seq":5,"verdicts":[]})");
}

TEST_CASE("an_intervention_that_creates_has_no_event", "[encode]") {
  answer a;
  a.detections = {a_detection()};
  CHECK(
      text_of({"sys:1", action::create, {}, {"planner", "coder"}, "do", {0}}, a) ==
      R"({"type":"intervention","id":"sys:1","action":"create","recipients":["planner","coder"],"inject":"do","detections":[)" +
          std::string{detection_text} + "]}");
}

TEST_CASE("an_intervention_that_gives_back_names_its_event", "[encode]") {
  CHECK(
      text_of({"give:e2:1", action::reroute, "e2", {"planner"}, "do", {}}, {}) ==
      R"({"type":"intervention","id":"give:e2:1","action":"reroute","event":"e2","recipients":["planner"],"inject":"do"})");
}

TEST_CASE("a_welcome_has_the_settings_in_effect", "[encode]") {
  std::string out;
  encode_welcome(out, {"r1", "main", 41, 250, 1024}, default_settings());
  CHECK(out.starts_with(
      R"({"type":"welcome","protocol":1,"run":"r1","session":"main","acked_seq":41,"mode":"enforce","rules":{)"));
  CHECK(out.ends_with(R"(}},)"
                      R"("limits":{"stalled_ms":300000,"settled_events":100000,"generators":4096,)"
                      R"("judging_work":4000000,"message_bytes":1048576,"reorder_ms":50,)"
                      R"("agents":100000,"recipients":100000,"inputs":100000,"live_events":1000000,)"
                      R"("open_activations":100000,"sessions":1000},)"
                      R"("healing":{"budget":1000,"max_returns_per_agent":5},"guards":{},)"
                      R"("verdict_deadline_ms":250,"credits":1024})"));
}

TEST_CASE("a_welcome_has_the_options_of_each_rule_in_the_order_of_the_catalog", "[encode]") {
  std::string out;
  encode_welcome(out, {"r1", "main", 41, 250, 1024}, default_settings());
  std::size_t at = 0;
  for (const char* rule : {R"("early_termination":{"mode":"enforce","kinds":[],"max_attempts":3})",
                           R"("orphaned_event":{"mode":"enforce","window_ms":5000,"max_attempts":3})",
                           R"("excessive_rerouting":{"mode":"enforce","max_reroutes":2})",
                           R"("cross_lineage_aggregation":{"mode":"enforce","kinds":[]})",
                           R"("repeated_subproblem":{"mode":"enforce","kinds":[]})",
                           R"("deadlock":{"mode":"enforce","window_ms":10000,"max_attempts":3})",
                           R"("missing_termination":{"mode":"enforce","window_ms":10000,"max_attempts":3})"}) {
    INFO(rule);
    at = out.find(rule, at);
    REQUIRE(at != std::string::npos);
  }
  const boost::json::value parsed = boost::json::parse(out);
  const boost::json::object& rules = parsed.at("rules").as_object();
  REQUIRE(rules.size() == failure_rule_count);
  CHECK(std::equal(rules.begin(), rules.end(), failure_rule_names.begin(),
                   [](const auto& rule, std::string_view name) { return rule.key() == name; }));
}

TEST_CASE("guards_are_written_with_the_options_in_effect_in_the_order_of_their_tables", "[encode]") {
  run_settings settings = default_settings();
  guard_settings& g = settings.guards;
  g.budget = {1, 2'500'000, 3, 4, 5, 6};
  g.per = budget_scope::agent;
  g.warn_at = 0.5;
  g.max_depth = 7;
  g.max_live = 9;
  g.max_repeats = 10;
  g.window = 11;
  g.after_ms = 12;
  std::string out;
  encode_guards(out, settings);
  CHECK(out == R"({"budget":{"mode":"enforce","action":["return"],"max_tokens":1,"max_cost":2.5,"max_model_calls":3,)"
               R"("max_tool_calls":4,"max_activations":5,"max_ms":6,"per":"agent","warn_at":0.5},)"
               R"("fan_out":{"mode":"enforce","action":["return"],"max_depth":7,"max_live":9},)"
               R"("repetition":{"mode":"enforce","action":["inject","return"],"max_repeats":10,"window":11},)"
               R"("stall":{"mode":"enforce","action":["observe"],"after_ms":12},)"
               R"("hold_ms":300000,"on_timeout":"release"})");
}

TEST_CASE("every_encoded_frame_is_JSON_with_the_values_it_was_given", "[encode]") {
  const answer a = a_full_answer();
  std::string text, event_ids;
  encode_verdicts(text, event_ids, 5, a, true);
  const boost::json::value parsed = boost::json::parse(text);
  const boost::json::value& verdict = parsed.at("verdicts").at(0);
  CHECK(verdict.at("event").as_string() == a.verdicts[0].event);
  CHECK(verdict.at("inject").as_string() == a.verdicts[0].inject);
  CHECK(verdict.at("detections").as_array().size() == 2);
  const boost::json::value& seen = verdict.at("detections").at(0);
  CHECK(seen.at("reason").as_string() == a.detections[0].reason);
  CHECK(seen.at("at").as_uint64() == *a.detections[0].at);
  CHECK(seen.at("ts").as_int64() == a.detections[0].ts);
  CHECK(seen.at("witness").at("activations").at(0).at("id").as_string() == a.verdicts[0].event);

  text.clear();
  encode_intervention(text, a.interventions[0], a, true);
  CHECK(boost::json::parse(text).at("id").as_string() == a.interventions[0].id);

  text.clear();
  encode_error(text, {refusal::bad_message, a.verdicts[0].event, a.verdicts[0].event}, 1, false);
  CHECK(boost::json::parse(text).at("message").as_string() == a.verdicts[0].event);

  text.clear();
  encode_welcome(text, {a.verdicts[0].event, a.verdicts[0].event}, unusual_settings());
  CHECK(boost::json::parse(text).at("run").as_string() == a.verdicts[0].event);
}

TEST_CASE("only_plain_deliveries_are_encoded_as_ids", "[encode]") {
  answer a;
  a.detections.push_back(a_detection());
  const auto ids_of = [&a] {
    std::string frame, ids;
    encode_verdicts(frame, ids, 5, a, false);
    return ids;
  };
  CHECK(ids_of().empty());
  a.verdicts = {{.event = "e1"}, {.event = "\"\u202e"}};
  CHECK(ids_of() == R"(["e1","\"\u202e"])");
  const verdict others[] = {{.event = "e2", .action = action::reroute},
                            {.event = "e2", .inject = "text"},
                            {.event = "e2", .detections = {0}}};
  for (const verdict& other : others) {
    a.verdicts = {{.event = "e1"}, other, {.event = "e3"}};
    CHECK(ids_of().empty());
  }
}

TEST_CASE("a_traces_hello_has_the_settings_in_effect", "[encode]") {
  std::string out;
  hello asked;
  asked.run = "r1";
  encode_trace_hello(out, asked, {});
  const std::string start =
      R"({"type":"hello","protocol":1,"run":"r1","session":"main","mode":"enforce","clock":"trace","stamped":true,"semantics":2,"rules":{"early_termination":{"mode":"enforce",)";
  CHECK(out.substr(0, start.size()) == start);
  CHECK(out.ends_with(R"("capabilities":{"inject":true,"reroute":true,"create":true},"witness":false,"labels":{}})"));
}

TEST_CASE("a_traces_hello_decodes_to_the_same_settings", "[encode]") {
  const run_settings held = unusual_settings();
  run_policy open;
  open.defaults.budget = 77;
  open.caps.settled_events = held.limits.settled_events;
  const hello again = decoded_hello(a_hello(), held);
  CHECK(effective_settings(again, open) == held);
  CHECK(effective_settings(decoded_hello(a_hello(), default_settings()), {}).rules == default_settings().rules);
  CHECK(effective_settings(decoded_hello(a_hello(), default_settings()), {}).limits == default_settings().limits);
}

TEST_CASE("a_traces_hello_decodes_to_the_same_client", "[encode]") {
  const hello original = a_hello();
  const hello again = decoded_hello(original, {});
  CHECK(again.run == original.run);
  CHECK(again.session == original.session);
  CHECK(again.agents == original.agents);
  CHECK(again.able.inject);
  CHECK_FALSE(again.able.reroute);
  CHECK(again.witness);
  CHECK(again.labels == original.labels);
}

TEST_CASE("the_roster_of_a_trace_is_open_if_the_runs_was", "[encode]") {
  hello original = a_hello();
  original.agents.reset();
  CHECK_FALSE(decoded_hello(original, {}).agents.has_value());
  original.agents.emplace();
  CHECK(decoded_hello(original, {}).agents.has_value());
}

TEST_CASE("a_traces_hello_is_marked_if_the_stamps_were_the_daemons_own", "[encode]") {
  run_settings held = default_settings();
  held.clock = clock_kind::wall;
  CHECK(decoded_hello(a_hello(), held).stamped);
  CHECK(decoded_hello(a_hello(), held).clock == clock_kind::trace);
  held.clock = clock_kind::trace;
  CHECK_FALSE(decoded_hello(a_hello(), held).stamped);
  held.stamped = true;
  CHECK(decoded_hello(a_hello(), held).stamped);
}

TEST_CASE("an_encoded_traces_hello_encodes_to_the_same_bytes_again", "[encode]") {
  run_settings held = unusual_settings();
  held.stamped = true;
  std::string once, twice;
  encode_trace_hello(once, a_hello(), held);
  const hello again = decoded_hello(a_hello(), held);
  encode_trace_hello(twice, again, effective_settings(again, {}));
  CHECK(once == twice);
}

TEST_CASE("a_refusal_keeps_the_first_in_the_protocols_order", "[engine]") {
  refusal_note note;
  CHECK_FALSE(note);
  note.consider(refusal::run_closed, "a", "closed");
  note.consider(refusal::bad_seq, "b", "seq");
  note.consider(refusal::over_limit, "c", "much");
  note.consider(refusal::bad_seq, "d", "again");
  note.consider(refusal::none, "e", "nothing");
  CHECK(note.code == refusal::bad_seq);
  CHECK(note.field == "b");
  CHECK(note.text == "seq");
}

TEST_CASE("every_word_on_the_wire_is_spelled_as_in_the_protocol", "[engine]") {
  CHECK(to_string(refusal::bad_json) == "bad_json");
  CHECK(to_string(refusal::settled_event) == "settled_event");
  CHECK(to_string(refusal::submit_without_source) == "submit_without_source");
  CHECK(to_string(refusal::hello_conflict) == "hello_conflict");
  CHECK(to_string(message_type::agent_joined) == "agent_joined");
  CHECK(to_string(message_type::run_ended) == "run_ended");
  CHECK(to_string(reaction::reroute) == "reroute");
  CHECK(to_string(applied::failed) == "failed");
  CHECK(to_string(run_outcome::aborted) == "aborted");
  CHECK(to_string(action::create) == "create");
  CHECK(to_string(cause::budget) == "budget");
  CHECK(to_string(severity::failure) == "failure");
  CHECK(to_string(outcome_kind::unresolved) == "unresolved");
}
