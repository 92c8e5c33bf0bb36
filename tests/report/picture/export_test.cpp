// Graphs for other programs: what is in them, that no name breaks out, and that dig.graph.v2 reads back.
#include "report/picture/export.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <memory>
#include <set>

#include "ingest/importers/dig_graph.h"

namespace digd::picture {
namespace {
namespace json = boost::json;

// A graph stays where it was made.
using graph_pointer = std::unique_ptr<recorded_graph>;

graph_pointer graph_of(const std::vector<std::string>& lines, export_bounds most = {}) {
  auto graph = std::make_unique<recorded_graph>(most);
  for (const std::string& line : lines) {
    if (!graph->line(line)) return graph;
  }
  graph->finish();
  return graph;
}

std::vector<std::string> demo_trace() {
  std::ifstream file(DIGD_SOURCE_DIR "/tests/traces/demo.jsonl");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  REQUIRE(lines.size() > 10);
  return lines;
}

// Activations with agent and reactions, events with source: what a round trip must keep.
struct shape {
  std::set<std::string> agents;
  std::map<std::string, std::string> events, activations;
};

shape shape_of(const recorded_graph& graph) {
  const model& m = graph.graph();
  shape out;
  // The monitor's own events read back as events from outside, under a name that a client may use.
  const auto name_of = [](const event& e) { return (e.system ? "dig:" : "") + e.id; };
  for (const event& e : m.events) out.events[name_of(e)] = e.source == none ? "" : m.activations[e.source].id;
  for (const activation& a : m.activations) {
    std::string text = m.lanes[a.lane].name + (a.failed ? " failed" : "");
    for (const input& in : a.inputs) {
      text += ' ' + name_of(m.events[in.event]) + ':';
      text += a.open ? "wait" : a.failed ? "" : to_string(in.reaction);
    }
    out.activations[a.id] = text;
    out.agents.insert(m.lanes[a.lane].name);
  }
  return out;
}

graph_pointer read_back(const recorded_graph& graph) {
  const auto outcome = importers::import_dig_graph(write_dig_graph(graph));
  REQUIRE(outcome.has_value());
  return graph_of(outcome->lines);
}

std::string lines_of(const std::map<std::string, std::string>& map) {
  std::string out;
  for (const auto& [name, value] : map) out += name + " = " + value + '\n';
  return out;
}

void check_round_trip(const recorded_graph& graph) {
  const shape before = shape_of(graph), after = shape_of(*read_back(graph));
  CHECK(after.agents == before.agents);
  CHECK(lines_of(after.events) == lines_of(before.events));
  CHECK(lines_of(after.activations) == lines_of(before.activations));
}

TEST_CASE("a_dig_graph_reads_back_with_the_same_activations_events_and_reactions") {
  const graph_pointer graph = graph_of(demo_trace());
  REQUIRE(graph->problem().empty());
  check_round_trip(*graph);
}

TEST_CASE("reroutes_waits_discards_and_failures_read_back") {
  const graph_pointer graph = graph_of({
      R"({"type":"hello","protocol":1,"run":"r","agents":["a","b","c"],"clock":"trace","mode":"observe"})",
      R"({"type":"event","seq":1,"ts":1000,"event":{"id":"e1","recipients":["a"],"kind":"problem","payload":7}})",
      R"({"type":"event","seq":2,"ts":1001,"event":{"id":"e2","recipients":["a"]}})",
      R"({"type":"event","seq":3,"ts":1002,"event":{"id":"e3","recipients":["a"]}})",
      R"({"type":"activation_started","seq":4,"ts":1010,"activation":"v1","agent":"a","inputs":["e1","e2","e3"]})",
      R"({"type":"activation_ended","seq":5,"ts":1020,"activation":"v1","reactions":{"e1":{"reroute":["b"]},"e2":"wait","e3":"discard"},"outputs":[{"id":"e4","recipients":["c"],"payload":{"x":1}}]})",
      R"({"type":"activation_started","seq":6,"ts":1030,"activation":"v2","agent":"b","inputs":["e1"]})",
      R"({"type":"activation_ended","seq":7,"ts":1040,"activation":"v2","failed":true,"error":"timeout"})",
      R"({"type":"activation_started","seq":8,"ts":1050,"activation":"v3","agent":"c","inputs":["e4"]})",
      R"({"type":"activation_ended","seq":9,"ts":1060,"activation":"v3","outputs":[{"id":"e5","submit":true}]})",
  });
  REQUIRE(graph->problem().empty());
  const std::string text = write_dig_graph(*graph);
  check_round_trip(*graph);
  const json::value value = json::parse(text);
  CHECK(value.at("events").at("e1").at("payload") == json::value({{"value", 7}}));
  CHECK(value.at("events").at("e2").at("payload") == json::object());
  CHECK(value.at("events").at("e4").at("payload") == json::value({{"x", 1}}));
  CHECK(value.at("activations").at("v3").at("metadata").at("dig").at("submitting") == true);
  CHECK(value.at("activations").at("v2").at("metadata").at("dig").at("failed").at("error") == "timeout");
}

// Names that end strings, open markup, hide lines, and what XML cannot hold.
const std::vector<std::string> attacks{"\"];evil[label=\"",
                                       "<script>alert(1)</script>",
                                       "]]>&lt;",
                                       "\\",
                                       "\\\"",
                                       "a\nb\r\tc",
                                       std::string("\x01\x1b[31m\x7f"),
                                       "\u202e\u2028",
                                       "\xEF\xBF\xBF",
                                       "\\N\\G",
                                       "{a|b}"};

std::vector<std::string> trace_of(const std::string& name) {
  const std::string q = json::serialize(json::string(name));
  return {R"({"type":"hello","protocol":1,"clock":"trace","run":)" + q + R"(,"agents":[)" + q + "]}",
          R"({"type":"event","seq":1,"ts":1,"event":{"id":)" + q + R"(,"kind":)" + q + R"(,"recipients":[)" + q + "]}}",
          R"({"type":"activation_started","seq":2,"ts":2,"activation":)" + q + R"(,"agent":)" + q + R"(,"inputs":[)" +
              q + "]}",
          R"({"type":"activation_ended","seq":3,"ts":3,"failed":true,"error":)" + q + R"(,"activation":)" + q + "}"};
}

TEST_CASE("no_name_breaks_out_of_dot") {
  for (const std::string& name : attacks) {
    const std::string dot = write_graph(*graph_of(trace_of(name)), graph_format::dot);
    std::string bare;  // what stands outside strings
    bool in_string = false;
    for (std::size_t i = 0; i < dot.size(); ++i) {
      if (in_string && dot[i] == '\\') {
        ++i;
      } else if (dot[i] == '"') {
        in_string = !in_string;
      } else if (!in_string) {
        bare += dot[i];
      }
      CHECK((static_cast<unsigned char>(dot[i]) >= 0x20 || dot[i] == '\n'));
    }
    CHECK(!in_string);
    CHECK(bare.find("evil") == std::string::npos);
    CHECK(bare.find("script") == std::string::npos);
  }
}

TEST_CASE("no_name_breaks_out_of_graphml") {
  for (const std::string& name : attacks) {
    const std::string xml_text = write_graphml(*graph_of(trace_of(name)));
    CHECK(xml_text.find("<script") == std::string::npos);
    CHECK(xml_text.find("]]>") == std::string::npos);
    CHECK(xml_text.find("\xEF\xBF\xBF") == std::string::npos);
    for (const char c : xml_text) CHECK((static_cast<unsigned char>(c) >= 0x20 || c == '\n'));
    CHECK(std::count(xml_text.begin(), xml_text.end(), '<') == std::count(xml_text.begin(), xml_text.end(), '>'));
  }
}

TEST_CASE("names_come_back_from_json_as_they_were") {
  for (const std::string& name : attacks) {
    const graph_pointer graph = graph_of(trace_of(name));
    REQUIRE(graph->problem().empty());
    const json::value plain = json::parse(write_json(*graph));
    CHECK(plain.at("run").as_string() == name);
    CHECK(plain.at("events").at(0).at("id").as_string() == name);
    const json::value dig = json::parse(write_dig_graph(*graph));
    CHECK(dig.at("activations").as_object().begin()->value().at("agent_id").as_string() == name);
    check_round_trip(*graph);
  }
}

TEST_CASE("an_agent_called_system_is_not_taken_for_the_monitor") {
  const json::value dig = json::parse(write_dig_graph(*graph_of(trace_of("system"))));
  CHECK(dig.at("activations").at("system").at("agent_id") == "system (agent)");
}

TEST_CASE("a_graph_over_its_bounds_is_refused_as_a_whole") {
  const graph_pointer many = graph_of(demo_trace(), {.nodes = 5});
  CHECK(many->too_large());
  CHECK(many->problem().find("digctl export") != std::string::npos);
  const graph_pointer heavy = graph_of(demo_trace(), {.bytes = 3});
  CHECK(heavy->too_large());
}

TEST_CASE("events_settled_long_ago_are_in_the_graph") {
  std::vector<std::string> lines{
      R"({"type":"hello","protocol":1,"run":"r","agents":["a"],"clock":"trace","limits":{"settled_events":1}})"};
  std::uint64_t seq = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string n = std::to_string(i);
    lines.push_back(R"({"type":"event","seq":)" + std::to_string(++seq) + R"(,"event":{"id":"e)" + n +
                    R"(","recipients":["a"]}})");
    lines.push_back(R"({"type":"activation_started","seq":)" + std::to_string(++seq) + R"(,"activation":"v)" + n +
                    R"(","agent":"a","inputs":["e)" + n + "\"]}");
    lines.push_back(R"({"type":"activation_ended","seq":)" + std::to_string(++seq) + R"(,"activation":"v)" + n + "\"}");
  }
  const json::value graph = json::parse(write_json(*graph_of(lines)));
  CHECK(graph.at("events").as_array().size() == 20);
  CHECK(graph.at("events").at(0).at("deliveries").at(0).at("state") == "consumed");
}

}  // namespace
}  // namespace digd::picture
