// A run with its sessions: order, frames that are sent again, and the addressees of interventions (protocol.md).
#include <catch2/catch.hpp>

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
  strings taken_frames;  // "a 1 event", in the order taken
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
    if (!in) in = std::make_unique<inbox>(h, settle(h, policy), inbox::options{.hold = true, .keep_replies = true});
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

TEST_CASE("a message that names an id not yet seen waits for the session that brings it") {
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

TEST_CASE("later messages of a session wait behind the one that is held") {
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

TEST_CASE("a held message is released after reorder_ms, and its input becomes a placeholder") {
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

TEST_CASE("two sessions that wait for each other are both released") {
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

TEST_CASE("a frame too large to be read waits behind one that is held, and takes the seq after it") {
  live_run r;
  const session_index a = r.join(R"(,"session":"a")"), b = r.join(R"(,"session":"b")");
  r.say(b, bob_takes_e1);
  r.out.carry_out(r.in->receive_too_large(b, 5'000'000, 0));
  CHECK(r.out.taken_frames == strings{});
  r.say(a, event_e1);
  CHECK(r.out.taken_frames == strings{"a 1 event", "b 1 activation_started", "b 2 refused"});
  CHECK(r.in->sessions()[b].taken_seq == 2);
}

TEST_CASE("held frames of a session that comes back are dropped, as the client sends them again") {
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

TEST_CASE("a session alone does not wait") {
  live_run r;
  const session_index only = r.join("");
  r.say(only, bob_takes_e1);
  CHECK(r.out.taken_frames == strings{"main 1 activation_started"});
}

TEST_CASE("a repeated frame is answered with the same bytes until it is durable") {
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

TEST_CASE("a client that came back gets its answer again even if its message has become durable") {
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
  // It went on without sending again: nothing is owed any more.
  r.say(s, R"({"type":"event","seq":2,"event":{"id":"e2","recipients":["zed"]}})");
  r.resume(s);
  r.in->durable(s, 2);
  CHECK(r.in->sessions()[s].unacked.size() == 1);
  r.say(s, R"({"type":"time","seq":3})");
  r.in->durable(s, 3);
  CHECK(r.in->sessions()[s].unacked.empty());
}

TEST_CASE("a repeated frame without a usable seq is recognised by its place") {
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
  // It did not hear that 2 to 4 were taken.
  r.resume(s);
  r.say(s, "{no json");
  r.say(s, too_large);
  r.say(s, R"({"type":"agent_joined","seq":4,"agent":"bob"})");
  CHECK(r.in->sessions()[s].taken_seq == 4);
  CHECK(r.out.to(s) == strings{first[0], first[1], first[0], first[1]});
  // From here on all is new.
  r.say(s, "{no json");
  CHECK(r.in->sessions()[s].taken_seq == 5);
  // An old seq in between is no resending: the next place is still the next one expected.
  r.say(s, R"({"type":"time","seq":2})");
  r.say(s, "{no json");
  CHECK(r.in->sessions()[s].taken_seq == 6);
}

TEST_CASE("a second hello, a wrong seq and a frame that is too large are refused") {
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

TEST_CASE("a session that asks for what the run cannot give is refused") {
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

TEST_CASE("interventions go to every session that named a recipient, or to all if none did") {
  const auto addressed = [](const std::string& a, const std::string& b) {
    live_run r;
    const session_index first = r.join(R"(,"session":"a","rules":{"deadlock":{"window_ms":10}})" + a),
                        second = r.join(R"(,"session":"b")" + b);
    r.say(first, R"({"type":"event","seq":1,"event":{"id":"e1","recipients":["ada"]}})", 1000);
    r.pass(1010);
    return std::to_string(r.out.to(first, 40).size() - 1) +
           std::to_string(r.out.to(second, 40).size());  // less the verdict
  };
  CHECK(addressed(R"(,"agents":["ada"])", R"(,"agents":["bob"])") == "11");  // a deadlock is told to the whole roster
  CHECK(addressed(R"(,"agents":["ada"])", R"(,"agents":[])") == "10");
  CHECK(addressed("", R"(,"agents":["ada"])") == "01");
  CHECK(addressed("", "") == "11");
  CHECK(addressed("", R"(,"capabilities":{"create":false})") == "10");
  CHECK(addressed(R"(,"capabilities":{"create":false})", R"(,"agents":["ada"],"capabilities":{"create":false})") ==
        "00");
}

TEST_CASE("an intervention is sent again after each welcome until its addressees have answered") {
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

TEST_CASE("only sessions that asked for witnesses get them") {
  live_run r;
  const session_index a = r.join(R"(,"session":"a","witness":true,"rules":{"deadlock":{"window_ms":10}})"),
                      b = r.join(R"(,"session":"b")");
  r.say(a, R"({"type":"event","seq":1,"event":{"id":"e1","recipients":["ada"]}})", 0);
  r.pass(10);
  CHECK(r.out.to(a).back().find("\"witness\":{") != std::string::npos);
  CHECK(r.out.to(b).back().find("witness") == std::string::npos);
}

TEST_CASE("with the wall clock the daemon's stamp counts, and never goes back") {
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

TEST_CASE("a session that comes back keeps its place and may have lost a capability") {
  live_run r;
  const session_index s = r.join(R"(,"agents":["ada"])");
  r.say(s, R"({"type":"activation_started","seq":1,"activation":"v1","agent":"ada"})");
  CHECK(r.join(R"(,"agents":["ada"],"capabilities":{"reroute":false})") == s);
  r.say(s, R"({"type":"event","seq":2,"event":{"id":"e1","source":"v1","recipients":["zed"]}})");
  CHECK(r.out.to(s).back().find(R"("cause":"unsupported")") != std::string::npos);
}

TEST_CASE("the effects of a call are in order: an item for the record, then the frames that it brings about") {
  live_run r;
  const session_index s = r.join("");
  std::string order;
  for (const effect& e : r.in->receive(s, event_e1, 0)) {
    order += e.action == effect::action::keep ? "keep " + std::string(e.item->type) + ';' : "send;";
    if (e.action == effect::action::send) CHECK(e.type == frame_type::verdicts);
  }
  CHECK(order == "keep event;send;");
}

TEST_CASE("a limit that degrades the run is an item of its own before the message") {
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
