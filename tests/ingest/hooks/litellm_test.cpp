// LiteLLM's model calls: what a call is read as, the messages of its run, and what the proxy is answered.
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "ingest/hooks/dialect.h"
#include "ingest/hooks/read_call.h"
#include "ingest/hooks/session.h"
#include "model/rule_id.h"

using namespace digd::hooks;

namespace {

namespace json = boost::json;

json::object request(const std::string& trace = "t1") {
  return json::parse(R"({"input_type":"request","litellm_call_id":"c1","litellm_trace_id":")" + trace + R"(",
    "structured_messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"}],
    "texts":["Be brief.","Hello"],"request_data":{"user_api_key_alias":"team-a"},
    "request_headers":{"X-LiteLLM-Agent-Id":"coder"},"model":"gpt-4o",
    "additional_provider_specific_params":{"mode":"enforce"}})")
      .as_object();
}

call read_well(const json::object& body) {
  const auto read = read_call(litellm, json::serialize(body));
  REQUIRE(read.has_value());
  return *read;
}

// A session in whose run the guards are on.
struct gateway {
  session state;

  gateway()
      : state("litellm-t1", {.program = "litellm",
                             .mode = "enforce",
                             .able = litellm.able,
                             .reports_messages = litellm.reports_messages}) {}

  std::string begin(const call& first) {
    const std::string hello = state.begin_run(first);
    state.joined(0, true, true);
    return hello;
  }
  // Returns the lines that the call adds, joined.
  std::string take(const call& of, const received_verdict& verdict, reply& answer) {
    const auto taken = state.take(of);
    REQUIRE(taken.judged_seq > 0);
    answer = state.answer(taken.judged_seq, verdict);
    std::string text;
    for (const std::string& line : state.lines()) text += line + '\n';
    return text;
  }
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("APromptMayContainU0000AndNestDeeply") {
  json::object body = request();
  body["texts"] = json::array{json::string(std::string_view("\0hidden", 7))};
  REQUIRE(read_well(body).text == std::string("\0hidden", 7));
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  std::string text = json::serialize(request());
  text.insert(1, "\"tools\":" + deep + ",");
  REQUIRE(read_call(litellm, text).has_value());
}

TEST_CASE("AModelCallNamesItsTraceCallerAndModel") {
  const call read = read_well(request());
  REQUIRE(read.kind == call_kind::tool_wanted);
  REQUIRE(read.session == "litellm-t1");
  REQUIRE(read.agent == "coder");
  REQUIRE(read.target == "model:gpt-4o");
  REQUIRE(read.mode == "enforce");
  REQUIRE(read.text == "Hello");
  REQUIRE(read.takes_text);
}

TEST_CASE("WithoutAnAgentTheOwnerOfTheKeyIsTheCaller") {
  json::object body = request();
  body["request_headers"] = nullptr;
  REQUIRE(read_well(body).agent == "team-a");
  body["request_data"] = json::object();
  REQUIRE(read_well(body).agent == "caller");
}

TEST_CASE("ACallWithoutATraceIsASessionOfItsOwn") {
  json::object body = request();
  body["litellm_trace_id"] = nullptr;
  REQUIRE(read_well(body).session == "litellm-c1");
  body["litellm_call_id"] = nullptr;
  REQUIRE(read_well(body).kind == call_kind::unused);
}

TEST_CASE("LongTracesStayDifferentAndWithinTheLimit") {
  const call first = read_well(request(std::string(500, 'x') + "1")),
             second = read_well(request(std::string(500, 'x') + "2"));
  REQUIRE(first.session.size() <= call::max_session_bytes);
  REQUIRE(first.session != second.session);
}

TEST_CASE("EqualRequestsHaveEqualFingerprintsWhateverTheirIds") {
  json::object again = request(), other = request();
  again["litellm_call_id"] = "c2";
  other["texts"] = json::array{"Be brief.", "Hello?"};
  REQUIRE(read_well(again).fingerprint == read_well(request()).fingerprint);
  REQUIRE(read_well(other).fingerprint != read_well(request()).fingerprint);
}

TEST_CASE("AResponseIsNotJudged") {
  json::object body = request();
  body["input_type"] = "response";
  REQUIRE(read_well(body).kind == call_kind::unused);
}

TEST_CASE("AnUnknownInputTypeIsRefusedByName") {
  json::object body = request();
  body["input_type"] = "both";
  const auto read = read_call(litellm, json::serialize(body));
  REQUIRE(!read.has_value());
  REQUIRE(read.error().field == "input_type");
}

TEST_CASE("TheRulesAreOffBecauseAGatewaySeesNoMessagesBetweenAgents") {
  gateway g;
  const json::object hello = json::parse(g.begin(read_well(request()))).as_object();
  const json::object& rules = hello.at("rules").as_object();
  REQUIRE(rules.size() == digd::failure_rule_count);
  for (const auto& rule : rules) REQUIRE(rule.value().at("mode") == "off");
}

TEST_CASE("EachCallIsAnActivationOfItsOwnAndTheModelReadsIt") {
  gateway g;
  g.begin(read_well(request()));
  for (int i = 0; i < 2; ++i) {
    reply answer;
    const std::string lines = g.take(read_well(request()), {.action = "deliver"}, answer);
    REQUIRE(answer.action == reply_action::none);
    REQUIRE(contains(lines, R"("agent":"coder","inputs":[])"));
    REQUIRE(contains(lines, R"("recipients":["model:gpt-4o"],"kind":"model_call")"));
    REQUIRE(contains(lines, R"("usage":{"model_calls":1})"));
    REQUIRE(contains(lines, R"("agent":"model:gpt-4o","inputs":["e)"));
  }
}

TEST_CASE("ACallThatIsGivenBackIsBlockedAndTheNextOneReadsWhy") {
  gateway g;
  g.begin(read_well(request()));
  reply answer;
  const std::string lines =
      g.take(read_well(request()), {.action = "reroute", .recipients = {"coder"}, .inject = "Stop."}, answer);
  REQUIRE(!contains(lines, R"("agent":"model:gpt-4o","inputs")"));
  const json::object body = json::parse(litellm.write(read_well(request()), answer)).as_object();
  REQUIRE(body.at("action") == "BLOCKED");
  REQUIRE(body.at("blocked_reason") == "Stop.");
  REQUIRE(contains(g.take(read_well(request()), {.action = "deliver"}, answer), R"("agent":"coder","inputs":["e)"));
}

TEST_CASE("ATextFollowsTheLastMessageAndChangesNoOther") {
  gateway g;
  g.begin(read_well(request()));
  reply answer;
  g.take(read_well(request()), {.action = "inject", .recipients = {}, .inject = "Hurry."}, answer);
  const json::object body = json::parse(litellm.write(read_well(request()), answer)).as_object();
  REQUIRE(body.at("action") == "GUARDRAIL_INTERVENED");
  REQUIRE(body.at("texts") == json::array{"Be brief.", "Hello\n\nHurry."});
}

TEST_CASE("NoTextIsAddedToAnEmbedding") {
  json::object body = request();
  body["structured_messages"] = nullptr;
  gateway g;
  g.begin(read_well(body));
  reply answer;
  const std::string lines = g.take(read_well(body), {.action = "inject", .recipients = {}, .inject = "Hurry."}, answer);
  REQUIRE(litellm.write(read_well(body), answer) == R"({"action":"NONE"})");
  REQUIRE(contains(lines, R"("applied":"as_is")"));
}
