// The client's conversation with a daemon that answers late, twice, out of order, or not at all. No sockets, no clock.
#include "clients/cpp/conversation.h"

#include <catch2/catch.hpp>
#include <string>

#include "net/daemon_frame.h"

using namespace digd::client;
using digd::net::read_daemon_frame;

namespace {

const time_point start{};
time_point at(int ms) { return start + milliseconds(ms); }

void hear(conversation& with, const std::string& frame, int ms = 0) {
  with.receive(read_daemon_frame(frame).value(), at(ms));
}

std::string welcome(std::uint64_t acked, std::uint64_t credits = 1024) {
  return R"({"type":"welcome","acked_seq":)" + std::to_string(acked) + R"(,"credits":)" + std::to_string(credits) +
         R"(,"mode":"enforce","verdict_deadline_ms":250,"limits":{"message_bytes":1048576}})";
}

report event_named(const std::string& id) { return event_report({.id = id, .recipients = {"coder"}}, {}, 1u << 20); }

conversation connected(std::uint64_t credits = 1024, std::size_t max_bytes = 1u << 20) {
  conversation c({}, max_bytes);
  hear(c, welcome(0, credits));
  return c;
}

std::vector<std::string> frames_of(conversation& c) {
  std::vector<std::string> frames;
  while (auto frame = c.take_frame()) frames.push_back(*frame);
  return frames;
}

}  // namespace

TEST_CASE("a_verdict_settles_the_events_ticket") {
  conversation c = connected();
  const auto waiting = c.add(event_named("e1"), at(0));
  REQUIRE(frames_of(c).size() == 1);
  REQUIRE_FALSE(waiting->verdicts);
  hear(c, R"({"type":"verdicts","seq":1,"verdicts":[{"event":"e1","action":"reroute","recipients":["planner"],)"
          R"("inject":"back","detections":[{"rule":"orphaned_event","healed":true,"evidence":["coder"]}]}]})");
  REQUIRE(waiting->verdicts);
  const verdict& v = waiting->verdicts->front();
  CHECK(v.action == action::reroute);
  CHECK(v.recipients == std::vector<std::string>{"planner"});
  CHECK(v.inject == "back");
  CHECK(v.as_is.empty());
  CHECK(v.detections.at(0).rule == "orphaned_event");
  CHECK(v.detections.at(0).evidence == std::vector<std::string>{"coder"});
}

TEST_CASE("an_event_without_a_verdict_at_its_deadline_goes_out_unchanged_and_is_reported_so") {
  conversation c = connected();
  const auto waiting = c.add(event_named("e1"), at(0));
  frames_of(c);
  c.expire(waiting, at(249));
  REQUIRE_FALSE(waiting->verdicts);
  c.expire(waiting, at(250));
  REQUIRE(waiting->verdicts);
  CHECK(waiting->verdicts->front().as_is == "timeout");
  CHECK(waiting->verdicts->front().recipients == std::vector<std::string>{"coder"});
  CHECK(frames_of(c) ==
        std::vector<std::string>{R"({"type":"delivery","seq":2,"event":"e1","applied":"as_is","reason":"timeout"})"});
}

TEST_CASE("a_second_verdict_is_ignored") {
  conversation c = connected();
  const auto waiting = c.add(event_named("e1"), at(0));
  frames_of(c);
  hear(c, R"({"type":"verdicts","seq":1,"verdicts":[{"event":"e1","action":"deliver"}]})");
  hear(c, R"({"type":"verdicts","seq":1,"verdicts":[{"event":"e1","action":"inject","inject":"late"}]})");
  CHECK(waiting->verdicts->front().action == action::deliver);
}

TEST_CASE("after_three_missed_deadlines_nothing_waits_until_the_daemon_answers_again") {
  conversation c = connected();
  for (int i = 0; i < 3; ++i) {
    const auto waiting = c.add(event_named("e" + std::to_string(i)), at(0));
    frames_of(c);
    c.expire(waiting, at(250));
  }
  const auto unheld = c.add(event_named("e3"), at(300));
  REQUIRE(unheld->verdicts);
  CHECK(unheld->verdicts->front().as_is == "timeout");
  hear(c, R"({"type":"ack","seq":1})");
  CHECK_FALSE(c.add(event_named("e4"), at(300))->verdicts);
}

TEST_CASE("before_the_first_connection_an_event_waits_for_one_deadline_and_its_message_is_marked") {
  conversation c({}, 1u << 20);
  const auto waiting = c.add(event_named("e1"), at(0));
  REQUIRE_FALSE(waiting->verdicts);
  CHECK_FALSE(c.take_frame());
  c.disconnect(at(10));
  REQUIRE(waiting->verdicts);
  CHECK(waiting->verdicts->front().as_is == "disconnected");
  CHECK(c.add(event_named("e2"), at(11))->verdicts->front().as_is == "disconnected");
  hear(c, welcome(0));
  const auto frames = frames_of(c);
  REQUIRE(frames.size() == 2);
  CHECK(frames[0] == R"({"type":"event","seq":1,"as_is":true,"event":{"id":"e1","recipients":["coder"]}})");
}

TEST_CASE("after_a_lost_connection_the_client_resumes_behind_the_acknowledged_message") {
  conversation c = connected();
  for (const char* id : {"e1", "e2", "e3"}) c.add(event_named(id), at(0));
  const auto first = frames_of(c);
  hear(c, R"({"type":"ack","seq":1})");
  c.disconnect(at(5));
  hear(c, welcome(2));
  const auto again = frames_of(c);
  REQUIRE(again.size() == 4);  // e3, and a delivery report for each event
  CHECK(again[0] == first[2]);
  CHECK(again[1].find(R"("type":"delivery","seq":4,"event":"e1","applied":"as_is")") != std::string::npos);
}

TEST_CASE("the_client_names_the_last_seq_up_to_which_every_answer_has_come") {
  conversation c({}, 1u << 20);
  CHECK_FALSE(c.answered_seq());
  hear(c, welcome(0));
  CHECK(c.answered_seq() == 0u);
  for (const char* id : {"e1", "e2", "e3"}) c.add(event_named(id), at(0));
  REQUIRE(frames_of(c).size() == 3);
  hear(c, R"({"type":"verdicts","seq":1,"verdicts":[{"event":"e1","action":"deliver"}]})");
  hear(c, R"({"type":"error","code":"duplicate_event","seq":3,"message":"twice","fatal":false})");
  CHECK(c.answered_seq() == 1u);
  c.disconnect(at(1));
  hear(c, welcome(3));
  CHECK(c.answered_seq() == 1u);
  hear(c, R"({"type":"verdicts","seq":2,"verdicts":[{"event":"e2","action":"deliver"}]})");
  CHECK(c.answered_seq() == 3u);
}

TEST_CASE("a_daemon_that_lost_its_data_gets_the_rest_under_new_numbers_after_a_gap") {
  conversation c = connected();
  for (const char* id : {"e1", "e2"}) c.add(event_named(id), at(0));
  frames_of(c);
  hear(c, R"({"type":"ack","seq":1})");
  c.disconnect(at(5));
  hear(c, welcome(0));
  const auto again = frames_of(c);
  REQUIRE(again.size() == 4);
  CHECK(again[0] == R"({"type":"gap","seq":1,"dropped":1})");
  CHECK(again[1].find(R"("seq":2,"event":{"id":"e2")") != std::string::npos);
}

TEST_CASE("the_client_is_never_further_ahead_than_its_credits_and_reports_what_it_dropped") {
  conversation c = connected(4);
  CHECK_FALSE(c.add(event_named("e1"), at(0))->verdicts);
  CHECK_FALSE(c.add(event_named("e2"), at(0))->verdicts);
  const auto dropped = c.add(event_named("e3"), at(0));  // two places are reserved
  REQUIRE(dropped->verdicts);
  CHECK(dropped->verdicts->front().as_is == "credits");
  CHECK(c.counters().dropped == 1);
  CHECK(frames_of(c).size() == 2);
  hear(c, R"({"type":"ack","seq":2})");
  CHECK(frames_of(c) == std::vector<std::string>{R"({"type":"gap","seq":3,"dropped":1})"});
}

TEST_CASE("the_buffers_bytes_are_bounded_but_the_end_of_the_run_always_fits") {
  conversation c({}, 150);
  c.add(event_named(std::string(60, 'a')), at(0));
  CHECK(c.add(event_named(std::string(60, 'b')), at(0))->verdicts->front().as_is == "credits");
  c.add(finish_report(outcome::success, {}), at(0));
  hear(c, welcome(0));
  const auto frames = frames_of(c);
  REQUIRE(frames.size() == 3);
  CHECK(frames[1] == R"({"type":"gap","seq":2,"dropped":1})");
  CHECK(frames[2] == R"({"type":"run_ended","seq":3,"outcome":"success"})");
  CHECK(c.add(event_named("late"), at(0))->verdicts->front().as_is == "error:run_closed");
}

TEST_CASE("a_refused_message_goes_out_unchanged_with_the_code") {
  conversation c = connected();
  const auto waiting = c.add(event_named("e1"), at(0));
  frames_of(c);
  hear(c, R"({"type":"error","code":"duplicate_event","seq":1,"message":"…","fatal":false})");
  CHECK(waiting->verdicts->front().as_is == "error:duplicate_event");
  CHECK(c.take_error());
  CHECK_FALSE(c.take_error());
}

TEST_CASE("a_fatal_error_ends_the_conversation") {
  conversation c({}, 1u << 20);
  const auto waiting = c.add(event_named("e1"), at(0));
  hear(c, R"({"type":"error","code":"hello_conflict","message":"…","fatal":true})");
  CHECK(c.state() == connection_state::closed);
  CHECK(waiting->verdicts->front().as_is == "error:hello_conflict");
}

TEST_CASE("a_client_follows_five_moves_in_a_row") {
  conversation c({}, 1u << 20);
  const auto waiting = c.add(event_named("e1"), at(0));
  const std::string moved = R"({"type":"error","code":"moved","to":"wss://other:7344","message":"…","fatal":true})";
  for (unsigned i = 0; i < conversation::max_moves; ++i) {
    hear(c, moved);
    CHECK(c.wants_reconnect());
    CHECK(c.take_move() == "wss://other:7344");
    CHECK_FALSE(c.take_move());
    CHECK_FALSE(c.wants_reconnect());
    CHECK_FALSE(waiting->verdicts);
  }
  hear(c, moved);
  CHECK_FALSE(c.take_move());
  CHECK(c.state() == connection_state::closed);
  CHECK(waiting->verdicts->front().as_is == "error:moved");
}

TEST_CASE("an_intervention_that_comes_again_is_handed_on_once") {
  conversation c = connected();
  const std::string frame = R"({"type":"intervention","id":"sys:1","action":"create","recipients":["coder"]})";
  hear(c, frame);
  hear(c, frame);
  const auto handed_on = c.take_intervention();
  REQUIRE(handed_on);
  CHECK(handed_on->id == "sys:1");
  CHECK(handed_on->action == action::create);
  CHECK_FALSE(c.take_intervention());
}

TEST_CASE("interventions_beyond_the_limit_are_answered_as_failed") {
  conversation c = connected();
  for (std::size_t i = 0; i <= conversation::max_interventions; ++i) {
    hear(c, R"({"type":"intervention","id":"sys:)" + std::to_string(i) + R"(","action":"create","recipients":[]})");
  }
  const auto frames = frames_of(c);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].find(R"("of":"sys:1024","applied":"failed")") != std::string::npos);
}

TEST_CASE("messages_are_held_for_max_added_in_total_and_then_not_at_all") {
  conversation c({.max_added = milliseconds(300)}, 1u << 20);
  hear(c, welcome(0));
  const auto first = c.add(event_named("e1"), at(0));
  const auto second = c.add(event_named("e2"), at(100));
  frames_of(c);
  hear(c, R"({"type":"verdicts","seq":1,"verdicts":[{"event":"e1","action":"deliver"}]})", 150);
  hear(c, R"({"type":"verdicts","seq":2,"verdicts":[{"event":"e2","action":"deliver"}]})", 200);
  CHECK(first->verdicts->front().as_is.empty());
  CHECK(second->verdicts->front().as_is.empty());
  CHECK(c.no_hold_reason().empty());  // 200 ms: what waits at the same time counts once
  const auto last = c.add(event_named("e3"), at(1000));
  CHECK(last->deadline == at(1100));
  c.expire(last, at(1100));
  CHECK(last->verdicts->front().as_is == "max_added_ms");
  CHECK(c.counters().timeouts == 0);
  CHECK(c.add(event_named("e4"), at(1200))->verdicts->front().as_is == "max_added_ms");
}

TEST_CASE("a_submit_event_of_a_fail_closed_run_waits_without_a_connection_and_gets_its_verdict_later") {
  conversation c({.fail_closed = milliseconds(5000)}, 1u << 20);
  hear(c, welcome(0));
  const auto other = c.add(event_named("e1"), at(0));
  const auto answer = c.add(event_report({.id = "e2", .recipients = {}, .submit = true}, "v1", 1u << 20), at(0));
  frames_of(c);
  c.disconnect(at(10));
  CHECK(other->verdicts->front().as_is == "disconnected");
  REQUIRE_FALSE(answer->verdicts);
  const auto offline = c.add(event_report({.id = "e3", .recipients = {}, .submit = true}, "v1", 1u << 20), at(20));
  REQUIRE_FALSE(offline->verdicts);
  hear(c, welcome(0), 100);
  frames_of(c);
  hear(c, R"({"type":"verdicts","seq":2,"verdicts":[{"event":"e2","action":"deliver"}]})", 110);
  CHECK(answer->verdicts->front().as_is.empty());
  c.expire(offline, at(5019));
  REQUIRE_FALSE(offline->verdicts);
  c.expire(offline, at(5020));
  CHECK(offline->verdicts->front().as_is == "timeout");
}

TEST_CASE("closing_settles_a_fail_closed_event_that_was_acknowledged") {
  conversation c({.fail_closed = milliseconds(5000)}, 1u << 20);
  hear(c, welcome(0));
  const auto answer = c.add(event_report({.id = "e1", .recipients = {}, .submit = true}, "v1", 1u << 20), at(0));
  frames_of(c);
  hear(c, R"({"type":"ack","seq":1})", 5);
  c.disconnect(at(10));
  REQUIRE_FALSE(answer->verdicts);
  c.close("off");
  REQUIRE(answer->verdicts);
  CHECK(answer->verdicts->front().as_is == "off");
}

TEST_CASE("after_three_failed_healings_nothing_is_held") {
  conversation c = connected();
  CHECK_FALSE(c.add_failed_healing());
  CHECK_FALSE(c.add_failed_healing());
  CHECK(c.follows_verdicts());
  CHECK(c.add_failed_healing());
  CHECK_FALSE(c.follows_verdicts());
  CHECK_FALSE(c.add_failed_healing());  // once
  CHECK(c.add(event_named("e1"), at(0))->verdicts->front().as_is == "healing_failed");
}
