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
  for (const passing& p : run.passings) out.insert(run.turns[p.from].agent + (p.stated ? " => " : " -> ") + run.turns[p.to].agent);
  for (const turn& t : run.turns) {
    if (t.caller != none) out.insert(run.turns[t.caller].agent + " calls " + t.agent);
  }
  return out;
}

std::string dialect_of_first(const std::vector<span>& of) {
  return std::string(tell(of, more::is_over).labels.at("dialect").as_string());
}

}  // namespace

TEST_CASE("langgraph_by_openinference_as_recorded") {
  const auto of = spans_of(recorded("langgraph"));
  REQUIRE(dialect_of_first(of) == "langgraph/openinference 0.1");
  REQUIRE(passings(of) == std::multiset<std::string>{"planner -> coder", "planner -> searcher", "coder -> writer", "searcher -> writer"});
  REQUIRE(detections(of).empty());
  const story all = tell(of, more::is_over);
  REQUIRE(importer_tests::text(all.messages.front().members.at("event").at("payload").at("text")).find("task") != std::string::npos);
}

TEST_CASE("openai_agents_by_openinference_as_recorded") {
  const auto of = spans_of(recorded("openai_agents"));
  REQUIRE(dialect_of_first(of) == "openai-agents/openinference 1");
  REQUIRE(passings(of) == std::multiset<std::string>{"triage => writer", "writer calls helper"});
  REQUIRE(detections(of).empty());
}

TEST_CASE("autogen_as_recorded_is_one_run_of_many_traces") {
  const auto of = spans_of(recorded("autogen"));
  std::set<std::string> traces;
  for (const span& s : of) traces.insert(s.trace);
  REQUIRE(traces.size() > 5);
  auto runs = import_spans(std::vector<span>(of));
  REQUIRE(runs->size() == 1);
  REQUIRE(passings(of) == std::multiset<std::string>{"writer => critic"});
  REQUIRE(detections(of).empty());
}

TEST_CASE("agent_framework_as_recorded") {
  const auto of = spans_of(recorded("agent_framework"));
  REQUIRE(dialect_of_first(of) == "agent-framework 1");
  REQUIRE(passings(of) == std::multiset<std::string>{"writer => critic", "writer => checker", "critic => join", "checker => join", "join => editor"});
  // One message, two who work on it: that is what the rule is about.
  REQUIRE(detections(of).size() == 1);
  REQUIRE(detections(of).front().starts_with("repeated_subproblem msg:"));
}

TEST_CASE("a_message_that_the_framework_gave_to_nobody_is_an_orphan") {
  const std::string scope = "agent_framework";
  const auto of = spans({{"9", "", "workflow.run", 0, 900, {}, {}, {}, scope},
                         {"1", "9", "executor.process a", 10, 100, {{"executor.id", "a"}}, {}, {}, scope},
                         {"2", "1", "message.send", 50, 51, {{"message.type", "T"}}, {}, {}, scope},
                         {"3", "1", "message.send", 60, 61, {{"message.type", "T"}}, {}, {}, scope},
                         {"4", "9", "edge_group.process SingleEdgeGroup", 110, 111, {{"edge_group.delivered", false}}, {"2"}, {}, scope},
                         {"5", "9", "edge_group.process SingleEdgeGroup", 110, 111, {{"edge_group.delivered", true}}, {"3"}, {}, scope},
                         {"6", "9", "executor.process b", 120, 200, {{"executor.id", "b"}}, {"3"}, {}, scope}});
  REQUIRE(detections(of) == lines{"orphaned_event msg:2"});
}

TEST_CASE("a_handoff_to_an_agent_that_never_acts_is_an_early_termination") {
  const std::string scope = "openinference.instrumentation.openai_agents";
  const json::object kind{{"openinference.span.kind", "AGENT"}, {"agent.name", "a"}};
  json::object other = kind;
  other["agent.name"] = "b";
  const auto of = spans({{"9", "", "Agent workflow", 0, 900, {{"openinference.span.kind", "AGENT"}}, {}, {}, scope},
                         {"1", "9", "a", 10, 100, kind, {}, {}, scope},
                         {"2", "1", "handoff to ghost", 50, 51, {{"openinference.span.kind", "TOOL"}, {"output.value", "ghost"}}, {}, {}, scope},
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
    const story all = tell(spans({{"1", "", "invoke_agent a", 1, 2, attributes}}), more::is_over);
    return importer_tests::text(all.messages.back().members.at("outputs").at(0).at("payload").at("text"));
  };
  REQUIRE(text(newer) == "new");
  REQUIRE(text(older) == "old");
}

TEST_CASE("openinference_at_large_names_an_agent_by_its_span_if_by_nothing_else") {
  const auto of = spans({{"1", "", "Researcher", 1, 2, {{"openinference.span.kind", "AGENT"}}}});
  REQUIRE(told(of) == lines{"event in:1 -> Researcher", "start 1 Researcher(in:1)", "end 1 [out:1 submits]"});
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
