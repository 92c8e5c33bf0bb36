// The client's frames are those of docs/protocol.md: the daemon's own decoder accepts them.
#include "clients/cpp/frames.h"

#include <catch2/catch.hpp>
#include <string>

#include "ingest/protocol/decode.h"

using namespace digd::client;

namespace {

// The message that the daemon reads; its views live as long as the reader.
struct reader {
  digd::ingest::decoder decoder;
  digd::message message;

  const digd::message& read(const std::string& frame) {
    const digd::ingest::decoded d = decoder.decode(frame, message);
    INFO(frame);
    CHECK(d.refused.text == "");
    return message;
  }
};

}  // namespace

TEST_CASE("a_hello_declares_what_the_program_can_carry_out") {
  options chosen{.agents = {{"planner", "a \"quoted\" one"}},
                 .labels = {{"team", "blue"}},
                 .rules = R"({"deadlock":{"mode":"observe"}})"};
  digd::ingest::decoder decoder;
  digd::hello greeting;
  CHECK_FALSE(decoder.decode_hello(hello_frame(chosen, "r1", "shadow"), greeting));
  CHECK(greeting.run == "r1");
  CHECK(greeting.session == "main");
  CHECK(greeting.agents->at(1) == "a \"quoted\" one");
  CHECK(greeting.mode == digd::mode::shadow);
  CHECK(greeting.able == digd::capabilities{true, true, false});
  chosen.on_intervention = [](const intervention&) { return true; };
  CHECK_FALSE(decoder.decode_hello(hello_frame(chosen, "r1", ""), greeting));
  CHECK(greeting.able.create);
}

TEST_CASE("the_daemons_decoder_reads_each_message_that_the_client_writes") {
  reader daemon;
  const auto& event = daemon.read(
      event_report({.id = "e1", .recipients = {"a", "b"}, .payload = "{\"n\":1}", .kind = "k", .submit = true}, "v1",
                   1u << 20)
          .frame(7, true));
  CHECK(event.seq == 7);
  CHECK(event.as_is);
  CHECK(event.events.at(0).source == "v1");
  CHECK(event.events.at(0).submit);
  CHECK(event.events.at(0).recipients.size() == 2);

  const auto& start = daemon.read(start_report("v1", "planner", {"e1", "e2"}).frame(1, false));
  CHECK(start.agent == "planner");
  CHECK(start.inputs.size() == 2);

  const report end =
      end_report("v1", {{.id = "o1", .recipients = {"coder"}}},
                 {{"e1", reaction::kind::wait, {}}, {"e2", reaction::kind::reroute, {"coder"}}}, 1u << 20);
  const auto& ended = daemon.read(end.frame(2, false));
  CHECK(ended.reactions.at(0).reaction == digd::reaction::wait);
  CHECK(ended.reactions.at(1).targets.at(0) == "coder");
  CHECK(ended.events.at(0).id == "o1");
  REQUIRE(end.blocked.size() == 2);  // the rerouted input comes before the outputs
  CHECK(end.blocked[0].id == "e2");
  CHECK(end.blocked[1].id == "o1");

  CHECK(daemon.read(failure_report("v1", "it broke").frame(3, false)).failed);
  CHECK(daemon.read(delivery_report("sys:1", true, "created", "").frame(4, false)).of == "sys:1");
  CHECK(daemon.read(delivery_report("e1", false, "as_is", "late").frame(5, false)).event == "e1");
  CHECK(daemon.read(gap_report(12).frame(6, false)).dropped == 12);
  CHECK(daemon.read(agent_report("agent_left", "coder").frame(7, false)).agent == "coder");
  CHECK(daemon.read(finish_report(outcome::failure, "{\"cost\":1}").frame(8, false)).outcome ==
        digd::run_outcome::failure);
}

TEST_CASE("a_payload_above_the_limit_is_left_out_and_the_event_is_reported_without_it") {
  const report large =
      event_report({.id = "e1", .recipients = {"a"}, .payload = '"' + std::string(5000, 'x') + '"'}, {}, 4096);
  CHECK(large.members.find("digd: left out, 5002 bytes") != std::string::npos);
  CHECK(large.members.size() < 200);
}

TEST_CASE("bytes_that_are_not_UTF_8_are_replaced") {
  reader daemon;
  CHECK(daemon.read(agent_report("agent_joined", "a\xff").frame(1, false)).agent == "a\xef\xbf\xbd");
}
