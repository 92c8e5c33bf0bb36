// Which detections and interventions a webhook is for. Pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "archive/callback_reader.h"
#include "daemon/settings/webhook_settings.h"

namespace digd::daemon {

class callback_filter {
 public:
  explicit callback_filter(const webhook_settings& of);

  // By what it is, its rules and their severities: one of an intervention's detections is enough, and must fit in both.
  bool takes(const archive::callback_row& row) const;
  bool asks_for_labels() const { return !labels_.empty(); }
  // Every label that is asked for is there, with that value.
  bool takes_labels(const archive::callback_reader::labels& of_run) const;

 private:
  bool interventions_ = false, detections_ = false;
  std::vector<std::string> rules_, severities_;  // empty: all
  std::vector<std::pair<std::string, std::string>> labels_;
};

// The first rule of "deadlock failure,orphaned_event failure".
std::string first_rule(const std::string& symptoms);

}  // namespace digd::daemon
