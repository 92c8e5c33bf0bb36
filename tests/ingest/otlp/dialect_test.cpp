#include "ingest/otlp/dialect.h"

#include <filesystem>
#include <fstream>
#include <set>

#include "tests/ingest/otlp/spans.h"

using namespace otlp_tests;
using lines = std::vector<std::string>;

namespace {

// Agents and who passed to whom, without ids: "a -> b".
std::multiset<std::string> passings(const std::vector<span>& of) {
  const run_of_turns run = find_turns(of);
  std::multiset<std::string> out;
  for (const passing& p : run.passings)
    out.insert(run.turns[p.from].agent + (p.stated ? " => " : " -> ") + run.turns[p.to].agent);
  for (const turn& t : run.turns) {
    if (t.caller != none) out.insert(run.turns[t.caller].agent + " calls " + t.agent);
  }
  return out;
}

std::string dialect_of_first(const std::vector<span>& of) {
  return std::string(map_spans(of, span_set::complete).labels.at("dialect").as_string());
}

}  // namespace

TEST_CASE("langgraph_by_openinference_as_recorded") {
  const auto of = spans_of(recorded("healthy/langgraph_fan_out_join"));
  REQUIRE(dialect_of_first(of) == "langgraph/openinference 0.1");
  REQUIRE(passings(of) == std::multiset<std::string>{"planner -> coder", "planner -> searcher", "coder -> writer",
                                                     "searcher -> writer"});
  const mapped_run run = map_spans(of, span_set::complete);
  REQUIRE(importer_tests::text(run.messages.front().members.at("event").at("payload").at("text")).find("task") !=
          std::string::npos);
}

TEST_CASE("openai_agents_by_openinference_as_recorded") {
  const auto of = spans_of(recorded("healthy/openai_agents_handoff_and_tools"));
  REQUIRE(dialect_of_first(of) == "openai-agents/openinference 1");
  REQUIRE(passings(of) == std::multiset<std::string>{"triage => writer", "writer calls helper"});
}

TEST_CASE("handoffs_of_parallel_runs_lead_to_turns_of_their_own") {
  const auto of = spans_of(recorded("healthy/openai_agents_parallel_handoffs"));
  REQUIRE(passings(of) == std::multiset<std::string>{"triage => writer", "triage => writer"});
  const run_of_turns run = find_turns(of);
  REQUIRE(run.passings[0].to != run.passings[1].to);
}

TEST_CASE("autogen_as_recorded_is_one_run_of_many_traces") {
  const auto of = spans_of(recorded("healthy/autogen_round_robin"));
  std::set<std::string> traces;
  for (const span& s : of) traces.insert(s.trace);
  REQUIRE(traces.size() > 5);
  REQUIRE(imported(of).size() == 1);
  REQUIRE(passings(of) == std::multiset<std::string>{"writer => critic"});
}

TEST_CASE("agent_framework_as_recorded") {
  const auto of = spans_of(recorded("healthy/agent_framework_agents_fan_out_join"));
  REQUIRE(dialect_of_first(of) == "agent-framework 1");
  REQUIRE(passings(of) == std::multiset<std::string>{"writer => critic", "writer => checker", "critic => join",
                                                     "checker => join", "join => editor"});
}

TEST_CASE("traceloop_with_langgraph_as_recorded") {
  const auto of = spans_of(recorded("healthy/traceloop_langgraph_fan_out_join"));
  REQUIRE(dialect_of_first(of) == "langgraph/traceloop 0.4");
  REQUIRE(passings(of) == std::multiset<std::string>{"planner -> coder", "planner -> searcher", "coder -> writer",
                                                     "searcher -> writer"});
  const mapped_run run = map_spans(of, span_set::complete);
  REQUIRE(importer_tests::text(run.messages.front().members.at("event").at("payload").at("text")).find("task") !=
          std::string::npos);
}

TEST_CASE("traceloop_with_openai_agents_as_recorded") {
  const auto of = spans_of(recorded("healthy/traceloop_openai_agents_handoff_and_tools"));
  REQUIRE(dialect_of_first(of) == "openai-agents/traceloop 0.4");
  REQUIRE(passings(of) == std::multiset<std::string>{"triage -> writer", "writer calls helper"});
  REQUIRE(passings(spans_of(recorded("healthy/traceloop_openai_agents_parallel_tools"))) ==
          std::multiset<std::string>{"lead calls spanish", "lead calls french"});
  REQUIRE(passings(spans_of(recorded("healthy/traceloop_openai_agents_nested_agents_as_tools"))) ==
          std::multiset<std::string>{"outer calls middle", "middle calls inner"});
}

TEST_CASE("traceloop_decorators_as_recorded") {
  const auto of = spans_of(recorded("healthy/traceloop_plain_nested_agents"));
  REQUIRE(dialect_of_first(of) == "traceloop 0.4");
  REQUIRE(passings(of) == std::multiset<std::string>{"writer -> editor", "editor calls critic", "editor calls critic"});
  const mapped_run run = map_spans(of, span_set::complete);
  REQUIRE(importer_tests::text(run.messages.front().members.at("event").at("payload").at("text")).find("a poem") !=
          std::string::npos);
}

TEST_CASE("a_traceloop_handoff_that_names_its_target_is_stated") {
  const std::string scope = "opentelemetry.instrumentation.openai_agents";
  const auto kind = [](const char* kind, const char* agent) {
    return json::object{{"traceloop.span.kind", kind}, {"gen_ai.agent.name", agent}};
  };
  json::object handoff = kind("handoff", "a");
  handoff["gen_ai.handoff.to_agent"] = "b";
  const auto of = spans({{"9", "", "Agent Workflow", 0, 900, {{"traceloop.span.kind", "workflow"}}, {}, {}, scope},
                         {"1", "9", "a.agent", 10, 100, kind("agent", "a"), {}, {}, scope},
                         {"2", "1", "a -> b.handoff", 50, 51, handoff, {}, {}, scope},
                         {"3", "9", "b.agent", 200, 300, kind("agent", "b"), {}, {}, scope}});
  REQUIRE(passings(of) == std::multiset<std::string>{"a => b"});
  REQUIRE(detections(of).empty());
}

TEST_CASE("nodes_of_a_step_ran_at_once_whatever_their_times") {
  const std::string scope = "openinference.instrumentation.langchain";
  const auto node = [](const char* name, int step) {
    return json::object{
        {"metadata", json::serialize(json::object{{"langgraph_node", name}, {"langgraph_step", step}})}};
  };
  const auto of = spans({{"9", "", "LangGraph", 0, 900, {{"openinference.span.kind", "CHAIN"}}, {}, {}, scope},
                         {"1", "9", "plan", 10, 20, node("plan", 1), {}, {}, scope},
                         {"2", "9", "a", 30, 40, node("a", 2), {}, {}, scope},
                         {"3", "9", "b", 50, 60, node("b", 2), {}, "busy", scope},
                         {"4", "9", "b", 70, 80, node("b", 2), {}, {}, scope},
                         {"5", "9", "end", 90, 99, node("end", 3), {}, {}, scope}});
  REQUIRE(passings(of) == std::multiset<std::string>{"plan -> a", "plan -> b", "b -> b", "a -> end", "b -> end"});
  REQUIRE(detections(of).empty());
}

// ---- recorded programs: no rule fires in a healthy one, some rule does in a broken one

namespace {

std::vector<std::string> recordings(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(DIGD_SOURCE_DIR) + "/tests/ingest/otlp/recorded/" + folder)) {
    out.push_back(folder + '/' + file.path().stem().string());
  }
  return out;
}

}  // namespace

TEST_CASE("no_rule_fires_in_a_recorded_healthy_program") {
  const auto names = recordings("healthy");
  REQUIRE(names.size() >= 80);
  for (const std::string& name : names) {
    INFO(name);
    for (const imported_run& run : imported(spans_of(recorded(name)))) {
      CHECK(detections_of(run) == lines{});
      CHECK(outcome_of(run) == "success");
    }
  }
}

TEST_CASE("a_rule_fires_in_a_recorded_broken_program") {
  const std::set<std::string> rules{"deadlock", "missing_termination", "orphaned_event", "early_termination"};
  const auto names = recordings("broken");
  REQUIRE(names.size() >= 10);
  for (const std::string& name : names) {
    INFO(name);
    for (const imported_run& run : imported(spans_of(recorded(name)))) {
      const auto found = detections_of(run);
      CHECK_FALSE(found.empty());
      for (const std::string& text : found) CHECK(rules.contains(text.substr(0, text.find(' '))));
      CHECK(outcome_of(run) == "failure");
    }
  }
}

TEST_CASE("a_message_that_no_executor_takes_is_an_orphan") {
  const std::string scope = "agent_framework";
  const auto of = spans(
      {{"9", "", "workflow.run", 0, 900, {}, {}, {}, scope},
       {"1", "9", "executor.process a", 10, 100, {{"executor.id", "a"}}, {}, {}, scope},
       {"2", "1", "message.send", 50, 51, {{"message.type", "T"}}, {}, {}, scope},
       {"3", "1", "message.send", 60, 61, {{"message.type", "T"}}, {}, {}, scope},
       {"4", "9", "edge_group.process SingleEdgeGroup", 110, 111, {{"edge_group.delivered", false}}, {"2"}, {}, scope},
       {"5", "9", "edge_group.process SingleEdgeGroup", 110, 111, {{"edge_group.delivered", true}}, {"3"}, {}, scope},
       {"6", "9", "executor.process b", 120, 200, {{"executor.id", "b"}}, {"3"}, {}, scope}});
  REQUIRE(detections(of).front() == "orphaned_event msg:2");
}

TEST_CASE("a_message_behind_an_edge_whose_condition_is_false_is_not_an_orphan") {
  const std::string scope = "agent_framework";
  const json::object closed{{"edge_group.delivered", false},
                            {"edge_group.delivery_status", "dropped condition evaluated to false"}};
  const auto of = spans({{"9", "", "workflow.run", 0, 900, {}, {}, {}, scope},
                         {"1", "9", "executor.process a", 10, 100, {{"executor.id", "a"}}, {}, {}, scope},
                         {"2", "1", "message.send", 50, 51, {{"message.type", "T"}}, {}, {}, scope},
                         {"4", "9", "edge_group.process SingleEdgeGroup", 110, 111, closed, {"2"}, {}, scope}});
  REQUIRE(detections(of).empty());
}

TEST_CASE("a_handoff_to_an_agent_that_never_acts_is_an_early_termination") {
  const std::string scope = "openinference.instrumentation.openai_agents";
  const json::object kind{{"openinference.span.kind", "AGENT"}, {"agent.name", "a"}};
  json::object other = kind;
  other["agent.name"] = "b";
  const auto of = spans({{"9", "", "Agent workflow", 0, 900, {{"openinference.span.kind", "AGENT"}}, {}, {}, scope},
                         {"1", "9", "a", 10, 100, kind, {}, {}, scope},
                         {"2",
                          "1",
                          "handoff to ghost",
                          50,
                          51,
                          {{"openinference.span.kind", "TOOL"}, {"output.value", "ghost"}},
                          {},
                          {},
                          scope},
                         {"3", "9", "b", 200, 300, other, {}, {}, scope}});
  REQUIRE(detections(of) == lines{"early_termination out:3"});
}

TEST_CASE("each_version_of_the_conventions_is_read_by_its_table") {
  json::object newer = agent("a"), older = agent("a");
  older.erase("gen_ai.provider.name");
  older["gen_ai.system"] = "x";
  newer["gen_ai.output.messages"] = "new";
  older["gen_ai.completion"] = "old";
  const auto version = [](const json::object& attributes) {
    return std::string(dialect_of(spans({{"1", "", "invoke_agent a", 1, 2, attributes}}).front())->version);
  };
  REQUIRE(version(newer) == "1.37");
  REQUIRE(version(older) == "1.28");
  const auto text = [](const json::object& attributes) {
    const mapped_run run = map_spans(spans({{"1", "", "invoke_agent a", 1, 2, attributes}}), span_set::complete);
    return importer_tests::text(run.messages.back().members.at("outputs").at(0).at("payload").at("text"));
  };
  REQUIRE(text(newer) == "new");
  REQUIRE(text(older) == "old");
}

TEST_CASE("openinference_at_large_falls_back_to_the_span_name") {
  const auto of = spans({{"1", "", "Researcher", 1, 2, {{"openinference.span.kind", "AGENT"}}}});
  REQUIRE(mapped(of) == lines{"event in:1 -> Researcher", "start 1 Researcher(in:1)", "end 1 [out:1 submits]"});
}

TEST_CASE("every_table_is_documented_and_every_file_of_one_is_listed") {
  const std::string root = DIGD_SOURCE_DIR;
  const std::string docs = importer_tests::read_file(root + "/docs/otlp.md");
  const std::string list = importer_tests::read_file(root + "/ingest/otlp/dialects.inc");
  for (const dialect& d : dialects()) {
    INFO(d.name << ' ' << d.version);
    REQUIRE(docs.find("| `" + std::string(d.name) + "` | " + std::string(d.version) + " |") != std::string::npos);
    REQUIRE_FALSE(d.about.empty());
  }
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(root + "/ingest/otlp/dialects")) {
    ++files;
    REQUIRE(list.find("/" + file.path().filename().string() + "\"") != std::string::npos);
  }
  REQUIRE(files == dialects().size());
}
