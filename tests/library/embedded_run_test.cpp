// The engine behind digd/engine.h answers as a replay does, and its time is the caller's.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "digd/engine.h"
#include "ingest/protocol/replay.h"

namespace {

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Traces with one session and the trace clock.
std::vector<std::filesystem::path> traces() {
  const std::filesystem::path folder = std::string(DIGD_SOURCE_DIR) + "/tests/traces";
  std::vector<std::filesystem::path> found{folder / "demo.jsonl"};
  for (const auto& entry : std::filesystem::directory_iterator(folder / "conformance")) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".jsonl") || name.ends_with(".expected.jsonl")) continue;
    std::size_t hellos = 0;
    for (const std::string& line : lines_of(entry.path())) hellos += line.find("\"hello\"") != std::string::npos;
    if (hellos == 1) found.push_back(entry.path());
  }
  return found;
}

digd::embedded_run opened(const std::string& hello) {
  digd::opened_run result = digd::embedded_run::open(hello);
  INFO(result.frame);
  REQUIRE(result.run);
  return std::move(*result.run);
}

}  // namespace

TEST_CASE("an_embedded_run_answers_a_trace_as_a_replay_does_byte_for_byte") {
  std::size_t compared = 0;
  for (const std::filesystem::path& trace : traces()) {
    INFO(trace.string());
    std::vector<std::string> replayed;
    digd::ingest::replay replay(digd::run_policy{},
                                {.frame = [&](std::string_view frame) { replayed.emplace_back(frame); }});
    std::vector<std::string> lines = lines_of(trace);
    for (const std::string& line : lines) REQUIRE(replay.line(line));

    std::string hello = lines.front();
    if (hello.find("\"clock\"") == std::string::npos) hello.insert(1, R"("clock":"trace",)");
    digd::embedded_run run = opened(hello);
    std::vector<std::string> answered;
    std::size_t detections = 0;
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const digd::engine_answer& answer = run.apply(lines[i], 0);
      answered.insert(answered.end(), answer.frames.begin(), answer.frames.end());
      detections += answer.detections.size();
    }
    CHECK(answered == replayed);
    CHECK(detections == replay.counted().detections);
    compared += answered.size();
  }
  CHECK(compared > 100);
}

TEST_CASE("with_the_wall_clock_a_rule_by_time_fires_when_the_caller_lets_its_time_pass") {
  digd::embedded_run run = opened(
      R"({"type":"hello","protocol":1,"run":"r1","agents":["a"],"rules":{"missing_termination":{"window_ms":100}}})");
  run.apply(R"({"type":"event","seq":1,"event":{"id":"e1","recipients":["a"]}})", 1000);
  run.apply(R"({"type":"activation_started","seq":2,"activation":"v1","agent":"a","inputs":["e1"]})", 1001);
  CHECK(run.apply(R"({"type":"activation_ended","seq":3,"activation":"v1"})", 1002).frames.empty());
  REQUIRE(run.next_due() == 1102);
  CHECK(run.advance(1101).detections.empty());
  const digd::engine_answer& fired = run.advance(1102);
  REQUIRE(fired.frames.size() == 1);
  CHECK(fired.frames[0].starts_with(R"({"type":"intervention","id":"sys:1","action":"create","recipients":["a"])"));
  REQUIRE(fired.detections.size() == 1);
  CHECK(fired.detections[0].starts_with(R"({"rule":"missing_termination")"));
  run.apply(R"({"type":"run_ended","seq":4})", 1200);
  CHECK(run.ended());
}

TEST_CASE("a_hello_that_is_refused_opens_no_run_and_says_why") {
  const digd::opened_run no_json = digd::embedded_run::open("{");
  CHECK_FALSE(no_json.run);
  CHECK(no_json.frame.starts_with(R"({"type":"error","code":"bad_json")"));
  const digd::opened_run no_run = digd::embedded_run::open(R"({"type":"hello","protocol":1})");
  CHECK_FALSE(no_run.run);
  CHECK(no_run.frame.find(R"("field":"run")") != std::string::npos);
  const digd::opened_run large = digd::embedded_run::open(std::string(std::size_t{2} << 20, ' '));
  CHECK(large.frame.starts_with(R"({"type":"error","code":"too_large")"));
}

TEST_CASE("a_frame_that_is_refused_changes_nothing") {
  digd::embedded_run run = opened(R"({"type":"hello","protocol":1,"run":"r1"})");
  CHECK(run.apply("no JSON", 0).frames.at(0).starts_with(R"({"type":"error","code":"bad_json")"));
  CHECK(run.apply(R"({"type":"event","seq":2,"event":{"id":"sys:1","recipients":["a"]}})", 0)
            .frames.at(0)
            .starts_with(R"({"type":"error","code":"reserved_id")"));
  CHECK(run.apply(R"({"type":"event","seq":3,"event":{"id":"e1","recipients":["a"]}})", 0).frames ==
        std::vector<std::string>{R"({"type":"verdicts","seq":3,"verdicts":[{"event":"e1","action":"deliver"}]})"});
}
