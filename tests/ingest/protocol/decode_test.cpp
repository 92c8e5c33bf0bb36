#include "ingest/protocol/decode.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "ingest/protocol/frames.h"
#include "ingest/protocol/reading.h"

using namespace digd;
using ingest::decoder;
using ingest::line_type;
using test::reading;
using test::refusal_of;

namespace {

std::vector<std::string> list_of(const name_list& names) { return {names.begin(), names.end()}; }

using names = std::vector<std::string>;

}  // namespace

TEST_CASE("every_example_of_the_protocol_is_accepted", "[decode]") {
  for (std::size_t i = 0; i < 14; ++i) CHECK(refusal_of(valid_frames[i]) == "none");
}

TEST_CASE("an_agent_that_joins_is_named", "[decode]") {
  const reading r(valid_frames[0]);
  CHECK(r.out.type == message_type::agent_joined);
  CHECK(r.out.agent == "reviewer");
  CHECK(r.out.seq == 1);
}

TEST_CASE("escapes_in_names_are_undone", "[decode]") {
  const reading r(valid_frames[1]);
  CHECK(r.out.agent == "r\u00e9\U0001F600");
  CHECK(r.out.ts == -5);
}

TEST_CASE("an_escaped_key_is_the_key_it_stands_for", "[decode]") {
  const reading r(R"({"ty\u0070e":"agent_left","\u0073eq":1,"ag\u0065nt":"a"})");
  CHECK(r.code() == refusal::none);
  CHECK(r.out.agent == "a");
}

TEST_CASE("a_root_event_has_what_was_announced", "[decode]") {
  const reading r(valid_frames[2]);
  REQUIRE(r.out.events.size() == 1);
  CHECK(r.out.events[0].id == "e1");
  CHECK(list_of(r.out.events[0].recipients) == names{"planner"});
  CHECK(r.out.events[0].kind == "problem");
  CHECK_FALSE(r.out.events[0].source.has_value());
}

TEST_CASE("an_output_of_an_open_activation_names_its_source", "[decode]") {
  const reading r(valid_frames[4]);
  REQUIRE(r.out.events.size() == 1);
  CHECK(r.out.events[0].source == "v1");
}

TEST_CASE("an_end_has_its_reactions_and_outputs_in_order", "[decode]") {
  const reading r(valid_frames[6]);
  REQUIRE(r.out.reactions.size() == 3);
  CHECK(r.out.reactions[0].input == "e2");
  CHECK(r.out.reactions[0].reaction == reaction::wait);
  CHECK(r.out.reactions[1].reaction == reaction::reroute);
  CHECK(list_of(r.out.reactions[1].targets) == names{"tester"});
  CHECK(r.out.reactions[2].reaction == reaction::discard);
  REQUIRE(r.out.events.size() == 1);
  CHECK(r.out.events[0].submit);
}

TEST_CASE("a_reroute_to_nobody_is_a_reroute", "[decode]") {
  const reading r(R"({"type":"activation_ended","seq":1,"activation":"v","reactions":{"e":{"reroute":[]}}})");
  REQUIRE(r.out.reactions.size() == 1);
  CHECK(r.out.reactions[0].reaction == reaction::reroute);
  CHECK(r.out.reactions[0].targets.empty());
}

TEST_CASE("an_end_may_have_failed", "[decode]") {
  const reading r(valid_frames[7]);
  CHECK(r.out.failed);
  CHECK(r.out.as_is);
}

TEST_CASE("a_delivery_report_names_its_event_or_intervention_and_the_action", "[decode]") {
  const reading r(R"({"type":"delivery","seq":9,"event":"e3","of":"sys:1","applied":"unsupported"})");
  CHECK(r.out.event == "e3");
  CHECK(r.out.of == "sys:1");
  CHECK(r.out.applied == applied::unsupported);
}

TEST_CASE("a_gap_counts_what_was_lost_if_it_knows", "[decode]") {
  CHECK(reading(valid_frames[10]).out.dropped == 120);
  CHECK(reading(R"({"type":"gap","seq":10})").out.dropped == 0);
}

TEST_CASE("the_end_of_a_run_may_have_an_outcome", "[decode]") {
  CHECK(reading(valid_frames[12]).out.outcome == run_outcome::success);
  CHECK(reading(R"({"type":"run_ended","seq":1})").out.outcome == run_outcome::none);
  CHECK(reading(R"({"type":"run_ended","seq":1,"outcome":"aborted"})").out.outcome == run_outcome::aborted);
}

TEST_CASE("fyi_on_a_submit_event_is_ignored", "[decode]") {
  for (const auto* flags : {R"("submit":true,"fyi":true)", R"("fyi":true,"submit":true)"}) {
    const reading r(R"({"type":"event","seq":1,"event":{"id":"e",)" + std::string{flags} + "}}");
    REQUIRE(r.out.events.size() == 1);
    CHECK(r.out.events[0].submit);
    CHECK_FALSE(r.out.events[0].fyi);
  }
}

TEST_CASE("duplicate_names_count_once_at_their_first_place", "[decode]") {
  const reading r(
      R"({"type":"activation_started","seq":1,"activation":"v","agent":"a","inputs":["b","a","b","c","a"]})");
  CHECK(list_of(r.out.inputs) == names{"b", "a", "c"});
}

TEST_CASE("duplicate_names_count_once_in_long_lists_too", "[decode]") {
  std::string frame = R"({"type":"event","seq":1,"event":{"id":"e","recipients":[)";
  for (int i = 0; i < 5000; ++i) frame += "\"agent number " + std::to_string(i % 1700) + "\",";
  frame += R"("last"]}})";
  const reading r(frame);
  REQUIRE(r.out.events.size() == 1);
  const names got = list_of(r.out.events[0].recipients);
  REQUIRE(got.size() == 1701);
  for (int i = 0; i < 1700; ++i) REQUIRE(got[i] == "agent number " + std::to_string(i));
  CHECK(got.back() == "last");
}

TEST_CASE("a_name_in_one_list_is_not_missed_in_the_next", "[decode]") {
  for (const int length : {2, 40}) {
    std::string list = "[";
    for (int i = 0; i < length; ++i) list += "\"a" + std::to_string(i) + "\",";
    list.back() = ']';
    const std::string frame = R"({"type":"activation_ended","seq":1,"activation":"v","reactions":{"x":{"reroute":)" +
                              list + R"(}},"outputs":[{"id":"e1","recipients":)" + list +
                              R"(},{"id":"e2","recipients":)" + list + "}]}";
    decoder in;
    message out;
    for (int again = 0; again < 2; ++again) {
      CHECK_FALSE(in.decode(frame, out).refused);
      REQUIRE(out.reactions.size() == 1);
      CHECK(out.reactions[0].targets.size() == static_cast<std::size_t>(length));
      REQUIRE(out.events.size() == 2);
      CHECK(out.events[0].recipients.size() == static_cast<std::size_t>(length));
      CHECK(out.events[1].recipients.size() == static_cast<std::size_t>(length));
    }
  }
}

TEST_CASE("missing_lists_are_empty", "[decode]") {
  CHECK(reading(R"({"type":"activation_started","seq":1,"activation":"v","agent":"a"})").out.inputs.empty());
  const reading event(R"({"type":"event","seq":1,"event":{"id":"e"}})");
  REQUIRE(event.out.events.size() == 1);
  CHECK(event.out.events[0].recipients.empty());
  const reading end(R"({"type":"activation_ended","seq":1,"activation":"v"})");
  CHECK(end.code() == refusal::none);
  CHECK(end.out.events.empty());
  CHECK(end.out.reactions.empty());
}

TEST_CASE("null_in_an_optional_field_is_as_if_it_were_missing", "[decode]") {
  for (
      const auto* frame :
      {R"({"type":"time","seq":1,"ts":null})", R"({"type":"gap","seq":1,"dropped":null})",
       R"({"type":"run_ended","seq":1,"outcome":null,"metrics":null})",
       R"({"type":"activation_started","seq":1,"activation":"v","agent":"a","inputs":null})",
       R"({"type":"activation_ended","seq":1,"activation":"v","reactions":null,"outputs":null,"failed":null,"error":null,"as_is":null})",
       R"({"type":"event","seq":1,"event":{"id":"e","source":null,"recipients":null,"kind":null,"submit":null,"fyi":null,"payload":null}})",
       R"({"type":"delivery","seq":1,"event":"e","of":null,"applied":"as_is"})"}) {
    CHECK(refusal_of(frame) == "none");
  }
}

TEST_CASE("null_in_a_required_field_is_refused", "[decode]") {
  CHECK(refusal_of(R"({"type":null,"seq":1})") == "bad_message type");
  CHECK(refusal_of(R"({"type":"time","seq":null})") == "bad_message seq");
  CHECK(refusal_of(R"({"type":"agent_left","seq":1,"agent":null})") == "bad_message agent");
  CHECK(refusal_of(R"({"type":"event","seq":1,"event":null})") == "bad_message event");
  CHECK(refusal_of(R"({"type":"event","seq":1,"event":{"id":null}})") == "bad_message id");
  CHECK(refusal_of(R"({"type":"delivery","seq":1,"event":"e","applied":null})") == "bad_message applied");
  CHECK(refusal_of(R"({"type":"activation_ended","seq":1,"activation":"v","reactions":{"e":null}})") ==
        "bad_message reactions");
}

TEST_CASE("a_missing_required_field_is_named", "[decode]") {
  CHECK(refusal_of(R"({"seq":1})") == "bad_message type");
  CHECK(refusal_of(R"({"type":"tmie","seq":1})") == "bad_message type");
  CHECK(refusal_of(R"({"type":7,"seq":1})") == "bad_message type");
  CHECK(refusal_of(R"({"type":"time"})") == "bad_message seq");
  CHECK(refusal_of(R"({"type":"agent_joined","seq":1})") == "bad_message agent");
  CHECK(refusal_of(R"({"type":"agent_left","seq":1})") == "bad_message agent");
  CHECK(refusal_of(R"({"type":"activation_started","seq":1,"activation":"v"})") == "bad_message agent");
  CHECK(refusal_of(R"({"type":"activation_started","seq":1,"agent":"a"})") == "bad_message activation");
  CHECK(refusal_of(R"({"type":"activation_ended","seq":1})") == "bad_message activation");
  CHECK(refusal_of(R"({"type":"event","seq":1})") == "bad_message event");
  CHECK(refusal_of(R"({"type":"event","seq":1,"event":{}})") == "bad_message id");
  CHECK(refusal_of(R"({"type":"activation_ended","seq":1,"activation":"v","outputs":[{}]})") == "bad_message id");
  CHECK(refusal_of(R"({"type":"delivery","seq":1,"applied":"as_is"})") == "bad_message event");
  CHECK(refusal_of(R"({"type":"delivery","seq":1,"event":"e"})") == "bad_message applied");
}

TEST_CASE("a_seq_is_a_whole_number_from_1", "[decode]") {
  for (const auto* seq : {"0", "-1", "1.0", "1e2", "\"1\"", "true", "[1]", "{}", "18446744073709551616",
                          "123456789012345678901234567890"}) {
    const reading r(R"({"type":"time","seq":)" + std::string{seq} + "}");
    CHECK(r.code() == refusal::bad_message);
    CHECK(r.field() == "seq");
    CHECK_FALSE(r.result.has_seq);
  }
  CHECK(reading(R"({"type":"time","seq":18446744073709551615})").result.seq == 18446744073709551615u);
}

TEST_CASE("the_seq_is_found_at_any_place_and_beside_any_error", "[decode]") {
  for (const auto* frame : {R"({"type":"agent_left","agent":5,"seq":7})", R"({"type":"what","x":{"seq":3},"seq":7})",
                            R"({"agent":[],"seq":7})", R"({"type":"gap","dropped":-1,"ts":"x","seq":7})"}) {
    const reading r(frame);
    CHECK(r.code() == refusal::bad_message);
    CHECK(r.result.has_seq);
    CHECK(r.result.seq == 7);
  }
}

TEST_CASE("of_two_seqs_neither_is_usable", "[decode]") {
  const reading r(R"({"type":"time","seq":1,"seq":2})");
  CHECK(r.field() == "seq");
  CHECK_FALSE(r.result.has_seq);
  CHECK(r.result.seq == 0);
}

TEST_CASE("the_first_bad_field_in_the_frames_own_order_is_named", "[decode]") {
  CHECK(refusal_of(R"({"type":"activation_started","seq":1,"agent":5,"activation":6})") == "bad_message agent");
  CHECK(refusal_of(R"({"type":"activation_started","seq":1,"activation":6,"agent":5})") == "bad_message activation");
  CHECK(refusal_of(R"({"activation":6,"agent":5,"seq":0,"type":"activation_started"})") == "bad_message activation");
  CHECK(refusal_of(R"({"type":"agent_left","seq":1,"agent":null,"ts":"x"})") == "bad_message agent");
}

TEST_CASE("a_time_is_a_whole_number_of_64_bits", "[decode]") {
  CHECK(reading(R"({"type":"time","seq":1,"ts":-9223372036854775808})").out.ts == INT64_MIN);
  CHECK(reading(R"({"type":"time","seq":1,"ts":9223372036854775807})").out.ts == INT64_MAX);
  for (const auto* ts : {"9223372036854775808", "1.5", "1e3", "\"1\"", "[]"}) {
    CHECK(refusal_of(R"({"type":"time","seq":1,"ts":)" + std::string{ts} + "}") == "bad_message ts");
  }
}

TEST_CASE("names_have_1_to_256_bytes", "[decode]") {
  const auto joined = [](const std::string& name) {
    return refusal_of(R"({"type":"agent_joined","seq":1,"agent":")" + name + "\"}");
  };
  CHECK(joined("") == "bad_message agent");
  CHECK(joined("x") == "none");
  CHECK(joined(std::string(256, 'x')) == "none");
  CHECK(joined(std::string(257, 'x')) == "bad_message agent");
  std::string accented;
  for (int i = 0; i < 129; ++i) accented += "\u00e9";
  CHECK(joined(accented) == "bad_message agent");
}

TEST_CASE("an_interventions_id_may_be_longer_than_the_events_id_in_it", "[decode]") {
  const auto answered = [](std::size_t length) {
    return refusal_of(R"({"type":"delivery","seq":1,"of":"give:)" + std::string(length, 'x') +
                      R"(:12","applied":"as_is"})");
  };
  CHECK(answered(256) == "none");
  CHECK(answered(512) == "bad_message of");
}

TEST_CASE("a_name_is_a_string", "[decode]") {
  CHECK(refusal_of(R"({"type":"agent_joined","seq":1,"agent":7})") == "bad_message agent");
  CHECK(refusal_of(R"({"type":"activation_started","seq":1,"activation":{},"agent":"a"})") == "bad_message activation");
  CHECK(refusal_of(R"({"type":"activation_started","seq":1,"activation":"v","agent":"a","inputs":["e",1]})") ==
        "bad_message inputs");
  CHECK(refusal_of(R"({"type":"activation_started","seq":1,"activation":"v","agent":"a","inputs":"e"})") ==
        "bad_message inputs");
  CHECK(refusal_of(R"({"type":"activation_started","seq":1,"activation":"v","agent":"a","inputs":[null]})") ==
        "bad_message inputs");
  CHECK(refusal_of(R"({"type":"delivery","seq":1,"event":{"id":"e"},"applied":"as_is"})") == "bad_message event");
  CHECK(refusal_of(R"({"type":"delivery","seq":1,"of":1,"applied":"as_is"})") == "bad_message of");
  CHECK(refusal_of(R"({"type":"event","seq":1,"event":"e"})") == "bad_message event");
}

TEST_CASE("inside_an_event_the_fields_own_name_is_given_and_the_path_in_the_text", "[decode]") {
  const auto with = [](std::string_view field) {
    return reading(R"({"type":"activation_ended","seq":1,"activation":"v","outputs":[{"id":"a"},{"id":"b",)" +
                   std::string{field} + "}]}");
  };
  CHECK(with(R"("recipients":["x",5])").field() == "recipients");
  CHECK(with(R"("recipients":["x",5])").text() == "outputs[1].recipients[1] must be a string of 1 to 256 bytes");
  CHECK(with(R"("kind":5)").field() == "kind");
  CHECK(with(R"("submit":"yes")").field() == "submit");
  CHECK(with(R"("fyi":0)").field() == "fyi");
  CHECK(refusal_of(R"({"type":"event","seq":1,"event":{"id":""}})") == "bad_message id");
  CHECK(refusal_of(R"({"type":"event","seq":1,"event":{"id":"e","source":""}})") == "bad_message source");
  CHECK(refusal_of(R"({"type":"activation_ended","seq":1,"activation":"v","outputs":["e"]})") == "bad_message outputs");
  CHECK(refusal_of(R"({"type":"activation_ended","seq":1,"activation":"v","outputs":{}})") == "bad_message outputs");
}

TEST_CASE("a_kind_has_at_most_256_bytes", "[decode]") {
  const auto kind = [](std::size_t size) {
    return refusal_of(R"({"type":"event","seq":1,"event":{"id":"e","kind":")" + std::string(size, 'k') + "\"}}");
  };
  CHECK(kind(0) == "none");
  CHECK(kind(256) == "none");
  CHECK(kind(257) == "bad_message kind");
}

TEST_CASE("a_reaction_is_one_of_four", "[decode]") {
  for (const auto* reaction : {"\"eat\"", "5", "[]", "{}", R"({"reroute":"a"})", R"({"reroute":[""]})",
                               R"({"reroute":null})", R"({"reroute":[],"reroute":[]})", "\"reroute\"", "\"none\""}) {
    CHECK(refusal_of(R"({"type":"activation_ended","seq":1,"activation":"v","reactions":{"e":)" +
                     std::string{reaction} + "}}") == "bad_message reactions");
  }
  CHECK(refusal_of(R"({"type":"activation_ended","seq":1,"activation":"v","reactions":[]})") ==
        "bad_message reactions");
  CHECK(refusal_of(R"({"type":"activation_ended","seq":1,"activation":"v","reactions":{"":"wait"}})") ==
        "bad_message reactions");
  CHECK(refusal_of(R"({"type":"activation_ended","seq":1,"activation":"v","reactions":{"e":{"x":1,"reroute":[]}}})") ==
        "none");
}

TEST_CASE("an_event_reacted_to_twice_is_refused", "[decode]") {
  CHECK(
      refusal_of(R"({"type":"activation_ended","seq":1,"activation":"v","reactions":{"e":"wait","\u0065":"wait"}})") ==
      "bad_message reactions");
}

TEST_CASE("a_long_key_is_shown_cut_and_quoted", "[decode]") {
  const reading r(R"({"type":"activation_ended","seq":1,"activation":"v","reactions":{")" + std::string(9000, 'k') +
                  R"(":"wait"}})");
  CHECK(r.text().size() < 200);
}

TEST_CASE("applied_and_outcome_are_words_of_the_protocol", "[decode]") {
  CHECK(refusal_of(R"({"type":"delivery","seq":1,"event":"e","applied":"maybe"})") == "bad_message applied");
  CHECK(refusal_of(R"({"type":"delivery","seq":1,"event":"e","applied":["as_is"]})") == "bad_message applied");
  CHECK(refusal_of(R"({"type":"run_ended","seq":1,"outcome":"none"})") == "bad_message outcome");
  CHECK(refusal_of(R"({"type":"run_ended","seq":1,"metrics":3})") == "bad_message metrics");
}

TEST_CASE("the_rest_of_the_typed_fields_are_checked", "[decode]") {
  CHECK(refusal_of(R"({"type":"gap","seq":1,"dropped":-1})") == "bad_message dropped");
  CHECK(refusal_of(R"({"type":"gap","seq":1,"dropped":1.5})") == "bad_message dropped");
  CHECK(refusal_of(R"({"type":"activation_ended","seq":1,"activation":"v","failed":1})") == "bad_message failed");
  CHECK(refusal_of(R"({"type":"activation_ended","seq":1,"activation":"v","error":1})") == "bad_message error");
  CHECK(refusal_of(R"({"type":"activation_ended","seq":1,"activation":"v","as_is":1})") == "bad_message as_is");
}

TEST_CASE("a_known_field_given_twice_is_refused", "[decode]") {
  CHECK(refusal_of(R"({"type":"time","type":"time","seq":1})") == "bad_message type");
  CHECK(refusal_of(R"({"type":"agent_left","seq":1,"agent":"a","agent":"a"})") == "bad_message agent");
  CHECK(refusal_of(R"({"type":"agent_left","seq":1,"agent":"a","\u0061gent":"a"})") == "bad_message agent");
  CHECK(refusal_of(R"({"type":"agent_left","seq":1,"ts":null,"ts":null,"agent":"a"})") == "bad_message ts");
  CHECK(refusal_of(R"({"type":"event","seq":1,"event":{"id":"e","id":"e"}})") == "bad_message id");
  CHECK(refusal_of(R"({"type":"event","seq":1,"event":{"id":"e","payload":1,"payload":1}})") == "bad_message payload");
}

TEST_CASE("fields_that_a_message_type_does_not_have_are_ignored", "[decode]") {
  CHECK(refusal_of(R"({"type":"time","seq":1,"agent":5,"event":[],"event":{},"outputs":7,"x":1,"x":2})") == "none");
  const reading r(R"({"agent":"a","event":{"id":"e"},"as_is":true,"type":"gap","seq":1})");
  CHECK(r.code() == refusal::none);
  CHECK(r.out.agent.empty());
  CHECK(r.out.events.empty());
  CHECK_FALSE(r.out.as_is);
}

TEST_CASE("ignored_fields_must_be_JSON_all_the_same", "[decode]") {
  CHECK(refusal_of(R"({"type":"time","seq":1,"x":tru})") == "bad_json");
  CHECK(refusal_of(R"({"type":"time","seq":1,"x":{"y":01}})") == "bad_json");
  CHECK(refusal_of(R"({"type":"time","seq":1,"x":{"y":"\q"}})") == "bad_json");
}

TEST_CASE("an_outputs_source_is_its_activation_whatever_it_says", "[decode]") {
  const reading r(R"({"type":"activation_ended","seq":1,"activation":"v","outputs":[{"id":"e","source":5}]})");
  CHECK(r.code() == refusal::none);
  REQUIRE(r.out.events.size() == 1);
  CHECK_FALSE(r.out.events[0].source.has_value());
}

TEST_CASE("the_type_may_stand_anywhere", "[decode]") {
  const reading r(R"({"event":"e3","applied":"rerouted","seq":2,"type":"delivery"})");
  CHECK(r.code() == refusal::none);
  CHECK(r.out.event == "e3");
  const reading late(
      R"({"outputs":[{"id":"e","recipients":["a"]}],"activation":"v","seq":2,"type":"activation_ended"})");
  REQUIRE(late.out.events.size() == 1);
  CHECK(list_of(late.out.events[0].recipients) == names{"a"});
}

TEST_CASE("a_decoder_forgets_the_frame_before", "[decode]") {
  decoder in;
  message out;
  in.decode(valid_frames[6], out);
  in.decode(R"({"type":"time","seq":3})", out);
  CHECK(out.type == message_type::time);
  CHECK(out.events.empty());
  CHECK(out.reactions.empty());
  CHECK(out.activation.empty());
}

TEST_CASE("names_stay_readable_to_the_end_of_a_large_message", "[decode]") {
  std::string frame = R"({"type":"activation_ended","seq":1,"activation":"v\n1","outputs":[)";
  for (int i = 0; i < 20'000; ++i) {
    frame +=
        R"({"id":"e\t)" + std::to_string(i) + R"(","recipients":["a\n)" + std::to_string(i) + R"("],"payload":"x"},)";
  }
  frame.back() = ']';
  frame += "}";
  const reading r(frame);
  REQUIRE(r.out.events.size() == 20'000);
  CHECK(r.out.activation == "v\n1");
  for (int i = 0; i < 20'000; ++i) {
    REQUIRE(r.out.events[i].id == "e\t" + std::to_string(i));
    REQUIRE(r.out.events[i].recipients[0] == "a\n" + std::to_string(i));
  }
}

TEST_CASE("a_hello_is_recognised_and_left_to_its_own_decoder", "[decode]") {
  const reading r(valid_frames[14]);
  CHECK(r.result.type == line_type::hello);
  CHECK(r.code() == refusal::none);
  CHECK(reading(R"({"run":5,"type":"hello"})").result.type == line_type::hello);
  CHECK(reading(R"({"type":"hello")").result.type == line_type::message);
}

TEST_CASE("the_header_of_a_trace_line_has_its_session_main_without_one", "[decode]") {
  decoder in;
  CHECK(in.header_of(R"({"type":"time","x":{"session":"no"},"session":"s\n2","seq":1})").session == "s\n2");
  CHECK(in.header_of(R"({"type":"time"})").session == "main");
  CHECK(in.header_of(R"({"session":5})").session == "main");
  CHECK(in.header_of("[1]").session == "main");
  CHECK(in.header_of("").session == "main");
  CHECK(in.header_of(R"({"type")").session == "main");
}

TEST_CASE("the_header_of_a_trace_line_has_its_type_wherever_it_stands", "[decode]") {
  decoder in;
  CHECK(in.header_of(R"({"type":"time","seq":1})").type == line_type::message);
  CHECK(in.header_of(R"({"seq":1, "type": "refused", "code":"bad_json"})").type == line_type::refused);
  CHECK(in.header_of(R"({"type":"limit","limit":"overload","policy":"observe","ts":1})").type == line_type::limit);
  CHECK(in.header_of(R"({"type":"nonsense"})").type == line_type::message);
  CHECK(in.header_of(R"({"type":5})").type == line_type::message);
  CHECK(in.header_of("no JSON").type == line_type::message);
}

TEST_CASE("a_hello_that_breaks_off_is_no_hello_but_keeps_its_session", "[decode]") {
  decoder in;
  CHECK(in.header_of(R"({"type":"hello","run":"r"})").type == line_type::hello);
  const auto broken = in.header_of(R"({"type":"hello","session":"b","run)");
  CHECK(broken.type == line_type::message);
}

TEST_CASE("a_clients_frame_with_the_type_of_an_own_line_is_a_message", "[decode]") {
  decoder in;
  const auto header = in.header_of(R"({"session":"b","type":"limit","seq":3})");
  CHECK(header.type == line_type::message);
  CHECK(header.session == "b");
}

TEST_CASE("an_own_line_is_decoded_to_its_content", "[decode]") {
  decoder in;
  const auto mode = in.own_line_of(R"({"type":"operator_mode","mode":"shadow","ts":7})");
  REQUIRE(mode);
  CHECK(mode->kind == ingest::record_kind::operator_mode);
  CHECK(mode->strongest == digd::mode::shadow);
  CHECK(mode->ts == 7);
  const auto limit = in.own_line_of(R"({"type":"limit","limit":"run_bytes","policy":"observe","ts":-1})");
  REQUIRE(limit);
  CHECK(limit->limit == limit_id::run_bytes);
  CHECK(limit->policy == limit_policy::observe);
  const auto work = in.own_line_of(
      R"({"type":"limit","limit":"judging_work","policy":"deliver","unjudged":1,"events":["e"],"ts":3})");
  REQUIRE(work);
  CHECK_FALSE(work->policy);
  const auto semantics = in.own_line_of(R"({"type":"semantics","version":2,"ts":3})");
  REQUIRE(semantics);
  CHECK(semantics->version == 2);
}

TEST_CASE("an_own_line_without_its_content_is_not_read", "[decode]") {
  decoder in;
  CHECK_FALSE(in.own_line_of(R"({"type":"operator_mode","ts":7})"));
  CHECK_FALSE(in.own_line_of(R"({"type":"operator_mode","mode":"on","ts":7})"));
  CHECK_FALSE(in.own_line_of(R"({"type":"limit","limit":"overload","ts":7})"));
  CHECK_FALSE(in.own_line_of(R"({"type":"limit","limit":"overload","policy":"observe"})"));
  CHECK_FALSE(in.own_line_of(R"({"type":"time","seq":1})"));
  CHECK_FALSE(in.own_line_of(R"({"type":"limit")"));
}
