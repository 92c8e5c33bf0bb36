#include "base/json_writer.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <string>

namespace digd::testing {

TEST_CASE("keys_stay_in_the_order_of_the_calls", "[base]") {
  std::string out;
  json_writer to(out);
  to.open_object().key("b").integer(1).key("a").open_array().text("x").null().boolean(true).close_array();
  to.key("empty").open_object().close_object().key("none").open_array().close_array().close_object();
  CHECK(out == R"({"b":1,"a":["x",null,true],"empty":{},"none":[]})");
}

TEST_CASE("a_document_is_appended_to_the_string", "[base]") {
  std::string out = R"({"runs":)";
  json_writer(out).open_array().raw(R"({"run":"r1"})").raw("{}").close_array();
  CHECK(out == R"({"runs":[{"run":"r1"},{})"
               "]");
}

TEST_CASE("texts_and_keys_are_escaped", "[base]") {
  std::string out;
  json_writer(out).open_object().key("a\"b").text("line\nend\x01").close_object();
  CHECK(out == R"({"a\"b":"line\nend\u0001"})");
}

TEST_CASE("numbers_are_the_shortest_text_that_reads_back", "[base]") {
  std::string out;
  json_writer(out).open_array().number(0.1).number(3).number(-0.0).number(1e300).number(1.0 / 3).close_array();
  CHECK(out == "[0.1,3,-0,1e+300,0.3333333333333333]");
}

TEST_CASE("numbers_that_json_does_not_have_are_null", "[base]") {
  std::string out;
  json_writer(out)
      .open_array()
      .number(std::numeric_limits<double>::infinity())
      .number(std::numeric_limits<double>::quiet_NaN())
      .close_array();
  CHECK(out == "[null,null]");
}

TEST_CASE("integers_keep_all_their_digits", "[base]") {
  std::string out;
  json_writer(out)
      .open_array()
      .integer(std::numeric_limits<std::uint64_t>::max())
      .integer(std::numeric_limits<std::int64_t>::min())
      .integer(std::size_t{7})
      .integer(-1)
      .integer_or_null(std::optional<std::int64_t>{})
      .integer_or_null(std::optional<std::int64_t>{5})
      .close_array();
  CHECK(out == "[18446744073709551615,-9223372036854775808,7,-1,null,5]");
}

TEST_CASE("members_of_a_finished_object_stand_between_others", "[base]") {
  std::string out;
  json_writer(out)
      .open_object()
      .members_of("{}")
      .key("a")
      .integer(1)
      .members_of(R"({"b":{"c":2},"d":3})")
      .members_of("{}")
      .key("e")
      .integer(4)
      .close_object();
  CHECK(out == R"({"a":1,"b":{"c":2},"d":3,"e":4})");
}

TEST_CASE("empty_texts_are_null_where_asked_for", "[base]") {
  std::string out;
  json_writer(out).open_array().text_or_null("").text_or_null("a").text("").close_array();
  CHECK(out == R"([null,"a",""])");
}

}  // namespace digd::testing
