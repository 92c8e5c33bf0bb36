#include "base/json_tokens.h"

#include <catch2/catch.hpp>
#include <string_view>

namespace digd::testing {

TEST_CASE("a_string_ends_at_the_first_quote_that_no_backslash_escapes", "[base]") {
  CHECK(end_of_string(R"("" rest)", 0) == 2);
  CHECK(end_of_string(R"("a" "b")", 0) == 3);
  CHECK(end_of_string(R"("\"" rest)", 0) == 4);
  CHECK(end_of_string(R"("\\" rest)", 0) == 4);
  CHECK(end_of_string(R"("\\\"" rest)", 0) == 6);
  CHECK(end_of_string(R"(\"\"")", 1) == 5);  // the backslash before the token is not part of it
  CHECK(end_of_string(R"("open \")", 0) == 8);
}

TEST_CASE("a_value_ends_with_its_last_bracket_or_before_what_follows", "[base]") {
  const auto value = [](std::string_view json) { return json.substr(0, end_of_value(json, 0)); };
  CHECK(value(R"("a,]" , 1)") == R"("a,]")");
  CHECK(value(R"({"a":[1,"}"]},2)") == R"({"a":[1,"}"]})");
  CHECK(value("12.5,3") == "12.5");
  CHECK(value("true}") == "true");
  CHECK(value("null ]") == "null ");
  CHECK(value(R"({"open":[)") == R"({"open":[)");
}

TEST_CASE("a_string_is_compared_with_a_word_however_it_is_escaped", "[base]") {
  CHECK(string_is(R"("ts")", "ts"));
  CHECK(string_is(R"("t\u0073")", "ts"));
  CHECK_FALSE(string_is(R"("tsx")", "ts"));
  CHECK_FALSE(string_is(R"("t")", "ts"));
  CHECK_FALSE(string_is(R"("t\n")", "ts"));
  CHECK_FALSE(string_is("\"", "ts"));
}

}  // namespace digd::testing
