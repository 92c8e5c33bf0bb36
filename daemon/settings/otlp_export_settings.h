// The section [otlp_export] of the configuration; daemon/settings/otlp_export_options.cpp explains each field.
#pragma once

#include <cstdint>
#include <string>

namespace digd::daemon {

struct otlp_export_settings {
  std::string url;                        // empty: digd exports nothing
  std::string headers_file, headers_env;  // where the headers are; the headers themselves are not kept here
  std::string ca_file;
  std::string dashboard;
  std::int64_t timeout_ms = 10'000;
  std::int64_t attempts = 20;
  std::int64_t max_age_ms = 86'400'000;
  std::int64_t concurrency = 4;
  bool operator==(const otlp_export_settings&) const = default;
};

}  // namespace digd::daemon
