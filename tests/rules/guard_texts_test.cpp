// The texts of the guards: they say what happened to the event, and advise only an agent that goes on working.
#include <catch2/catch.hpp>

#include "tests/rules/firing.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

namespace {

const std::string able = R"("capabilities":{"hold":true,"cancel":true},"agents":["ada","bob","cy"])";

scenario with_guards(const std::string& guards, const std::string& more = {}) {
  return scenario(R"({"type":"hello",)" + able + more + R"(,"guards":{)" + guards + "}}\n");
}

// An activation of ada that spends 9 model calls.
const std::string spend = R"({"type":"activation_started","activation":"v1","agent":"ada","usage":{"model_calls":9}})"
                          "\n";

std::string output(const std::string& id, const std::string& more = {}) {
  return R"({"type":"event","event":{"id":")" + id + R"(","source":"v1","recipients":["bob"])" + more + "}}\n";
}

std::string budget(const std::string& actions) { return R"("budget":{"max_model_calls":5,"action":)" + actions + "}"; }

const std::string over = "This run spent more than the budget: max_model_calls 5 (spent 9).";
const std::string advice = " Delegate nothing new. Finish with what is there, and submit the best answer you have.";

}  // namespace

TEST_CASE("a_guard_that_returns_an_event_says_that_it_is_back") {
  scenario s = with_guards(budget(R"("return")"));
  s.then(spend + output("e1"));
  CHECK(s.verdict_on("e1").recipients == strings{"ada"});
  CHECK(s.verdict_on("e1").inject == over + R"( So the event "e1" was not delivered and is back with you.)" + advice);
}

TEST_CASE("a_return_that_reaches_nobody_does_not_claim_to_be_back") {
  scenario s = with_guards(budget(R"("return")"), R"(,"healing":{"max_returns_per_agent":1})");
  s.then(spend + output("e1") + output("e2"));
  CHECK(s.verdict_on("e1").recipients == strings{"ada"});
  CHECK(s.verdict_on("e2").recipients.empty());
  CHECK(s.verdict_on("e2").inject == over + R"( So the event "e2" is not delivered.)" + advice);
}

TEST_CASE("of_a_notice_that_is_returned_only_the_text_comes_back") {
  scenario s = with_guards(R"("repetition":{"max_repeats":1,"action":"return"})");
  s.then(spend + output("n1", R"(,"fyi":true,"fingerprint":"f")") + output("n2", R"(,"fyi":true,"fingerprint":"f")"));
  CHECK(s.verdict_on("n2").inject ==
        R"(You sent the same content to the same recipients 2 times lately. So the event "n2" was not delivered. )"
        "Repeating it will not change the result: look at the answers you have, try something else, or say why you "
        "cannot go on.");
}

TEST_CASE("a_guard_that_only_adds_a_text_does_not_say_where_the_event_goes") {
  // A rule gives the event back in the same verdict.
  scenario s = with_guards(budget(R"("inject")"));
  s.then(spend + R"({"type":"event","event":{"id":"e1","source":"v1","recipients":["zed"]}})");
  CHECK(s.verdict_on("e1").recipients == strings{"ada"});
  CHECK(s.verdict_on("e1").inject.ends_with("consume it.\n\n" + over + advice));
}

TEST_CASE("a_held_event_waits_for_a_person") {
  scenario s = with_guards(budget(R"("hold")"));
  s.then(spend + output("e1"));
  CHECK(s.verdict_on("e1").inject == over + R"( So the event "e1" waits for a person to decide.)" + advice);
}

TEST_CASE("an_agent_whose_work_is_cancelled_gets_no_advice_to_go_on") {
  const std::string cancelled = R"( So the event "e2" is not delivered, and the work is cancelled: stop now.)";
  scenario spent = with_guards(budget(R"(["observe","cancel"])"));
  spent.then(spend + output("e1") + output("e2"));
  CHECK(spent.verdict_on("e2").inject == over + cancelled);
  CHECK(spent.interventions.back().inject == over + cancelled);

  scenario repeated = with_guards(R"("repetition":{"max_repeats":1,"action":"cancel"})");
  repeated.then(spend + output("e1", R"(,"fingerprint":"f")") + output("e2", R"(,"fingerprint":"f")"));
  CHECK(repeated.verdict_on("e2").inject ==
        "You sent the same content to the same recipients 2 times lately." + cancelled);

  scenario wide = with_guards(R"("fan_out":{"max_outputs":1,"action":"cancel"})");
  wide.then(spend + output("e1") + output("e2"));
  CHECK(wide.verdict_on("e2").inject ==
        "The work fans out too far: max_outputs 1 (it is output 2 of its activation)." + cancelled);
}

TEST_CASE("a_message_without_an_event_that_cancels_gets_no_advice") {
  scenario s = with_guards(budget(R"("cancel")"));
  s.then(spend);
  CHECK(s.interventions.back().inject == over + " So the work is cancelled: stop now.");
}

TEST_CASE("a_cancel_with_no_open_activation_does_not_claim_to_end_work") {
  scenario s = with_guards(R"("fan_out":{"max_live":1,"action":"cancel"})");
  s.then(R"({"type":"event","event":{"id":"e1","recipients":["bob"]}}
{"type":"event","event":{"id":"e2","recipients":["bob"]}})");
  CHECK(s.interventions.empty());
  CHECK(s.verdict_on("e2").action == action::reroute);
  CHECK(s.verdict_on("e2").inject ==
        R"(The work fans out too far: max_live 1 (2 events are in flight). So the event "e2" is not delivered.)");
}

TEST_CASE("fan_out_names_each_limit_with_its_own_measure") {
  scenario s = with_guards(R"("fan_out":{"max_depth":0,"max_outputs":1,"max_live":1,"action":"observe"})");
  s.then(R"({"type":"event","event":{"id":"e0","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e0"]})"
         "\n" +
         output("e1") + output("e2"));
  CHECK(s.detections.back().reason ==
        R"(With the event "e2" the work fans out too far: max_depth 0 (its depth is 1), max_outputs 1 (it is output )"
        "2 of its activation), max_live 1 (3 events are in flight).");
}

TEST_CASE("a_hold_that_is_returned_says_where_its_event_goes") {
  const std::string by_person =
      R"({"type":"decision","hold":"hold:1","decision":"return","text":"","by":"kim","ts":9})";
  scenario back = with_guards(budget(R"("hold")"));
  back.then(spend + output("e1") + by_person);
  CHECK(back.interventions.back().recipients == strings{"ada"});
  CHECK(back.interventions.back().inject ==
        R"(Your event "e1" was held for a person and not released. It is back with you. )"
        "The run is over its budget: max_model_calls 5 (spent 9).");

  scenario gone = with_guards(budget(R"("hold")"));
  gone.then(spend + output("e1") + R"({"type":"agent_left","agent":"ada"})" + "\n" + by_person);
  CHECK(gone.interventions.back().recipients.empty());
  CHECK(gone.interventions.back().inject ==
        R"(The event "e1" was held for a person and not released. It is not delivered. )"
        "The run is over its budget: max_model_calls 5 (spent 9).");

  scenario notice = with_guards(R"("repetition":{"max_repeats":1,"action":"hold"})");
  notice.then(spend + output("n1", R"(,"fyi":true,"fingerprint":"f")") +
              output("n2", R"(,"fyi":true,"fingerprint":"f")") + by_person);
  CHECK(notice.interventions.back().inject ==
        R"(Your event "n2" was held for a person and not released. It is not delivered. )"
        R"(Agent "ada" sent the content of "n2" to the same recipients 2 times lately.)");
}
