// Guards as the engine carries them out: holds that end, and what a cancel asks for.
#include <algorithm>
#include <catch2/catch.hpp>

#include "healing/holds.h"
#include "rules/guards/repeats.h"
#include "tests/engine/scenario.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

namespace {

strings intervention_summaries(const scenario& s) {
  strings lines;
  for (const intervention& i : s.interventions) {
    std::string line = i.id + ' ' + std::string(to_string(i.action));
    for (const std::string& name : i.recipients) line += ' ' + name;
    for (const std::string& id : i.activations) line += ' ' + id;
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

TEST_CASE("clients_can_do_together_what_one_of_them_can") {
  CHECK_FALSE(capabilities::none() == capabilities{});
  capabilities able = capabilities::none();
  able.add({.inject = true, .reroute = false, .create = true, .hold = false, .cancel = true});
  CHECK(able == capabilities{.inject = true, .reroute = false, .create = true, .hold = false, .cancel = true});
  able.add({.inject = false, .reroute = true, .create = false, .hold = true, .cancel = false});
  CHECK(able == capabilities{.inject = true, .reroute = true, .create = true, .hold = true, .cancel = true});
}

TEST_CASE("a_person_still_decides_on_the_other_hold_of_an_event_that_is_returned") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob","cy","dan"],"capabilities":{"hold":true},)"
             R"("guards":{"budget":{"max_model_calls":1,"action":"hold"}}}
{"type":"activation_started","activation":"v1","agent":"ada","usage":{"model_calls":5}}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["bob"]}}
{"type":"activation_started","activation":"v2","agent":"cy","inputs":["e1"]}
{"type":"activation_ended","activation":"v2","reactions":{"e1":{"reroute":["dan"]}}})");
  REQUIRE(s.run().open_holds().on(s.graph().find_event("e1")) == std::vector<std::uint64_t>{1, 2});
  s.then(R"({"type":"decision","hold":"hold:1","decision":"return","text":"","by":"kim","ts":9})");
  CHECK(intervention_summaries(s) == strings{"hold:1 reroute ada"});
  CHECK(s.run().open_holds().on(s.graph().find_event("e1")) == std::vector<std::uint64_t>{2});
  CHECK(s.graph().is_pending(s.graph().find_event("e1"), s.graph().find_agent("dan")));
}

TEST_CASE("of_holds_that_end_together_the_run_remembers_the_latest_thousand") {
  holds h;
  const std::uint64_t count = 3 * holds::max_remembered;
  for (std::uint64_t n = 1; n <= count; ++n) {
    open_hold hold;
    hold.event = static_cast<graph::event_index>(n);
    h.open(hold, "e" + std::to_string(n));
  }
  CHECK(h.on(7) == std::vector<std::uint64_t>{7});
  for (std::uint64_t n = 1; n <= count; ++n) h.close(n);
  CHECK(h.empty());
  CHECK(h.on(7).empty());
  CHECK(h.event_of(count) == "e" + std::to_string(count));
  CHECK(h.event_of(count - holds::max_remembered + 1) != "");
  CHECK(h.event_of(count - holds::max_remembered) == "");
}

TEST_CASE("each_cancelled_event_asks_for_the_open_activations_of_its_sender") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"capabilities":{"cancel":true},)"
             R"("guards":{"fan_out":{"max_outputs":1,"action":"cancel"}}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_started","activation":"v2","agent":"ada"}
{"type":"activation_ended","activation":"v1","outputs":[{"id":"e1","recipients":["bob"]},)"
             R"({"id":"e2","recipients":["bob"]},{"id":"e3","recipients":["bob"]}]}
{"type":"event","event":{"id":"e4","source":"v2","recipients":["bob"]}}
{"type":"event","event":{"id":"e5","source":"v2","recipients":["bob"]}})");
  CHECK(intervention_summaries(s) == strings{"cancel:1 cancel v2", "cancel:2 cancel v2", "cancel:3 cancel v2"});
  const auto is_healed = [](const detection& d) { return d.rule == rule_id::fan_out && d.healed; };
  CHECK(std::count_if(s.detections.begin(), s.detections.end(), is_healed) == 3);
  CHECK(s.verdict_on("e3").action == action::reroute);
  CHECK(s.verdict_on("e3").recipients.empty());
}

TEST_CASE("only_the_latest_outputs_count_as_repeats") {
  repeats r;
  const auto add = [&r](std::optional<std::uint64_t> key, const char* id) { r.add(2, key, id, 3); };
  add(7, "a");
  add(7, "b");
  CHECK(r.count(2) == 2);
  add(std::nullopt, "c");
  CHECK(r.count(2) == 0);
  add(7, "d");  // "a" leaves the window
  CHECK(r.count(2) == 2);
  CHECK(r.earlier(2) == strings{"b"});
  add(8, "e");
  CHECK(r.count(2) == 1);
  add(7, "f");
  CHECK(r.count(2) == 2);
  CHECK(r.earlier(2) == strings{"d"});
}
