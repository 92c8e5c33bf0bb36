#include "ingest/importers/dig_graph.h"

#include <catch2/catch.hpp>

#include "tests/ingest/importers/trace_check.h"

using namespace digd::importers;
using namespace importer_tests;

namespace {

using names = std::vector<std::string>;

import_result imported(const std::string& file) {
  auto outcome = import_dig_graph(file);
  if (!outcome) FAIL(outcome.error().message);
  REQUIRE(trace_checker().check(outcome->lines) == "");
  return *outcome;
}

import_failure refused(const std::string& file, const dig_graph_options& options = {}) {
  const auto outcome = import_dig_graph(file, options);
  REQUIRE(outcome.has_error());
  return outcome.error();
}

std::string dinner() { return fixture("dig_dinner.json"); }

std::string graph_log(const std::string& events, const std::string& activations) {
  return R"({"schema":"dig.graph.v2","created_at":1.0,"events":{)" + events + R"(},"activations":{)" + activations +
         "}}";
}

// An event generated at `at`, delivered to `to` at once (to nobody if empty).
std::string event(const std::string& id, const std::string& source, const std::string& to, const std::string& at) {
  const auto recipients = to.empty() ? "" : "\"" + to + R"(":{"label":"pending"})";
  const auto delivered = to.empty() ? "" : R"(,{"label":"delivered","to":")" + to + R"(","at":)" + at + "}";
  return "\"" + id + R"(":{"id":")" + id + R"(","source_activation_id":)" +
         (source.empty() ? "null" : "\"" + source + "\"") + R"(,"payload":{},"recipients":{)" + recipients +
         R"(},"delivery_policy":{"mode":"immediate"},"timestamps":[{"label":"generated","at":)" + at + "}" + delivered +
         "]}";
}

std::string activation(const std::string& id, const std::string& agent, const std::string& inputs,
                       const std::string& outputs, const std::string& span, const std::string& more = "") {
  const auto comma = span.find(',');
  return "\"" + id + R"(":{"agent_id":")" + agent + R"(","inputs":[)" + inputs + R"(],"outputs":[)" + outputs +
         R"(],"started_at":)" + span.substr(0, comma) + R"(,"ended_at":)" + span.substr(comma + 1) + more + "}";
}

std::size_t position(const trace_view& trace, const std::string& type, const std::string& id) {
  for (std::size_t i = 0; i < trace.messages().size(); ++i) {
    const auto& message = trace.messages()[i];
    if (text(message.at("type")) != type) continue;
    const auto& named = type == "event" ? message.at("event").at("id") : message.at("activation");
    if (text(named) == id) return i;
  }
  FAIL("no " << type << " " << id);
  return 0;
}

}  // namespace

TEST_CASE("a_graph_is_imported_in_the_order_of_its_times_not_of_its_keys") {
  const auto file =
      graph_log(event("e1", "", "A", "1") + "," + event("e2", "a10", "B", "3"),
                activation("a10", "A", "\"e1\"", "\"e2\"", "2,3") + "," + activation("a2", "B", "\"e2\"", "", "4,5"));
  const trace_view trace(imported(file).lines);
  REQUIRE(position(trace, "activation_ended", "a10") < position(trace, "activation_started", "a2"));
  REQUIRE(trace.start("a2").at("ts").to_number<std::int64_t>() == 4000);
}

TEST_CASE("stated_reactions_deliveries_and_times_arrive_unchanged") {
  const trace_view trace(imported(dinner()).lines);
  REQUIRE(texts(trace.hello().at("agents")) == names{"baker", "cook", "grocer"});
  REQUIRE(trace.recipients("e1") == names{"cook"});
  REQUIRE(trace.reaction("a4", "e2") == "wait");
  REQUIRE(trace.reaction("a4", "e3") == "consume");
  REQUIRE(trace.reaction("a8", "e6") == "discard");
  REQUIRE(trace.start("a8").at("ts").to_number<std::int64_t>() == 1700000009000);
  REQUIRE(trace.start("a8").contains("inferred") == false);
}

TEST_CASE("a_declared_reroute_names_the_recipients_that_the_stamp_tells") {
  const trace_view trace(imported(dinner()).lines);
  const auto& reaction = trace.end("a2").at("reactions").at("e3").as_object();
  REQUIRE(texts(reaction.at("reroute")) == names{"baker"});
  REQUIRE(trace.recipients("e3") == names{"grocer"});  // as first addressed, not as it ended
}

TEST_CASE("a_failed_activation_declares_nothing") {
  const trace_view trace(imported(dinner()).lines);
  REQUIRE(trace.end("a3").at("failed").as_bool());
  REQUIRE(text(trace.end("a3").at("error")) == "TimeoutError");
  REQUIRE_FALSE(trace.end("a3").contains("reactions"));
}

TEST_CASE("a_submitting_activations_output_is_the_submit_event") {
  const auto result = imported(dinner());
  const trace_view trace(result.lines);
  REQUIRE(trace.flag("e8", "submit"));
  REQUIRE_FALSE(trace.infers("e8", "submit"));
  REQUIRE(result.counts.submits.stated == 1);
}

TEST_CASE("an_activation_is_held_open_for_an_output_recorded_after_its_end") {
  const auto result = imported(dinner());
  const trace_view trace(result.lines);
  REQUIRE(trace.end("a4").at("ts").to_number<std::int64_t>() == 1700000006000);
  REQUIRE(trace_view::lists(trace.end("a4"), "ts"));
  REQUIRE(text(trace.event("e4").at("source")) == "a4");  // made long before: announced at the time when it was made
  REQUIRE(result.counts.late_outputs == 1);
}

TEST_CASE("the_librarys_own_healing_is_a_notice_and_no_agents_work") {
  const auto result = imported(dinner());
  const trace_view trace(result.lines);
  REQUIRE(trace.flag("e6", "fyi"));
  REQUIRE(text(trace.event("e6").at("kind")) == "intervention");
  REQUIRE(text(trace.event("e6").at("payload").at("message")) == "SYSTEM: go on");
  REQUIRE_FALSE(trace.flag("e6", "source"));
  for (const auto& line : result.lines) REQUIRE(line.find("\"agent\":\"system\"") == std::string::npos);
  REQUIRE(result.counts.system_activations == 2);
}

TEST_CASE("a_reroute_by_a_healer_moves_the_delivery_and_says_that_it_was_inferred") {
  const auto result = imported(dinner());
  const trace_view trace(result.lines);
  const auto& end = trace.end("rerouted:e2:baker");
  REQUIRE(texts(end.at("reactions").at("e2").at("reroute")) == names{"grocer"});
  REQUIRE(trace_view::lists(end, "activation"));
  REQUIRE(text(trace.start("rerouted:e2:baker").at("on_behalf_of")) == "a5");
  REQUIRE(result.counts.system_reroutes == 1);
}

TEST_CASE("the_counts_of_a_graph_are_mostly_stated") {
  const auto counts = imported(dinner()).counts;
  REQUIRE(counts.links().stated == 36);
  REQUIRE(counts.links().inferred == 2);  // both of the healer's reroute
  REQUIRE(counts.times.inferred == 2);    // the activation that was held open, and the end
  REQUIRE(describe(counts).find("36 stated, 2 inferred") != std::string::npos);
}

TEST_CASE("a_recipient_that_nothing_was_ever_delivered_to_stays_outside_the_roster") {
  const auto lost =
      R"("e2":{"id":"e2","source_activation_id":"a1","payload":{},"recipients":{"ghost":{"label":"pending"}},
    "delivery_policy":{"mode":"immediate"},"timestamps":[{"label":"generated","at":3}]})";
  const auto file = graph_log(event("e1", "", "A", "1") + "," + lost, activation("a1", "A", "\"e1\"", "\"e2\"", "2,3"));
  const trace_view trace(imported(file).lines);
  REQUIRE(texts(trace.hello().at("agents")) == names{"A"});
  REQUIRE(trace.recipients("e2") == names{"ghost"});
}

TEST_CASE("a_recipient_of_an_event_that_a_framework_carried_is_in_the_roster") {
  const auto carried =
      R"("e2":{"id":"e2","source_activation_id":"a1","payload":{},"recipients":{"B":{"label":"pending"}},
    "delivery_policy":null,"timestamps":[{"label":"generated","at":3}]})";
  const auto file =
      graph_log(event("e1", "", "A", "1") + "," + carried, activation("a1", "A", "\"e1\"", "\"e2\"", "2,3"));
  REQUIRE(texts(trace_view(imported(file).lines).hello().at("agents")) == names{"A", "B"});
}

TEST_CASE("an_event_that_nobody_was_to_get_and_nobody_used_is_a_record_and_no_orphan") {
  const auto file = graph_log(event("e1", "", "A", "1") + "," + event("e2", "a1", "", "3"),
                              activation("a1", "A", "\"e1\"", "\"e2\"", "2,3"));
  const trace_view trace(imported(file).lines);
  REQUIRE(trace.flag("e2", "fyi"));
  REQUIRE(trace.infers("e2", "fyi"));
}

TEST_CASE("a_start_stamped_before_its_input_was_made_is_moved_behind_it") {
  const auto file =
      graph_log(event("e1", "", "A", "1") + "," + event("e2", "a1", "B", "5"),
                activation("a1", "A", "\"e1\"", "\"e2\"", "2,5") + "," + activation("a2", "B", "\"e2\"", "", "4,6"));
  const auto result = imported(file);
  const trace_view trace(result.lines);
  REQUIRE(position(trace, "activation_ended", "a1") < position(trace, "activation_started", "a2"));
  REQUIRE(trace_view::lists(trace.start("a2"), "ts"));
  REQUIRE(result.counts.reordered == 1);
}

TEST_CASE("a_root_event_recorded_only_while_its_first_reader_ran_comes_before_that_reader") {
  const auto file = graph_log(event("e1", "", "A", "3"), activation("a1", "A", "\"e1\"", "", "2,4"));
  const trace_view trace(imported(file).lines);
  REQUIRE(position(trace, "event", "e1") < position(trace, "activation_started", "a1"));
  REQUIRE(trace_view::lists(trace.messages()[1], "ts"));
}

TEST_CASE("activations_that_wait_for_each_other_are_imported_all_the_same") {
  const auto file = graph_log(
      event("e1", "a2", "A", "1") + "," + event("e2", "a1", "B", "1"),
      activation("a1", "A", "\"e1\"", "\"e2\"", "2,3") + "," + activation("a2", "B", "\"e2\"", "\"e1\"", "2,3"));
  const auto result = imported(file);
  REQUIRE(result.counts.activations == 2);
  REQUIRE(result.counts.reordered > 0);
}

TEST_CASE("an_input_that_the_graph_does_not_hold_becomes_a_placeholder_and_is_counted") {
  const auto result = imported(graph_log("", activation("a1", "A", "\"lost\"", "", "2,3")));
  REQUIRE(trace_view(result.lines).inputs("a1") == names{"lost"});
  REQUIRE(result.counts.unknown_inputs == 1);
}

TEST_CASE("an_event_of_an_unknown_activation_is_a_root_event_and_counted") {
  const auto result = imported(graph_log(event("e1", "a99", "A", "1"), activation("a1", "A", "\"e1\"", "", "2,3")));
  REQUIRE(result.counts.unknown_sources == 1);
  REQUIRE(position(trace_view(result.lines), "event", "e1") == 1);
}

TEST_CASE("an_output_that_names_another_source_is_not_this_activations") {
  const auto file = graph_log(event("e1", "", "A", "1"), activation("a1", "A", "\"e1\"", "\"e1\"", "2,3"));
  REQUIRE(trace_view(imported(file).lines).end("a1").at("outputs").as_array().empty());
}

TEST_CASE("a_reroute_of_a_settled_event_is_not_sent") {
  const auto reroute = R"(,"input_reactions":{"e1":{"label":"reroute"}})";
  const auto file = graph_log(event("e1", "", "A", "1"), activation("a1", "A", "\"e1\"", "", "2,3") + "," +
                                                             activation("a2", "A", "\"e1\"", "", "4,5", reroute));
  const auto result = imported(file);
  REQUIRE(trace_view(result.lines).reaction("a2", "e1") == "discard");
  REQUIRE(result.counts.dropped_reroutes == 1);
}

TEST_CASE("a_submission_without_an_output_gets_an_inferred_output") {
  const auto submits = R"(,"metadata":{"dig":{"submitting":true}},"native_output":"42")";
  const auto result =
      imported(graph_log(event("e1", "", "A", "1"), activation("a1", "A", "\"e1\"", "", "2,3", submits)));
  const trace_view trace(result.lines);
  REQUIRE(trace.flag("a1:submit", "submit"));
  REQUIRE(trace.infers("a1:submit", "submit"));
  REQUIRE(text(trace.event("a1:submit").at("payload")) == "42");
}

TEST_CASE("a_graph_with_a_submission_ends_with_success_and_another_does_not_end") {
  const auto submits = R"(,"metadata":{"dig":{"submitting":true}})";
  const auto with = imported(graph_log(event("e1", "", "A", "1"), activation("a1", "A", "\"e1\"", "", "2,3", submits)));
  REQUIRE(text(trace_view(with.lines).last().at("outcome")) == "success");
  const auto without = imported(graph_log(event("e1", "", "A", "1"), activation("a1", "A", "\"e1\"", "", "2,3")));
  REQUIRE(text(trace_view(without.lines).last().at("type")) == "activation_ended");
}

TEST_CASE("work_recorded_only_at_its_end_began_with_its_last_input") {
  const auto file = graph_log(event("e1", "", "A", "1") + "," + event("e2", "", "A", "3"),
                              activation("a1", "A", "\"e1\",\"e2\"", "", "60,60.0001"));
  const trace_view trace(imported(file).lines);
  REQUIRE(trace.start("a1").at("ts").to_number<std::int64_t>() == 3000);
  REQUIRE(trace_view::lists(trace.start("a1"), "ts"));
  REQUIRE(trace.end("a1").at("ts").to_number<std::int64_t>() == 60000);
}

TEST_CASE("ids_of_the_monitors_own_kind_are_moved_out_of_the_way") {
  const auto file = graph_log(event("sys:1", "", "A", "1"), activation("a1", "A", "\"sys:1\"", "", "2,3"));
  const auto result = imported(file);
  REQUIRE(trace_view(result.lines).inputs("a1") == names{"dig:sys:1"});
  REQUIRE(result.counts.renamed == 1);
}

TEST_CASE("the_trace_runs_to_the_last_stamp_of_the_graph") {
  const auto file = graph_log(event("e1", "", "A", "1") + "," + event("e0", "", "A", "1"),
                              activation("a1", "A", "\"e1\"", "", "2,3"));
  auto late = json::parse(file).as_object();
  late["events"].at("e0").at("timestamps").as_array().push_back({{"label", "delivered"}, {"to", "A"}, {"at", 60}});
  const trace_view trace(imported(json::serialize(late)).lines);
  REQUIRE(text(trace.last().at("type")) == "time");
  REQUIRE(trace.last().at("ts").to_number<std::int64_t>() == 60000);
}

TEST_CASE("bad_graphs_are_refused_with_the_place_and_what_was_expected") {
  REQUIRE(refused("nonsense").code == import_errc::bad_json);
  REQUIRE(refused("{}").message == "schema: expected a string, found nothing");
  REQUIRE(refused(R"({"schema":"dig.graph.v1"})").code == import_errc::unsupported_schema);
  REQUIRE(refused(R"({"schema":"dig.graph.v2","events":[]})").message == "events: expected an object, found an array");
  REQUIRE(refused(graph_log("\"e1\":5", "")).message == "events.\"e1\": expected an object");
  REQUIRE(refused(graph_log(R"("e1":{"timestamps":[{"label":"born","at":1}]})", "")).message ==
          "events.\"e1\".timestamps[0].label: expected generated, delivered, modified or reacted, found "
          "\"born\"");
  REQUIRE(refused(graph_log(R"("e1":{"recipients":{"A":{"label":"eaten"}}})", "")).code == import_errc::wrong_value);
  REQUIRE(refused(graph_log("", R"("a1":{})")).message ==
          "activations.\"a1\".agent_id: expected a string, found nothing");
  REQUIRE(refused(graph_log("", R"("a1":{"agent_id":"A","started_at":-5})")).code == import_errc::wrong_value);
  REQUIRE(refused(graph_log("", R"("a1":{"agent_id":"A","inputs":[7]})")).message ==
          "activations.\"a1\".inputs[0]: expected an event or its id");
  dig_graph_options options;
  options.max_items = 1;
  REQUIRE(refused(dinner(), options).code == import_errc::too_large);
}

TEST_CASE("text_from_the_file_is_quoted_and_cut_in_messages") {
  const auto failure = refused(R"({"schema":"\u001b[31m)" + std::string(500, 'x') + "\"}");
  REQUIRE(failure.message.find('\x1b') == std::string::npos);
  REQUIRE(failure.message.size() < 200);
}

TEST_CASE("damaged_graphs_are_refused_or_give_a_trace_the_engine_accepts") {
  try_damaged(dinner(), 3000, [](const std::string& file) {
    const auto outcome = import_dig_graph(file);
    if (outcome) {
      REQUIRE(trace_checker().check(outcome->lines) == "");
    } else {
      REQUIRE(outcome.error().code != import_errc::internal);
      REQUIRE_FALSE(outcome.error().message.empty());
    }
  });
}
