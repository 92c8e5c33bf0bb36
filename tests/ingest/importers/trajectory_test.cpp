#include "ingest/importers/trajectory.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "ingest/protocol/replay.h"
#include "tests/ingest/importers/trace_check.h"

using namespace digd::importers;
using namespace importer_tests;

namespace {

using names = std::vector<std::string>;

struct sample {
  framework from;
  const char* file;
  names agents;
  std::string answer_has;
};

const std::vector<sample>& samples() {
  static const std::vector<sample> samples{
      {framework::metagpt, "metagpt.json", {"ProductManager", "Architect", "Engineer", "QaEngineer"}, "game is ready"},
      {framework::ag2, "ag2.json", {"assistant", "mathproxyagent"}, "144"},
      {framework::hyperagent,
       "hyperagent.json",
       {"Planner", "Codebase Navigator", "Inner-Navigator-Assistant"},
       "empty list"},
      {framework::magentic_one, "magentic_one.json", {"MagenticOneOrchestrator", "WebSurfer"}, "13 stations"},
      {framework::openhands, "openhands.json", {"agent", "environment", "BrowsingAgent"}, "7 lines"},
      {framework::swe_agent, "swe_agent.json", {"main", "environment"}, "submit"},
  };
  return samples;
}

import_result imported(framework from, const std::string& file) {
  auto outcome = import_trajectory(from, file);
  if (!outcome) FAIL(outcome.error().message);
  REQUIRE(trace_checker().check(outcome->lines) == "");
  return *outcome;
}

import_failure refused(framework from, const std::string& file, const trajectory_options& options = {}) {
  const auto outcome = import_trajectory(from, file, options);
  REQUIRE(outcome.has_error());
  return outcome.error();
}

// The rules that fire when the engine replays the trace.
std::vector<digd::rule_id> fired(const std::vector<std::string>& lines) {
  std::vector<digd::rule_id> rules;
  digd::ingest::replay::listener to;
  to.record = [&](const digd::ingest::record& record) {
    CHECK_FALSE(record.answer.refused);
    for (const digd::detection& d : record.answer.detections) rules.push_back(d.rule);
  };
  digd::ingest::replay through(digd::run_policy{}, std::move(to));
  for (const auto& line : lines) REQUIRE(through.line(line));
  return rules;
}

}  // namespace

TEST_CASE("each_framework_s_trajectory_imports_with_its_agents_and_its_answer") {
  for (const sample& s : samples()) {
    INFO(to_string(s.from));
    const import_result result = imported(s.from, fixture(s.file));
    const trace_view trace(result.lines);
    CHECK(texts(trace.hello().at("agents")) == s.agents);
    CHECK(text(trace.hello().at("labels").as_object().at("source")) == to_string(s.from));
    CHECK(text(trace.last().at("type")) == "run_ended");
    CHECK(text(trace.last().at("outcome")) == "success");
    std::string answer;
    for (const auto& message : trace.messages()) {
      if (!message.contains("outputs")) continue;
      const auto& output = message.at("outputs").as_array().front().as_object();
      if (output.contains("submit")) answer = text(output.at("payload").as_object().at("text"));
    }
    CHECK(answer.find(s.answer_has) != std::string::npos);
  }
}

TEST_CASE("a_successful_run_is_not_deadlocked_and_misses_no_end") {
  for (const sample& s : samples()) {
    INFO(to_string(s.from));
    for (const digd::rule_id rule : fired(imported(s.from, fixture(s.file)).lines)) {
      CHECK(rule != digd::rule_id::deadlock);
      CHECK(rule != digd::rule_id::missing_termination);
    }
  }
}

TEST_CASE("the_same_run_without_its_answer_is_deadlocked") {
  auto log = json::parse(fixture("ag2.json")).as_array();
  log.back().as_object()["content"] = "I am not sure yet.";
  const auto rules = fired(imported(framework::ag2, json::serialize(log)).lines);
  CHECK(std::count(rules.begin(), rules.end(), digd::rule_id::deadlock) == 1);
}

TEST_CASE("a_run_graded_as_correct_is_a_success_without_an_answer") {
  const auto log = json::parse(fixture("ag2.json")).as_array();
  json::object graded{{"messages", json::array(log.begin(), log.end() - 1)}, {"is_correct", true}};
  const trace_view trace(imported(framework::ag2, json::serialize(graded)).lines);
  CHECK(text(trace.last().at("outcome")) == "success");
}

TEST_CASE("repeated_text_and_calls_have_the_same_fingerprint") {
  const trace_view chat(imported(framework::ag2, fixture("ag2.json")).lines);
  CHECK(text(chat.event("s1").at("fingerprint")) == text(chat.event("s3").at("fingerprint")));
  CHECK(text(chat.event("s1").at("fingerprint")) != text(chat.event("s5").at("fingerprint")));
  const trace_view steps(imported(framework::swe_agent, fixture("swe_agent.json")).lines);
  CHECK(text(steps.event("s2").at("fingerprint")) == text(steps.event("s4").at("fingerprint")));
}

TEST_CASE("stated_recipients_are_stated_in_the_trace") {
  const trace_view company(imported(framework::metagpt, fixture("metagpt.json")).lines);
  CHECK(company.recipients("s2") == names{"Engineer"});
  CHECK_FALSE(company.infers("s2", "recipients"));
  CHECK(company.infers("s1", "recipients"));
  const trace_view planned(imported(framework::hyperagent, fixture("hyperagent.json")).lines);
  CHECK(planned.recipients("s1") == names{"Codebase Navigator"});
  CHECK(planned.recipients("s3") == names{"Planner"});
  const trace_view delegated(imported(framework::openhands, fixture("openhands.json")).lines);
  CHECK(delegated.recipients("s3") == names{"BrowsingAgent"});
  CHECK(delegated.recipients("s5") == names{"agent"});
}

TEST_CASE("a_bad_trajectory_is_refused_with_the_place_and_what_was_expected") {
  CHECK(refused(framework::swe_agent, "{}").message.find("trajectory") != std::string::npos);
  CHECK(refused(framework::ag2, "[1]").message.find("[0]") != std::string::npos);
  CHECK(refused(framework::openhands, "[]").message.find("at least one turn") != std::string::npos);
  CHECK(refused(framework::metagpt, "nothing").code == import_errc::bad_json);
  trajectory_options few;
  few.max_items = 2;
  CHECK(refused(framework::ag2, fixture("ag2.json"), few).code == import_errc::too_large);
}

TEST_CASE("damaged_trajectories_are_refused_or_give_a_trace_the_engine_accepts") {
  for (const sample& s : samples()) {
    try_damaged(fixture(s.file), 500, [&](const std::string& damaged) {
      const auto outcome = import_trajectory(s.from, damaged);
      if (outcome) REQUIRE(trace_checker().check(outcome->lines) == "");
    });
  }
}
