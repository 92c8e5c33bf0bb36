// Hostile messages at full size: the result is an error code or a correct graph. The corpora of tests/fuzz have many
// more small cases.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>

#include "ingest/protocol/replay.h"
#include "tests/engine/engine_answers.h"
#include "tests/engine/scenario.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

namespace {

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

// Returns "code field" of the refusal of a frame without its seq. Does not use a scenario, which would parse and
// rewrite the frame. The limits are the defaults, except for the size of a message.
std::string refusal_of(const std::string& frame) {
  std::string refused;
  ingest::replay through(run_policy{}, {.record = [&](const ingest::record& record) {
                           refused = to_string(record.answer.refused.code);
                           if (!record.answer.refused.field.empty()) refused += ' ' + record.answer.refused.field;
                         }});
  REQUIRE(through.line(R"({"type":"hello","protocol":1,"run":"r","limits":{"message_bytes":16777216}})"));
  REQUIRE(through.line("{\"seq\":1," + frame.substr(1)));
  return refused;
}

strings lines_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  strings lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("ids_and_names_of_a_megabyte_are_refused_by_their_length") {
  const std::string long_name(1 << 20, 'x');
  CHECK(refusal_of(R"({"type":"event","event":{"id":")" + long_name + R"(","recipients":[]}})") == "bad_message id");
  CHECK(refusal_of(R"({"type":"event","event":{"id":"e","recipients":[")" + long_name + R"("]}})") ==
        "bad_message recipients");
  CHECK(refusal_of(R"({"type":"activation_ended","activation":"v","reactions":{")" + long_name + R"(":"wait"}})") ==
        "bad_message reactions");
}

TEST_CASE("a_million_levels_of_nesting_are_refused") {
  constexpr std::size_t deep = 1'000'000;
  const std::string event = R"({"type":"event","event":{"id":"e","recipients":[],"payload":)";
  CHECK(refusal_of(event + repeated("[", deep) + repeated("]", deep) + "}}") == "bad_json");
  CHECK(refusal_of(event + repeated("{\"a\":", deep) + "1" + repeated("}", deep) + "}}") == "bad_json");
  CHECK(refusal_of(event + repeated("[", deep)) == "bad_json");
}

TEST_CASE("a_hundred_thousand_repeated_keys_are_refused_except_in_a_payload") {
  std::string keys;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 100'000; ++i) keys += "\"e" + std::to_string(i) + "\":\"wait\",";
  }
  keys.pop_back();
  CHECK(refusal_of(R"({"type":"activation_ended","activation":"v","reactions":{)" + keys + "}}") ==
        "bad_message reactions");
  // digd does not read payloads.
  CHECK(refusal_of(R"({"type":"event","event":{"id":"e","recipients":[],"payload":{)" + keys + "}}}") == "none");
}

TEST_CASE("a_million_recipients_are_over_the_limit_and_recorded_where_the_operator_allows_them") {
  CHECK(refusal_of(R"({"type":"event","event":{"id":"e","recipients":)" + numbered("a", 1'000'000) + "}}") ==
        "over_limit recipients");

  constexpr std::size_t many = 200'000;
  scenario s(R"({"type":"hello","limits":{"message_bytes":16777216,"recipients":1000000,"agents":1000000}})");
  s.then(R"({"type":"event","event":{"id":"e","recipients":)" + numbered("a", many) + "}}");
  CHECK(s.errors.empty());
  CHECK(s.graph().event(s.graph().find_event("e")).pending == many);
  CHECK(s.reachable() == strings{"e"});
}

TEST_CASE("the_same_recipient_a_hundred_thousand_times_is_one_delivery") {
  scenario s(R"({"type":"hello","limits":{"message_bytes":16777216}})");
  s.then(R"({"type":"event","event":{"id":"e","recipients":["a")" + repeated(",\"a\"", 100'000) + "]}}");
  CHECK(s.errors.empty());
  CHECK(s.graph().event(s.graph().find_event("e")).deliveries.size() == 1);
}

TEST_CASE("engine_and_oracle_agree_on_a_reroute_that_circles_through_hundreds_of_agents") {
  constexpr std::size_t agents = 300;
  strings trace{R"({"type":"hello","protocol":1,"run":"r","clock":"trace"})",
                R"({"type":"event","seq":1,"event":{"id":"e","recipients":["a0"]}})"};
  std::uint64_t seq = 1;
  for (std::size_t i = 0; i <= agents; ++i) {
    const std::string v = "\"activation\":\"v" + std::to_string(i) + '"', at = "\"a" + std::to_string(i % agents) + '"',
                      next = "\"a" + std::to_string((i + 1) % agents) + '"';
    trace.push_back(R"({"type":"activation_started","seq":)" + std::to_string(++seq) + ',' + v + ",\"agent\":" + at +
                    R"(,"inputs":["e"]})");
    trace.push_back(R"({"type":"activation_ended","seq":)" + std::to_string(++seq) + ',' + v +
                    R"(,"reactions":{"e":{"reroute":[)" + next + "]}}}");
  }
  CHECK(disagreement(trace) == "");
  scenario s;
  for (const std::string& line : trace) s.then(line);
  CHECK(s.errors.empty());
  CHECK(s.graph().event(s.graph().find_event("e")).reroute_acts == agents + 1);
  CHECK_FALSE(s.detections.empty());
}

TEST_CASE("ids_that_another_run_has_used_are_new") {
  const std::string message = R"({"type":"event","event":{"id":"e","recipients":["a"]}}
{"type":"activation_started","activation":"v","agent":"a","inputs":["e"]}
{"type":"activation_ended","activation":"v","reactions":{"e":"consume"}})";
  scenario first(R"({"type":"hello","run":"one"})"), second(R"({"type":"hello","run":"two"})");
  first.then(message);
  second.then(message);
  CHECK(first.errors.empty());
  CHECK(second.errors.empty());
  CHECK(first.frames == second.frames);
}

TEST_CASE("engine_and_oracle_agree_on_the_hostile_traces_of_the_fuzz_corpus") {
  // These test JSON and trace files, which the oracle does not read.
  const std::set<std::string> skipped{"hostile-frames", "no-hello", "operator-line", "unknown-session"};
  std::size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(DIGD_SOURCE_DIR "/tests/fuzz/corpus/trace")) {
    if (skipped.contains(entry.path().filename().string()) || entry.path().filename().string().starts_with("found-"))
      continue;
    INFO(entry.path());
    CHECK(disagreement(lines_of(entry.path())) == "");
    ++compared;
  }
  CHECK(compared >= 10);
}
