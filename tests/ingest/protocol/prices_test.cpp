// The cost that digd adds to messages whose client reports tokens only.
#include "ingest/protocol/prices.h"

#include <catch2/catch.hpp>

namespace digd::ingest {
namespace {

const std::vector<model_price> table = {{.model = "large", .input = 2.5, .output = 10},
                                        {.model = "small", .input = 0.5, .output = 1}};

std::string priced(std::string_view message, const std::vector<model_price>& prices = table) {
  std::string out;
  return add_cost(message, prices, out) ? out : std::string("unchanged");
}

TEST_CASE("the_cost_of_each_model_s_tokens_is_added_in_front_of_the_usage") {
  CHECK(
      priced(
          R"({"type":"usage","seq":7,"usage": { "input_tokens":3000000,"output_tokens":1000000,"models":)"
          R"({"large":{"input_tokens":1000000,"output_tokens":1000000},"small":{"input_tokens":2000000}}},"x":1.0})") ==
      R"({"type":"usage","seq":7,"usage": {"cost":13.5, "input_tokens":3000000,"output_tokens":1000000,"models":)"
      R"({"large":{"input_tokens":1000000,"output_tokens":1000000},"small":{"input_tokens":2000000}}},"x":1.0})");
}

TEST_CASE("a_cost_of_the_client_stays") {
  CHECK(priced(R"({"usage":{"models":{"large":{"input_tokens":1000000}},"cost":0}})") == "unchanged");
  CHECK(priced(R"({"usage":{"cost":1,"models":{"large":{"input_tokens":1000000}}}})") == "unchanged");
}

TEST_CASE("tokens_without_a_price_get_no_cost") {
  CHECK(priced(R"({"usage":{"input_tokens":5,"models":{"other":{"input_tokens":5}}}})") == "unchanged");
  CHECK(priced(R"({"usage":{"input_tokens":5}})") == "unchanged");
  CHECK(priced(R"({"usage":{"model_calls":1}})") == "unchanged");
  CHECK(priced(R"({"usage":{"models":{"large":{"input_tokens":5}}}})", {}) == "unchanged");
}

TEST_CASE("a_price_for_all_other_models_also_counts_tokens_without_a_model") {
  std::vector<model_price> prices = table;
  prices.push_back({.model = "*", .input = 1, .output = 2});
  CHECK(priced(R"({"usage":{"input_tokens":1000000}})", prices) == R"({"usage":{"cost":1,"input_tokens":1000000}})");
  CHECK(priced(R"({"usage":{"models":{"x":{"output_tokens":1000000}}}})", prices) ==
        R"({"usage":{"cost":2,"models":{"x":{"output_tokens":1000000}}}})");
  // 1,000,000 tokens of "small", and the other 2,000,000 of no model.
  CHECK(priced(R"({"usage":{"input_tokens":3000000,"models":{"small":{"input_tokens":1000000}}}})", prices) ==
        R"({"usage":{"cost":2.5,"input_tokens":3000000,"models":{"small":{"input_tokens":1000000}}}})");
}

TEST_CASE("counts_beyond_the_limit_of_a_usage_have_no_price") {
  CHECK(priced(R"({"usage":{"models":{"large":{"input_tokens":9223372036854775808,)"
               R"("output_tokens":9223372036854775808},"small":{"output_tokens":1000000}}}})") ==
        R"({"usage":{"cost":1,"models":{"large":{"input_tokens":9223372036854775808,)"
        R"("output_tokens":9223372036854775808},"small":{"output_tokens":1000000}}}})");
}

TEST_CASE("payloads_and_malformed_messages_stay_as_they_are") {
  CHECK(priced(R"({"event":{"payload":{"usage":{"models":{"large":{"input_tokens":5}}}}}})") == "unchanged");
  for (const char* wrong : {"", "x", R"({"usage":)", R"({"usage":{)", R"({"usage":[]})", R"({"usage":{"models":[]}})",
                            R"(["usage"])", R"({"usage":{"models":{"large":5}}})",
                            R"({"usage":{"models":{"large":{"input_tokens":-1}}})", R"({"usage":null})"}) {
    INFO(wrong);
    CHECK(priced(wrong) == "unchanged");
  }
}

TEST_CASE("a_priced_message_grows_by_a_bounded_number_of_bytes") {
  const std::vector<model_price> prices = {{.model = "m", .input = 0.1234567890123456, .output = 1e9}};
  const std::string message =
      R"({"usage":{"models":{"m":{"input_tokens":999999999,"output_tokens":999999999},"n":{"input_tokens":1}}}})";
  CHECK(priced(message, prices).size() <= message.size() + max_added_bytes);
}

}  // namespace
}  // namespace digd::ingest
