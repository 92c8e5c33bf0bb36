// Decides which detections and interventions a webhook gets. Pure functions; the filter is constant.
//
// Thread: any. Bounds: those of the settings, which it copies. Failure: none.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/callback_reader.h"
#include "daemon/settings/webhook_settings.h"

namespace digd::daemon {

class callback_filter {
 public:
  explicit callback_filter(const webhook_settings& settings);

  // Tests the kind, the rule and the severity. An intervention matches if one of its detections matches in both.
  bool matches(const archive::callback_row& row) const;
  bool needs_run() const { return !runs_.empty(); }
  // Whether the settings are for the run with this id.
  bool matches_run(std::string_view run) const;
  bool needs_labels() const { return !labels_.empty(); }
  // Whether the run has all labels that the settings require, with the same values.
  bool matches_labels(const archive::callback_reader::labels& run_labels) const;

 private:
  bool interventions_ = false, detections_ = false;
  std::vector<std::string> rules_, severities_;  // empty: all
  std::vector<std::string> runs_;                // prefixes; empty: all
  std::vector<std::pair<std::string, std::string>> labels_;
};

// The first rule of a list such as "deadlock failure,orphaned_event failure".
std::string first_rule(const std::string& symptoms);

}  // namespace digd::daemon
