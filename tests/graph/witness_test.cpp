// The witness of a detection: the named nodes, joined by shortest paths, within bounds.
#include <catch2/catch.hpp>

#include "graph/witness.h"
#include "tests/engine/scenario.h"
#include "tests/rules/firing.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

namespace {

witness witness_of(const scenario& s, std::initializer_list<const char*> events,
                   std::initializer_list<const char*> activations = {}) {
  graph::witness_names names;
  for (const char* e : events) names.events.push_back(s.graph().find_event(e));
  for (const char* v : activations) names.activations.push_back(s.graph().find_activation(v));
  std::size_t visits_left = graph::max_message_visits;
  return graph::make_witness(s.graph(), names, visits_left);
}

// e0 -> v0 -> e1 -> v1 -> … -> eN
std::string chain(int length) {
  std::string lines = R"({"type":"event","event":{"id":"e0","recipients":["ada"]}})";
  for (int i = 0; i < length; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    lines +=
        "\n"
        R"({"type":"activation_started","agent":"ada","activation":"v)" +
        n + R"(","inputs":["e)" + n +
        R"("]})"
        "\n" +
        R"({"type":"activation_ended","activation":"v)" + n + R"(","outputs":[{"recipients":["ada"],"id":"e)" + next +
        R"("}]})";
  }
  return lines;
}

}  // namespace

TEST_CASE("two_named_nodes_are_joined_along_the_path_between_them") {
  scenario s(R"({"type":"hello"})");
  s.then(chain(5));
  const witness w = witness_of(s, {"e1", "e4"});
  CHECK(nodes(w) == "e1 e2 e3 e4 | v1 v2 v3");
  CHECK(edges(w) == strings{"e1 > v1 consume", "e2 > v2 consume", "e3 > v3 consume", "v1 > e2", "v2 > e3", "v3 > e4"});
  CHECK_FALSE(w.truncated);
}

TEST_CASE("the_path_between_two_nodes_is_a_shortest_one") {
  scenario s(R"({"type":"hello"})");
  s.then(chain(4)).then(R"({"type":"activation_started","activation":"w","agent":"ada","inputs":["e0","e4"]})");
  const witness w = witness_of(s, {"e0", "e4"});
  CHECK(nodes(w) == "e0 e4 | w");
  CHECK(edges(w) == strings{"e0 > w", "e4 > w"});  // an open activation has no reactions
}

TEST_CASE("nodes_without_a_path_between_them_stay_apart") {
  scenario s(R"({"type":"hello"})");
  s.then(chain(2)).then(R"({"type":"event","event":{"id":"x","recipients":["bob"]}})");
  CHECK(nodes(witness_of(s, {"e1", "x"})) == "e1 x | ");
  CHECK(nodes(witness_of(s, {})) == " | ");
}

TEST_CASE("a_node_that_is_named_twice_appears_once_with_its_agent") {
  scenario s(R"({"type":"hello"})");
  s.then(chain(2));
  const witness w = witness_of(s, {"e1", "e1", "e0"}, {"v0", "v0"});
  CHECK(nodes(w) == "e0 e1 | v0");
  for (const witness::node& n : w.events) CHECK(n.agent == (n.id == "e0" ? "" : "ada"));
  CHECK(w.activations.at(0).agent == "ada");
}

TEST_CASE("a_path_that_does_not_fit_is_cut_and_the_witness_is_truncated") {
  scenario s(R"({"type":"hello"})");
  s.then(chain(40));
  const witness w = witness_of(s, {"e0", "e40"});
  CHECK(w.truncated);
  CHECK(w.events.size() + w.activations.size() == 64);
}

TEST_CASE("the_search_for_paths_is_bounded_in_a_graph_of_any_size") {
  scenario s(R"({"type":"hello","mode":"off"})");
  s.then(R"({"type":"activation_started","activation":"v","agent":"ada"})");
  s.then(R"({"type":"event","event":{"id":"far","recipients":["bob"]}})");
  for (int i = 0; i < 6000; ++i)
    s.then(R"({"type":"event","event":{"source":"v","recipients":["bob"],"id":"e)" + std::to_string(i) + R"("}})");
  const witness w = witness_of(s, {"far", "e0"});
  CHECK(w.truncated);
  CHECK(nodes(w) == "e0 far | ");
}

TEST_CASE("a_witness_contains_no_forgotten_node") {
  scenario s(R"({"type":"hello","limits":{"settled_events":1}})");
  s.then(chain(6));
  CHECK_FALSE(s.knows("e3"));
  CHECK(nodes(witness_of(s, {"e6", "e5"})) == "e5 e6 | v5");
}

TEST_CASE("a_witness_without_visits_left_has_only_the_named_nodes_and_is_truncated") {
  scenario s(R"({"type":"hello"})");
  s.then(chain(3));
  graph::witness_names names;
  for (const char* e : {"e0", "e3"}) names.events.push_back(s.graph().find_event(e));
  std::size_t visits_left = graph::max_message_visits;
  const witness whole = graph::make_witness(s.graph(), names, visits_left);
  CHECK(whole.activations.size() == 3);
  CHECK(visits_left < graph::max_message_visits);
  visits_left = 0;
  const witness named = graph::make_witness(s.graph(), names, visits_left);
  CHECK(named.activations.empty());
  CHECK(named.events.size() == 2);
  CHECK(named.truncated);
}
