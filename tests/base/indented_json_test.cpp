#include "base/indented_json.h"

#include <boost/json/parse.hpp>
#include <catch2/catch.hpp>
#include <optional>
#include <string>

namespace digd::testing {

namespace json = boost::json;

namespace {

template <class OneLine>
std::string indented(const char* text, const OneLine& one_line) {
  std::string out;
  append_indented(out, json::parse(text), one_line);
  return out;
}

std::optional<std::string> scalars(const json::value& value) {
  return value.is_structured() ? std::nullopt : std::optional(json::serialize(value));
}

}  // namespace

TEST_CASE("each_member_and_element_has_a_line_and_empty_ones_have_none", "[base]") {
  CHECK(indented(R"({"b\"":[1,[],{"c":[[null]]}],"a":{},"d":{"e":{}}})", scalars) ==
        R"({
  "b\"": [
    1,
    [],
    {
      "c": [
        [
          null
        ]
      ]
    }
  ],
  "a": {},
  "d": {
    "e": {}
  }
})");
}

TEST_CASE("an_empty_document_or_a_lone_value_is_one_line", "[base]") {
  for (const char* text : {"{}", "[]", "null", R"("x")"}) CHECK(indented(text, scalars) == text);
}

TEST_CASE("values_that_are_given_as_a_line_are_not_broken", "[base]") {
  const auto arrays_too = [](const json::value& value) {
    return value.is_object() ? std::nullopt : std::optional(json::serialize(value));
  };
  CHECK(indented(R"({"a":[1,{"b":2}],"c":{}})", arrays_too) == "{\n  \"a\": [1,{\"b\":2}],\n  \"c\": {}\n}");
}

}  // namespace digd::testing
