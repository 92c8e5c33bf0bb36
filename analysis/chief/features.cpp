#include "analysis/chief/features.h"

#include "analysis/chief/text.h"

namespace digd::chief {

std::string_view to_string(stage s) {
  switch (s) {
    case stage::oracle: return "virtual-oracle";
    case stage::local: return "local";
    case stage::planning_control: return "planning-control";
    case stage::data_flow: return "data-flow";
    case stage::deviation: return "deviation-aware";
    case stage::order: return "order";
  }
  return "?";
}

#define FEATURE(name, by, weighs, means, says) {#name, stage::by, leaning::weighs, bearing::means, says},
const std::vector<feature_info>& chat_features() {
  static const std::vector<feature_info> features{
#include "analysis/chief/chat_features.inc"
  };
  return features;
}
const std::vector<feature_info>& orchestrated_features() {
  static const std::vector<feature_info> features{
#include "analysis/chief/orchestrated_features.inc"
  };
  return features;
}
const std::vector<feature_info>& agent_features() {
  static const std::vector<feature_info> features{
#include "analysis/chief/agent_features.inc"
  };
  return features;
}
const std::vector<feature_info>& generic_features() {
  static const std::vector<feature_info> features{
#include "analysis/chief/generic_features.inc"
#include "base/text.h"
  };
  return features;
}
#undef FEATURE

bool is_brief(std::string_view low) {
  return low.find("general task") != std::string_view::npos && low.find("manager") != std::string_view::npos;
}

std::string_view described_task(std::string_view text) {
  const std::string low = lower(text);
  const std::size_t from = low.find("## task description");
  if (from == std::string::npos) return text;
  const std::size_t end = low.find("## plan", from);
  return text.substr(from, end == std::string::npos ? std::string_view::npos : end - from);
}

bool concludes(std::string_view low) {
  return has_any(low, {"therefore", "thus,", "in conclusion", "the answer is", "final answer", "conclude", "conclusion",
                       "is confirmed", "confirmed to be", "we can confirm", "correct answer", "indicates that"});
}

bool assumes(std::string_view low) {
  return has_any(low, {"assum", "hypothetical", "simulat", "mock", "sample data", "placeholder", "generally speaking",
                       "my knowledge", "for the sake of", "for demonstration", "dummy", "example data", "in general",
                       "typically", "estimate", "approximate"});
}

bool speaks_of_failure(std::string_view low) {
  return has_any(low, {"error", "issue", "failed", "not found", "did not return", "not available", "unable", "cannot",
                       "couldn't", "wasn't able", "not return", "didn't"});
}

}  // namespace digd::chief
