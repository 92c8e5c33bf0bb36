// Members taken out of and replaced in frames, without decoding the rest.
#include "ingest/protocol/payloads.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <catch2/catch.hpp>

namespace digd::ingest {
namespace {
namespace json = boost::json;

std::string replaced(std::string_view frame) {
  return rewrite_members(frame, {"payload", "error"},
                         [](std::string_view name, std::string_view) { return '"' + std::string(name) + "!\""; });
}

TEST_CASE("members_are_replaced_at_any_depth_however_they_are_written") {
  CHECK(replaced(R"({"payload":1})") == R"({"payload":"payload!"})");
  CHECK(replaced(R"({"a":[{"payload" : {"payload":[1,"}"]} , "b":2}],"error":"x"})") ==
        R"({"a":[{"payload":"payload!" , "b":2}],"error":"error!"})");
  CHECK(json::parse(replaced(R"({"\u0070ayloa\u0064":"x\"y","z":1})")) ==
        json::parse(R"({"payload":"payload!","z":1})"));
}

TEST_CASE("values_and_other_names_are_left_alone") {
  for (const std::string same :
       {R"({"id":"payload"})", R"({"a":["payload","error"]})", R"({"payloads":1,"xpayload":2})",
        R"({"a":"\"payload\":1"})", R"({"payloa\u0065":1})", R"([])", R"("payload")", R"({})"}) {
    CHECK(replaced(same) == same);
  }
}

TEST_CASE("the_callback_gets_the_value_as_written") {
  std::vector<std::string> seen;
  rewrite_members(R"({"payload": {"a" : [ "]" ]} ,"x":1,"payload":null })", {"payload"},
                  [&](std::string_view, std::string_view value) {
                    seen.emplace_back(value);
                    return std::nullopt;
                  });
  CHECK(seen == std::vector<std::string>{R"({"a" : [ "]" ]})", "null"});
}

TEST_CASE("removed_members_leave_valid_json") {
  for (const auto& [before, after] : std::vector<std::pair<std::string, std::string>>{
           {R"({"payload":1})", R"({})"},
           {R"({"a":1,"payload":1})", R"({"a":1})"},
           {R"({"payload":1 , "a":1})", R"({"a":1})"},
           {R"({"payload":1,"payload":2})", R"({})"},
           {R"({"a":{"payload":[]},"b":[{"payload":{}}]})", R"({"a":{},"b":[{}]})"}}) {
    CHECK(json::serialize(json::parse(without_payloads(before))) == after);
  }
}

TEST_CASE("strings_are_rewritten_names_included") {
  const auto shout = [](std::string_view token) {
    return token == "\"a\"" ? std::string("\"A\"") : std::string(token);
  };
  CHECK(rewrite_strings(R"({"a":["a",1,"\"a\""]})", shout) == R"({"A":["A",1,"\"a\""]})");
}

TEST_CASE("text_that_is_not_json_ends") {
  for (const std::string_view broken : {"{\"payload\"", "{\"payload\":", "\"", "{\"a\\", "}}}}", "{\"payload\":{{{{"}) {
    CHECK(replaced(broken).size() <= broken.size() + 20);
  }
}

}  // namespace
}  // namespace digd::ingest
