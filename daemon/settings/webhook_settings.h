// One [[webhook]] of the configuration; daemon/settings/webhook_options.cpp explains each field.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace digd::daemon {

struct webhook_settings {
  std::string name;
  std::string url;
  std::string format = "generic";       // generic, slack, pagerduty; otlp: that of [otlp_export]
  std::string dashboard;                // where people open it; empty: alerts have no link
  std::string secret_file, secret_env;  // where the secret is; the secret itself is not kept here
  std::string ca_file;
  bool hold_links = false;  // whether callbacks about held events have links under `dashboard`
  std::vector<std::string> send = {"interventions", "detections"};
  std::vector<std::string> rules, severities, labels;  // empty: all
  std::vector<std::string> runs;                       // prefixes of their ids; empty: all
  std::int64_t timeout_ms = 10'000;
  std::int64_t attempts = 20;
  std::int64_t retry_ms = 1'000, retry_most_ms = 300'000;
  std::int64_t max_age_ms = 86'400'000;
  std::int64_t concurrency = 4;
  std::int64_t dead_letters = 1'000;
  std::int64_t group_ms = 60'000, rate = 30;  // of alerts for people: slack, pagerduty
  bool operator==(const webhook_settings&) const = default;
};

inline constexpr std::size_t max_webhooks = 32;

}  // namespace digd::daemon
