// What no honest system says, at full size: the answer is an error code or a correct graph. Smaller cases, many more of
// them, are the corpora of tests/fuzz.
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

// What a frame without its seq is refused with, "code field", to the letter: a scenario would read and write it anew.
// The limits are the default ones, but for the size of a message.
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

TEST_CASE("ids and names of a megabyte are refused by their length") {
  const std::string long_name(1 << 20, 'x');
  CHECK(refusal_of(R"({"type":"event","event":{"id":")" + long_name + R"(","recipients":[]}})") == "bad_message id");
  CHECK(refusal_of(R"({"type":"event","event":{"id":"e","recipients":[")" + long_name + R"("]}})") ==
        "bad_message recipients");
  CHECK(refusal_of(R"({"type":"activation_ended","activation":"v","reactions":{")" + long_name + R"(":"wait"}})") ==
        "bad_message reactions");
}

TEST_CASE("a million levels are refused, whatever they are made of") {
  constexpr std::size_t deep = 1'000'000;
  const std::string event = R"({"type":"event","event":{"id":"e","recipients":[],"payload":)";
  CHECK(refusal_of(event + repeated("[", deep) + repeated("]", deep) + "}}") == "bad_json");
  CHECK(refusal_of(event + repeated("{\"a\":", deep) + "1" + repeated("}", deep) + "}}") == "bad_json");
  CHECK(refusal_of(event + repeated("[", deep)) == "bad_json");
}

TEST_CASE("a hundred thousand keys, twice each, are refused as soon as they are data") {
  std::string keys;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 100'000; ++i) keys += "\"e" + std::to_string(i) + "\":\"wait\",";
  }
  keys.pop_back();
  CHECK(refusal_of(R"({"type":"activation_ended","activation":"v","reactions":{)" + keys + "}}") ==
        "bad_message reactions");
  // In a payload they are nobody's business.
  CHECK(refusal_of(R"({"type":"event","event":{"id":"e","recipients":[],"payload":{)" + keys + "}}}") == "none");
}

TEST_CASE("a million recipients are over the limit, and named in full where the operator grants them") {
  CHECK(refusal_of(R"({"type":"event","event":{"id":"e","recipients":)" + numbered("a", 1'000'000) + "}}") ==
        "over_limit recipients");

  constexpr std::size_t many = 200'000;
  scenario s(R"({"type":"hello","limits":{"message_bytes":16777216,"recipients":1000000,"agents":1000000}})");
  s.then(R"({"type":"event","event":{"id":"e","recipients":)" + numbered("a", many) + "}}");
  CHECK(s.errors.empty());
  CHECK(s.graph().event(s.graph().find_event("e")).pending == many);
  CHECK(s.reachable() == strings{"e"});
}

TEST_CASE("the same recipient a hundred thousand times is one delivery") {
  scenario s(R"({"type":"hello","limits":{"message_bytes":16777216}})");
  s.then(R"({"type":"event","event":{"id":"e","recipients":["a")" + repeated(",\"a\"", 100'000) + "]}}");
  CHECK(s.errors.empty());
  CHECK(s.graph().event(s.graph().find_event("e")).deliveries.size() == 1);
}

TEST_CASE("a reroute that goes round through hundreds of agents is judged as the oracle judges it") {
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

TEST_CASE("ids that another run has used are new") {
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

TEST_CASE("hostile traces of the fuzzers' corpus are judged as the oracle judges them") {
  // These are about JSON and trace files, which are not the oracle's business.
  const std::set<std::string> others{"hostile-frames", "no-hello", "operator-line", "unknown-session"};
  std::size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(DIGD_SOURCE_DIR "/tests/fuzz/corpus/trace")) {
    if (others.contains(entry.path().filename().string()) || entry.path().filename().string().starts_with("found-"))
      continue;
    INFO(entry.path());
    CHECK(disagreement(lines_of(entry.path())) == "");
    ++compared;
  }
  CHECK(compared >= 10);
}
