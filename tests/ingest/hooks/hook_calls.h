// Hook calls that the tests write, and what a player made of them.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/ingest/hooks/hook_player.h"

namespace digd::tests {

// A call in session s1, as Claude Code, Codex and Gemini CLI make it. `more`: further members.
inline std::string hook(const std::string& name, const std::string& more = {}) {
  return R"({"session_id":"s1","hook_event_name":")" + name + '"' + (more.empty() ? "" : ',' + more) + '}';
}

// The same as a part of a prompt of Claude Code.
inline std::string claude(const std::string& name, const std::string& more = {}, const std::string& prompt = "p1") {
  return hook(name, R"("prompt_id":")" + prompt + '"' + (more.empty() ? "" : ',' + more));
}

inline void play_all(hook_player& in, const std::vector<std::string>& calls) {
  for (const std::string& each : calls) {
    INFO(each);
    REQUIRE(!in.play(each).is_refused);
  }
  CHECK(in.refused() == std::vector<std::string>{});
}

inline std::vector<std::string> rules_in(const hook_player& in) {
  std::vector<std::string> rules;
  for (const detection& each : in.detections()) rules.emplace_back(to_string(each.rule));
  return rules;
}

}  // namespace digd::tests
