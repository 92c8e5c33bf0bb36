// A run with its sessions: order, frames that are sent again, and the addressees of interventions (protocol.md).
#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "ingest/protocol/inbox.h"

using namespace digd;
using namespace digd::ingest;
using strings = std::vector<std::string>;

namespace {

struct recorder {
  struct frame {
    session_index to;
    std::string text;
  };
  std::vector<frame> sent;
  strings taken_frames;  // "a 1 event", in the order of acceptance
  strings detected;      // rules
  std::size_t acks = 0;

  void carry_out(const effects& effects) {
    for (const effect& e : effects) {
      if (e.action == effect::action::keep) keep(*e.item);
      if (e.action == effect::action::send) sent.push_back({e.session, std::string(e.frame)});
      if (e.action == effect::action::acknowledge) ++acks;
    }
  }
  void keep(const record& item) {
    taken_frames.push_back(item.kind == record_kind::firing
                               ? "firing at " + std::to_string(item.ts)
                               : std::string(item.session) + ' ' + std::to_string(item.seq) + ' ' +
                                     std::string(item.type));
    for (const detection& d : item.answer.detections) detected.emplace_back(to_string(d.rule));
  }
  // The frames sent to a session, cut to `length`.
  strings to(session_index s, std::size_t length = std::string::npos) const {
    strings texts;
    for (const frame& f : sent) {
      if (f.to == s) texts.push_back(f.text.substr(0, length));
    }
    return texts;
  }
};

struct live_run {
  run_policy policy;
  decoder hellos;
  recorder out;
  std::unique_ptr<inbox> in;

  hello greeting(const std::string& members) {
    hello h;
    const refusal_note note = hellos.decode_hello(R"({"type":"hello","protocol":1,"run":"r")" + members + "}", h);
    INFO(note.text);
    REQUIRE_FALSE(note);
    return h;
  }
  session_index join(const std::string& members) {
    const hello h = greeting(members);
    if (!in)
      in =
          std::make_unique<inbox>(h, effective_settings(h, policy), inbox::options{.hold = true, .keep_replies = true});
    const inbox::joined joined = in->join(h, policy);
    INFO(joined.refused.text);
    REQUIRE_FALSE(joined.refused);
    return joined.session;
  }
  void say(session_index s, const std::string& frame, milliseconds stamp = 0) {
    out.carry_out(in->receive(s, frame, stamp));
  }
  void pass(milliseconds now) { out.carry_out(in->advance(now)); }
  void resume(session_index s) { out.carry_out(in->resume(s)); }
};

const std::string event_e1 = R"({"type":"event","seq":1,"event":{"id":"e1","recipients":["bob"]}})";
const std::string bob_takes_e1 =
    R"({"type":"activation_started","seq":1,"activation":"v1","agent":"bob","inputs":["e1"]})";

}  // namespace

TEST_CASE("a_message_that_names_an_id_not_yet_seen_waits_for_the_session_that_brings_it") {
  live_run r;
  const session_index a = r.join(R"(,"session":"a")"), b = r.join(R"(,"session":"b")");
  r.say(b, bob_takes_e1, 1000);
  CHECK(r.out.taken_frames == strings{});
  CHECK(r.in->next_due() == 1050);
  r.say(a, event_e1, 1010);
  CHECK(r.out.taken_frames == strings{"a 1 event", "b 1 activation_started"});
  CHECK_FALSE(r.in->run().graph().event(r.in->run().graph().find_event("e1")).late);
  CHECK(r.in->sessions()[b].held.empty());
}

TEST_CASE("later_messages_of_a_session_wait_behind_the_one_that_is_held") {
  live_run r;
  const session_index a = r.join(R"(,"session":"a")"), b = r.join(R"(,"session":"b")");
  r.say(b, bob_takes_e1);
  r.say(b, R"({"type":"agent_joined","seq":2,"agent":"cy"})");
  r.say(b, R"({"type":"activation_ended","seq":3,"activation":"v1"})");
  CHECK(r.out.taken_frames == strings{});
  r.say(a, R"({"type":"agent_joined","seq":1,"agent":"ada"})");  // does not help
  CHECK(r.out.taken_frames == strings{"a 1 agent_joined"});
  r.say(a, R"({"type":"event","seq":2,"event":{"id":"e1","recipients":["bob"]}})");
  CHECK(r.out.taken_frames ==
        strings{"a 1 agent_joined", "a 2 event", "b 1 activation_started", "b 2 agent_joined", "b 3 activation_ended"});
}

TEST_CASE("a_held_message_is_not_handled_again_before_its_id_is_known") {
  live_run r;
  const session_index a = r.join(R"(,"session":"a")"), b = r.join(R"(,"session":"b")");
  r.say(b, bob_takes_e1);
  const session& waiting = r.in->sessions()[b];
  const char* const bytes = waiting.held.front().frame.data();
  CHECK((waiting.held.front().awaited == "e1" && waiting.held.front().awaits_event));
  for (int i = 1; i <= 5; ++i) {
    r.say(a, R"({"type":"agent_joined","seq":)" + std::to_string(i) + R"(,"agent":"ada"})");
    CHECK(waiting.held.front().frame.data() == bytes);  // a frame that is handled is copied
  }
  r.say(a, R"({"type":"event","seq":6,"event":{"id":"e1","recipients":["bob"]}})");
  CHECK(waiting.held.empty());
}

TEST_CASE("held_bytes_are_those_of_the_frames_that_wait_and_dropped_frames_come_again") {
  live_run r;
  const session_index a = r.join(R"(,"session":"a")"), b = r.join(R"(,"session":"b")");
  r.say(b, bob_takes_e1);
  r.say(b, R"({"type":"agent_joined","seq":2,"agent":"cy"})");
  CHECK(r.in->sessions()[b].held_bytes > bob_takes_e1.size());
  r.in->drop_held(b);
  CHECK((r.in->sessions()[b].held_bytes == 0 && !r.in->next_due()));
  r.resume(b);
  r.say(b, bob_takes_e1);
  r.say(a, event_e1);
  CHECK(r.in->sessions()[b].held_bytes == 0);
  CHECK(r.out.taken_frames == strings{"a 1 event", "b 1 activation_started"});
}

TEST_CASE("a_held_message_is_released_after_reorder_ms_and_its_input_becomes_a_placeholder") {
  live_run r;
  r.join(R"(,"session":"a","limits":{"reorder_ms":20})");
  const session_index b = r.join(R"(,"session":"b")");
  r.say(b, bob_takes_e1, 1000);
  r.pass(1019);
  CHECK(r.out.taken_frames == strings{});
  r.pass(1020);
  CHECK(r.out.taken_frames == strings{"b 1 activation_started"});
  CHECK(r.in->run().graph().event(r.in->run().graph().find_event("e1")).placeholder);
}

// One message may release what many sessions have waiting; the thread's other runs must not wait for all of it.
TEST_CASE("many_held_messages_are_released_in_pieces_and_in_order") {
  live_run r;
  const session_index a = r.join(R"(,"session":"a")"), b = r.join(R"(,"session":"b")"), c = r.join(R"(,"session":"c")");
  constexpr std::size_t each = 1'000;
  for (const session_index s : {b, c}) {
    r.say(s, bob_takes_e1, 1000);
    for (std::size_t seq = 2; seq <= each; ++seq) {
      r.say(s, R"({"type":"agent_joined","seq":)" + std::to_string(seq) + R"(,"agent":"cy"})", 1000);
    }
  }
  REQUIRE(r.out.taken_frames.empty());
  r.say(a, event_e1, 1010);
  CHECK(r.out.taken_frames.size() == 1 + inbox::max_released);
  std::size_t calls = 1;
  for (; r.in->next_due() == 1010; ++calls) {
    const std::size_t before = r.out.taken_frames.size();
    r.pass(1010);
    REQUIRE(r.out.taken_frames.size() > before);
    CHECK(r.out.taken_frames.size() - before <= inbox::max_released);
  }
  CHECK(calls == (2 * each + inbox::max_released - 1) / inbox::max_released);
  std::map<std::string, std::size_t> last;
  for (const std::string& taken : r.out.taken_frames) {
    const std::size_t seq = std::stoul(taken.substr(2));
    CHECK(seq == ++last[taken.substr(0, 1)]);
  }
  CHECK((last["b"] == each && last["c"] == each));
  CHECK(r.in->sessions()[b].held_bytes + r.in->sessions()[c].held_bytes == 0);
}

TEST_CASE("a_piece_of_released_messages_ends_with_their_bytes_too") {
  live_run r;
  const session_index a = r.join(R"(,"session":"a")"), b = r.join(R"(,"session":"b")");
  r.say(b, bob_takes_e1, 1000);
  const std::string filling(300'000, 'x');
  for (int seq = 2; seq <= 8; ++seq) {
    r.say(b, R"({"type":"agent_joined","agent":"cy","seq":)" + std::to_string(seq) + R"(,"x":")" + filling + "\"}",
          1000);
  }
  r.say(a, event_e1, 1010);
  CHECK(r.out.taken_frames.size() < 8);
  CHECK(r.in->next_due() == 1010);
  r.pass(1010);
  CHECK(r.in->sessions()[b].held.empty());
}

TEST_CASE("two_sessions_that_wait_for_each_other_are_both_released") {
  live_run r;
  const session_index a = r.join(R"(,"session":"a")"), b = r.join(R"(,"session":"b")");
  r.say(a, R"({"type":"activation_started","seq":1,"activation":"va","agent":"ada","inputs":["eb"]})", 1000);
  r.say(b, R"({"type":"activation_started","seq":1,"activation":"vb","agent":"bob","inputs":["ea"]})", 1000);
  r.say(a, R"({"type":"event","seq":2,"event":{"id":"ea","recipients":["bob"]}})", 1001);
  r.say(b, R"({"type":"event","seq":2,"event":{"id":"eb","recipients":["ada"]}})", 1001);
  CHECK(r.out.taken_frames == strings{});
  r.pass(1050);
  CHECK(r.out.taken_frames.size() == 4);
  CHECK(r.in->next_due() == r.in->run().next_due());
}

TEST_CASE("a_frame_too_large_to_be_read_waits_behind_one_that_is_held_and_takes_the_seq_after_it") {
  live_run r;
  const session_index a = r.join(R"(,"session":"a")"), b = r.join(R"(,"session":"b")");
  r.say(b, bob_takes_e1);
  r.out.carry_out(r.in->receive_too_large(b, 5'000'000, 0));
  CHECK(r.out.taken_frames == strings{});
  r.say(a, event_e1);
  CHECK(r.out.taken_frames == strings{"a 1 event", "b 1 activation_started", "b 2 refused"});
  CHECK(r.in->sessions()[b].taken_seq == 2);
}

TEST_CASE("held_frames_of_a_session_that_comes_back_are_dropped_as_the_client_sends_them_again") {
  live_run r;
  const session_index a = r.join(R"(,"session":"a")"), b = r.join(R"(,"session":"b")");
  const std::string agent_joined = R"({"type":"agent_joined","seq":1,"agent":"bob"})";
  const std::string takes_e1 =
      R"({"type":"activation_started","seq":2,"activation":"v1","agent":"bob","inputs":["e1"]})";
  r.say(b, agent_joined);
  r.say(b, takes_e1);
  REQUIRE(r.in->sessions()[b].held.size() == 1);
  r.resume(b);
  CHECK(r.in->sessions()[b].held.empty());
  CHECK_FALSE(r.in->next_due().has_value());
  r.say(b, agent_joined);
  r.say(b, takes_e1);
  r.say(a, event_e1);
  CHECK(r.out.taken_frames == strings{"b 1 agent_joined", "a 1 event", "b 2 activation_started"});
}

TEST_CASE("a_session_alone_does_not_wait") {
  live_run r;
  const session_index only = r.join("");
  r.say(only, bob_takes_e1);
  CHECK(r.out.taken_frames == strings{"main 1 activation_started"});
}

TEST_CASE("a_repeated_frame_is_answered_with_the_same_bytes_until_it_is_durable") {
  live_run r;
  const session_index s = r.join(R"(,"agents":["ada"])");
  r.say(s, R"({"type":"event","seq":1,"event":{"id":"e1","recipients":["zed"]}})", 5);
  r.say(s, R"({"type":"agent_joined","seq":2,"agent":"bob"})", 6);
  r.say(s, R"({"type":"nonsense","seq":3})", 7);
  REQUIRE(r.out.sent.size() == 2);
  const strings first = r.out.to(s);
  r.resume(s);
  r.say(s, R"({"type":"event","seq":1,"event":{"id":"e1","recipients":["zed"]}})", 99);
  r.say(s, R"({"type":"agent_joined","seq":2,"agent":"bob"})", 99);
  r.say(s, R"({"type":"nonsense","seq":3})", 99);
  REQUIRE(r.out.sent.size() == 4);
  CHECK(r.out.to(s) == strings{first[0], first[1], first[0], first[1]});
  CHECK(r.out.acks == 3);
  CHECK(r.out.taken_frames.size() == 3);
  r.in->durable(s, 2);
  r.resume(s);
  r.say(s, R"({"type":"event","seq":1,"event":{"id":"e1","recipients":["zed"]}})", 99);
  CHECK(r.out.sent.size() == 4);
  CHECK(r.out.acks == 4);
}

TEST_CASE("a_client_that_came_back_gets_its_answer_again_even_if_its_message_has_become_durable") {
  live_run r;
  const session_index s = r.join("");
  const std::string lost = R"({"type":"event","seq":1,"event":{"id":"e1","recipients":["zed"]}})";
  r.say(s, lost);
  const strings first = r.out.to(s);
  REQUIRE(first.size() == 1);
  r.resume(s);
  r.in->durable(s, 1);  // its welcome said 0
  r.say(s, lost);
  CHECK(r.out.to(s) == strings{first[0], first[0]});
  CHECK(r.in->sessions()[s].unacked.empty());
  // It continued without sending the message again, so no answer is owed.
  r.say(s, R"({"type":"event","seq":2,"event":{"id":"e2","recipients":["zed"]}})");
  r.resume(s);
  r.in->durable(s, 2);
  CHECK(r.in->sessions()[s].unacked.size() == 1);
  r.say(s, R"({"type":"time","seq":3})");
  r.in->durable(s, 3);
  CHECK(r.in->sessions()[s].unacked.empty());
}

TEST_CASE("a_repeated_frame_without_a_usable_seq_is_recognised_by_its_place") {
  live_run r;
  const session_index s = r.join(R"(,"limits":{"message_bytes":200})");
  r.say(s, R"({"type":"agent_joined","seq":1,"agent":"ada"})");
  r.in->durable(s, 1);
  const std::string too_large = R"({"type":"agent_joined","seq":3,"agent":")" + std::string(200, 'x') + "\"}";
  r.say(s, "{no json");
  r.say(s, too_large);
  CHECK(r.in->sessions()[s].taken_seq == 3);
  r.say(s, R"({"type":"agent_joined","seq":4,"agent":"bob"})");
  const strings first = r.out.to(s);
  // The client does not know that 2 to 4 were accepted.
  r.resume(s);
  r.say(s, "{no json");
  r.say(s, too_large);
  r.say(s, R"({"type":"agent_joined","seq":4,"agent":"bob"})");
  CHECK(r.in->sessions()[s].taken_seq == 4);
  CHECK(r.out.to(s) == strings{first[0], first[1], first[0], first[1]});
  // All messages after this are new.
  r.say(s, "{no json");
  CHECK(r.in->sessions()[s].taken_seq == 5);
  // An old seq does not start a resending: the expected seq stays the same.
  r.say(s, R"({"type":"time","seq":2})");
  r.say(s, "{no json");
  CHECK(r.in->sessions()[s].taken_seq == 6);
}

TEST_CASE("a_second_hello_a_wrong_seq_and_a_frame_that_is_too_large_are_refused") {
  live_run r;
  const session_index s = r.join("");
  r.say(s, R"({"type":"hello","protocol":1,"run":"r","seq":1})");
  CHECK(r.out.sent.at(0).text.starts_with(R"({"type":"error","code":"bad_message","seq":1,"field":"type",)"));
  r.say(s, R"({"type":"time","seq":9})");
  CHECK(r.out.sent.at(1).text.starts_with(R"({"type":"error","code":"bad_seq","seq":2,"field":"seq",)"));
  r.out.carry_out(r.in->receive_too_large(s, 5'000'000, 0));
  CHECK(r.out.sent.at(2).text.starts_with(R"({"type":"error","code":"too_large","seq":2,)"));
  r.say(s, R"({"type":"time","seq":3})");
  CHECK(r.out.sent.size() == 3);
}

TEST_CASE("a_session_that_asks_for_what_the_run_cannot_give_is_refused") {
  live_run r;
  r.join(R"(,"session":"a","mode":"shadow","limits":{"sessions":2})");
  const inbox::joined conflict = r.in->join(r.greeting(R"(,"session":"b","mode":"enforce")"), r.policy);
  CHECK(conflict.refused.code == refusal::hello_conflict);
  CHECK(conflict.refused.field == "mode");
  r.join(R"(,"session":"b")");
  CHECK(r.in->join(r.greeting(R"(,"session":"c")"), r.policy).refused.code == refusal::over_limit);
  CHECK_FALSE(r.in->join(r.greeting(R"(,"session":"a")"), r.policy).refused);  // known already
  CHECK(r.in->sessions().size() == 2);
}

TEST_CASE("interventions_go_to_every_session_that_named_a_recipient_or_to_all_if_none_did") {
  const auto addressed = [](const std::string& a, const std::string& b) {
    live_run r;
    const session_index first = r.join(R"(,"session":"a","rules":{"deadlock":{"window_ms":10}})" + a),
                        second = r.join(R"(,"session":"b")" + b);
    r.say(first, R"({"type":"event","seq":1,"event":{"id":"e1","recipients":["ada"]}})", 1000);
    r.pass(1010);
    return std::to_string(r.out.to(first, 40).size() - 1) +
           std::to_string(r.out.to(second, 40).size());  // less the verdict
  };
  CHECK(addressed(R"(,"agents":["ada"])", R"(,"agents":["bob"])") == "11");  // a deadlock goes to the whole roster
  CHECK(addressed(R"(,"agents":["ada"])", R"(,"agents":[])") == "10");
  CHECK(addressed("", R"(,"agents":["ada"])") == "01");
  CHECK(addressed("", "") == "11");
  CHECK(addressed("", R"(,"capabilities":{"create":false})") == "10");
  CHECK(addressed(R"(,"capabilities":{"create":false})", R"(,"agents":["ada"],"capabilities":{"create":false})") ==
        "00");
}

TEST_CASE("an_intervention_is_sent_again_after_each_welcome_until_its_addressees_have_answered") {
  live_run r;
  const session_index a = r.join(
                          R"(,"session":"a","rules":{"deadlock":{"window_ms":10,"max_attempts":1}},"agents":["ada"])"),
                      b = r.join(R"(,"session":"b","agents":["bob"])");
  r.say(a, R"({"type":"event","seq":1,"event":{"id":"e1","recipients":["ada"]}})", 1000);
  r.pass(1010);
  CHECK(r.out.taken_frames.back() == "firing at 1010");
  REQUIRE(r.out.to(b).size() == 1);
  const std::string frame = r.out.to(b).at(0);
  CHECK(frame.starts_with(
      R"({"type":"intervention","id":"sys:1","action":"create","recipients":["ada","bob"],"inject":")"));
  CHECK(r.out.to(a).back() == frame);

  r.out.sent.clear();
  r.resume(a);
  r.resume(b);
  CHECK(r.out.to(a) == strings{frame});
  CHECK(r.out.to(b) == strings{frame});

  r.say(a, R"({"type":"delivery","seq":2,"of":"sys:1","applied":"created"})", 1011);
  r.out.sent.clear();
  r.resume(a);
  CHECK(r.out.sent.empty());
  r.resume(b);
  CHECK(r.out.to(b) == strings{frame});

  r.say(b, R"({"type":"delivery","seq":1,"of":"sys:1","applied":"failed"})", 1012);
  r.out.sent.clear();
  r.resume(a);
  r.resume(b);
  CHECK(r.out.sent.empty());
}

TEST_CASE("only_sessions_that_asked_for_witnesses_get_them") {
  live_run r;
  const session_index a = r.join(R"(,"session":"a","witness":true,"rules":{"deadlock":{"window_ms":10}})"),
                      b = r.join(R"(,"session":"b")");
  r.say(a, R"({"type":"event","seq":1,"event":{"id":"e1","recipients":["ada"]}})", 0);
  r.pass(10);
  CHECK(r.out.to(a).back().find("\"witness\":{") != std::string::npos);
  CHECK(r.out.to(b).back().find("witness") == std::string::npos);
}

TEST_CASE("with_the_wall_clock_the_daemons_stamp_counts_and_never_goes_back") {
  live_run r;
  const session_index s = r.join(R"(,"rules":{"deadlock":{"window_ms":10}})");
  r.say(s, R"({"type":"event","seq":1,"ts":777777,"event":{"id":"e1","recipients":["ada"]}})", 1000);
  CHECK(r.in->run().clock() == 1000);
  CHECK(r.in->next_due() == 1010);
  r.say(s, R"({"type":"time","seq":2})", 990);
  CHECK(r.in->run().clock() == 1000);
  r.pass(1009);
  CHECK(r.out.detected == strings{});
  r.say(s, R"({"type":"nonsense","seq":3})", 1015);  // refused, but time has passed
  CHECK(r.out.detected == strings{"deadlock"});
}

TEST_CASE("a_session_that_comes_back_keeps_its_place_and_may_have_lost_a_capability") {
  live_run r;
  const session_index s = r.join(R"(,"agents":["ada"])");
  r.say(s, R"({"type":"activation_started","seq":1,"activation":"v1","agent":"ada"})");
  CHECK(r.join(R"(,"agents":["ada"],"capabilities":{"reroute":false})") == s);
  r.say(s, R"({"type":"event","seq":2,"event":{"id":"e1","source":"v1","recipients":["zed"]}})");
  CHECK(r.out.to(s).back().find(R"("cause":"unsupported")") != std::string::npos);
}

TEST_CASE("the_effects_of_a_call_are_in_order_an_item_for_the_record_then_the_frames_that_it_brings_about") {
  live_run r;
  const session_index s = r.join("");
  std::string order;
  for (const effect& e : r.in->receive(s, event_e1, 0)) {
    order += e.action == effect::action::keep ? "keep " + std::string(e.item->type) + ';' : "send;";
    if (e.action == effect::action::send) CHECK(e.type == frame_type::verdicts);
  }
  CHECK(order == "keep event;send;");
}

TEST_CASE("a_limit_that_degrades_the_run_is_an_item_of_its_own_before_the_message") {
  live_run r;
  const session_index s = r.join(R"(,"limits":{"live_events":1},"over_limit":{"live_events":"observe"})");
  r.say(s, event_e1);
  std::vector<record_kind> kinds;
  for (const effect& e : r.in->receive(s, R"({"type":"event","seq":2,"event":{"id":"e2","recipients":["bob"]}})", 0)) {
    if (e.action != effect::action::keep) continue;
    kinds.push_back(e.item->kind);
    if (e.item->kind != record_kind::limit) continue;
    CHECK(e.item->limit == limit_id::live_events);
    CHECK(e.item->policy == limit_policy::observe);
  }
  CHECK(kinds == std::vector{record_kind::limit, record_kind::message});
}
