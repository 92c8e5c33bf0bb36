// What a run remembers: it does not grow with the length of the run.
#include <catch2/catch.hpp>

#include "tests/engine/scenario.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

namespace {

// Feeds the replay directly, because these runs have hundreds of thousands of lines.
struct replayed_run {
  ingest::replay replay{run_policy{}, {}};
  std::uint64_t seq = 0;

  explicit replayed_run(const std::string& hello) {
    REQUIRE(replay.line(R"({"type":"hello","protocol":1,"run":"r","clock":"trace",)" + hello + "}"));
  }
  void send(const std::string& members) {
    const std::string number = std::to_string(++seq);
    REQUIRE(replay.line("{\"seq\":" + number + ",\"ts\":" + number + "," + members + "}"));
  }
  const graph::graph& graph() const { return replay.run()->graph(); }
};

std::string event(const std::string& id, const std::string& agent) {
  return R"("type":"event","event":{"id":")" + id + R"(","recipients":[")" + agent + R"("]})";
}
std::string start(const std::string& v, const std::string& agent, const std::string& inputs) {
  return R"("type":"activation_started","activation":")" + v + R"(","agent":")" + agent + R"(","inputs":[)" + inputs +
         "]";
}
std::string end(const std::string& v, const std::string& more = "") {
  return R"("type":"activation_ended","activation":")" + v + "\"" + more;
}

}  // namespace

TEST_CASE("the_last_events_to_settle_are_remembered_in_the_order_in_which_they_settled") {
  scenario s(R"({"type":"hello","agents":["ada"],"limits":{"settled_events":2}})");
  s.then(R"(
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"event","event":{"id":"e2","recipients":["ada"]}}
{"type":"event","event":{"id":"e3","recipients":["ada"]}}
{"type":"activation_started","activation":"v3","agent":"ada","inputs":["e3"]}
{"type":"activation_ended","activation":"v3"}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1"})");
  CHECK(s.knows("e1"));
  CHECK(s.knows("e3"));
  s.then(R"(
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["e2"]}
{"type":"activation_ended","activation":"v2"})");
  CHECK_FALSE(s.knows("e3"));
  CHECK(s.knows("e1"));
  CHECK(s.knows("e2"));
  CHECK(s.graph().find_activation("v3") == graph::nobody);
  CHECK(s.graph().find_activation("v1") != graph::nobody);
  CHECK(s.graph().counters().forgotten_events == 1);
}

TEST_CASE("a_forgotten_id_may_be_used_again_for_events_and_activations") {
  scenario s(R"({"type":"hello","agents":["ada","bob"],"limits":{"settled_events":0}})");
  const char* cycle = R"(
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1"})";
  s.then(cycle).then(cycle).then(cycle);
  CHECK(s.errors.empty());
  CHECK_FALSE(s.knows("e1"));
  s.then(R"({"type":"delivery","event":"e1","applied":"as_is"})"
         "\n"
         R"({"type":"activation_ended","activation":"v1"})");
  CHECK(s.errors.at(0).code == "unknown_event");
  CHECK(s.errors.at(1).code == "unknown_activation");
  // As an input e1 is a placeholder, though an event with this id was consumed before.
  s.then(R"({"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1"]})");
  CHECK(s.reachable() == strings{"e1"});
}

TEST_CASE("an_open_activation_keeps_its_inputs_even_if_the_run_has_forgotten_them") {
  scenario s(R"({"type":"hello","agents":["ada","bob","cy"],"limits":{"settled_events":1}})");
  s.then(R"(
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1"}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1"]}
{"type":"event","event":{"id":"e2","recipients":["ada"]}}
{"type":"activation_started","activation":"v3","agent":"ada","inputs":["e2"]}
{"type":"activation_ended","activation":"v3"})");
  CHECK_FALSE(s.knows("e1"));
  // A new event takes the id. The input of v2 is still the old event, which a reducing activation consumed.
  s.then(R"(
{"type":"event","event":{"id":"e1","recipients":["cy"]}}
{"type":"activation_ended","activation":"v2","outputs":[{"id":"e3","recipients":["cy"]}]})");
  CHECK(s.errors.empty());
  CHECK(s.detection_summaries() == strings{"repeated_subproblem e3 [e1] inject"});
  CHECK(s.reachable() == strings{"e1", "e3"});
}

TEST_CASE("live_events_are_judged_the_same_after_forgetting") {
  for (const char* remembered : {"0", "100000"}) {
    scenario s(R"({"type":"hello","agents":["ada","bob","cy"],"limits":{"settled_events":)" + std::string(remembered) +
               "}}");
    s.then(R"(
{"type":"event","event":{"id":"e1","recipients":["ada","bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","outputs":[{"id":"e2","recipients":["cy"]}]}
{"type":"activation_started","activation":"v2","agent":"cy","inputs":["e2"]}
{"type":"activation_ended","activation":"v2","outputs":[{"id":"e3","recipients":["ada"]}]}
{"type":"activation_started","activation":"v3","agent":"ada","inputs":["e3"]}
{"type":"activation_ended","activation":"v3","outputs":[{"id":"e4","submit":true}]})");
    // e1 still waits at bob. The path to it leads through e2 and e3, which are settled and may be forgotten.
    INFO("remembered " << remembered);
    CHECK(s.detection_summaries() == strings{});
    CHECK(s.run().terminal());
  }
}

TEST_CASE("two_hundred_thousand_messages_of_a_chain_keep_the_graph_at_its_live_events", "[long]") {
  replayed_run r(R"("agents":["a0","a1","a2"],"limits":{"settled_events":100})");
  r.send(event("e0", "a0"));
  std::size_t max_live = 0, max_remembered = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1), to = "a" + std::to_string((i + 1) % 3);
    r.send(start("v" + n, "a" + std::to_string(i % 3), "\"e" + n + '"'));
    r.send(end("v" + n, R"(,"outputs":[{"id":"e)" + next + R"(","recipients":[")" + to + R"("]}])"));
    max_live = std::max(max_live, r.graph().live_events());
    max_remembered = std::max(max_remembered, r.graph().remembered_events());
  }
  CHECK(r.replay.counted().refused == 0);
  CHECK(r.graph().counters().events == 100'001);
  CHECK(r.graph().counters().activations == 100'000);
  CHECK(max_live <= 2);
  CHECK(max_remembered <= 102);
  CHECK(r.graph().counters().forgotten_events == 100'000 - 100);
  CHECK(r.graph().all_activations().size() <= 101);
  CHECK(r.graph().agent_count() == 3);
  CHECK(r.graph().reachable().size() == 1);
  const graph::event_node& last = r.graph().event(r.graph().reachable().front());
  CHECK(last.deliveries.size() == 1);
  CHECK((last.ancestry == nullptr || last.ancestry->members.size() <= 1));
}

TEST_CASE("answers_given_back_and_returning_orphans_leave_nothing_in_the_graph") {
  replayed_run r(R"("agents":["ada","bob"],"limits":{"settled_events":10},"healing":{"budget":1000000,)"
                 R"("max_returns_per_agent":1000000},)"
                 R"("rules":{"early_termination":{"max_attempts":1000000},)"
                 R"("orphaned_event":{"window_ms":1,"max_attempts":1},"repeated_subproblem":{"mode":"observe"}})");
  r.send(event("hold", "bob"));
  for (int i = 0; i < 5'000; ++i) {
    const std::string n = std::to_string(i);
    r.send(start("v" + n, "ada", ""));
    r.send(end("v" + n,
               R"(,"outputs":[{"id":"s)" + n + R"(","submit":true},{"id":"o)" + n + R"(","recipients":["zed"]}])"));
    r.send(start("w" + n, "ada", "\"s" + n + "\",\"o" + n + '"'));
    r.send(end("w" + n, R"(,"reactions":{"o)" + n + R"(":"discard"})"));
  }
  CHECK(r.replay.counted().refused == 0);
  CHECK_FALSE(r.replay.run()->terminal());
  CHECK(r.graph().live_events() <= 4);
  CHECK(r.graph().remembered_events() <= 14);
  CHECK(r.graph().all_activations().size() <= 30);
}

TEST_CASE("lineages_do_not_lengthen_with_the_run", "[long]") {
  // Each activation splits its input in two: one part continues the chain, the hub consumes the other.
  replayed_run r(R"("agents":["ada","bob","hub"],"limits":{"settled_events":10},"mode":"observe")");
  r.send(event("e0", "ada"));
  for (int i = 0; i < 20'000; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    r.send(start("v" + n, "ada", "\"e" + n + '"'));
    r.send(end("v" + n, R"(,"outputs":[{"id":"e)" + next + R"(","recipients":["ada"]},{"id":"x)" + n +
                            R"(","recipients":["hub"]}])"));
    r.send(start("h" + n, "hub", "\"x" + n + '"'));
    r.send(end("h" + n));
  }
  const graph::event_node& last = r.graph().event(r.graph().reachable().front());
  REQUIRE(last.generators != nullptr);
  CHECK(last.generators->members.size() == 1);
  CHECK((last.ancestry == nullptr || last.ancestry->members.size() <= 2));
  CHECK(r.graph().live_events() == 1);
}
