// What the decoder takes for JSON: payloads, and whole frames.
#include <catch2/catch.hpp>
#include <string>

#include "ingest/protocol/frames.h"
#include "ingest/protocol/reading.h"

using namespace digd;
using test::reading;
using test::refusal_of;
using test::with_payload;

namespace {

std::string nested(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

}  // namespace

TEST_CASE("a_payload_is_any_JSON", "[decode]") {
  for (const auto* payload :
       {"1e400", "-0", "-0.0E-0", "1234567890123456789012345678901234567890", "0.1e+5", "\"\"", "[]", "[[],{}]", "null",
        "true", "{\"a\":{\"a\":{}},\"a\":1}", R"("\ud83d\ude00\u0000")"}) {
    CHECK(refusal_of(with_payload(payload)) == "none");
  }
}

TEST_CASE("a_payload_is_JSON", "[decode]") {
  for (const auto* payload : {"01",
                              "1.",
                              ".5",
                              "-",
                              "+1",
                              "1e",
                              "1e+",
                              "0x1",
                              "NaN",
                              "Infinity",
                              "True",
                              "nul",
                              "truefalse",
                              "1 2",
                              "[1,]",
                              "[,1]",
                              "[1 2]",
                              "{\"a\"}",
                              "{\"a\":}",
                              "{\"a\":1,}",
                              "{a:1}",
                              "{\"a\" 1}",
                              "[1}",
                              "{\"a\":1]",
                              "'x'",
                              "",
                              R"("\u12")",
                              R"("\uD800")",
                              R"("\uDC00")",
                              R"("\uD800\uD800")",
                              R"("\uD800x")",
                              R"("\x41")",
                              "\"a\nb\"",
                              "\"\xff\"",
                              "\"\xed\xa0\x80\"",
                              "\"\xc0\xaf\"",
                              "\"a\"\"b\"",
                              "1\"a\"",
                              "\"a\"1",
                              "[1\x0c,2]",
                              "// x\n1"}) {
    CAPTURE(payload);
    CHECK(refusal_of(with_payload(payload)) == "bad_json");
  }
}

TEST_CASE("text_that_is_not_JSON_is_refused_with_bad_json", "[decode]") {
  using namespace std::string_literals;
  for (const std::string& frame :
       {""s, " "s, "\0"s, "{"s, "}"s, "x"s, "{}{}"s, "{} x"s, "{}]"s, R"({"type":"time","seq":1)"s,
        R"({"type":"time","seq":1}})"s, "{\"type\":\"time\",\"seq\":1}\0"s, "\xEF\xBB\xBF{}"s, "[1] 2"s, "1 2"s,
        "\"a\" \"b\""s, "["s, "[}"s, R"({"type":"time","seq":1,"x":{"y":1})"s}) {
    CAPTURE(frame);
    CHECK(refusal_of(frame) == "bad_json");
    CHECK(hello_refusal_of(frame) == "bad_json");
  }
}

TEST_CASE("JSON_that_is_not_an_object_is_a_bad_message", "[decode]") {
  for (const auto* frame : {"[]", "[1,{}]", "\"a\"", " 5 ", "null", "true"}) {
    const reading r(frame);
    CHECK(r.code() == refusal::bad_message);
    CHECK(r.field().empty());
    CHECK_FALSE(r.result.has_seq);
    CHECK(hello_refusal_of(frame) == "bad_message");
  }
}

TEST_CASE("bad_JSON_comes_before_a_bad_message_and_leaves_no_seq", "[decode]") {
  const reading r(R"({"type":"agent_left","seq":4,"agent":5,"x":nope})");
  CHECK(r.code() == refusal::bad_json);
  CHECK(r.field().empty());
  CHECK_FALSE(r.result.has_seq);
}

TEST_CASE("a_payload_may_nest_a_thousand_levels", "[decode]") {
  CHECK(refusal_of(with_payload(nested(1000))) == "none");
}

TEST_CASE("a_frame_that_nests_too_deep_is_refused_with_the_bound", "[decode]") {
  for (const std::size_t levels : {std::size_t{1100}, std::size_t{200'000}}) {
    const reading r(with_payload(nested(levels)));
    CHECK(r.code() == refusal::bad_json);
    CHECK(r.text() == "not JSON: nested deeper than 1064 levels");
  }
  CHECK(refusal_of(nested(1064)) == "bad_message");
  CHECK(refusal_of(nested(1065)) == "bad_json");
}
