#include "daemon/webhook/filter.h"

#include <algorithm>
#include <string_view>

namespace digd::daemon {

namespace {

// An empty list allows every word.
bool allows(const std::vector<std::string>& list, std::string_view word) {
  return list.empty() || std::find(list.begin(), list.end(), word) != list.end();
}

bool allows_kind(const webhook_settings& settings, std::string_view kind) {
  return std::find(settings.send.begin(), settings.send.end(), kind) != settings.send.end();
}

}  // namespace

callback_filter::callback_filter(const webhook_settings& settings)
    : rules_(settings.rules), severities_(settings.severities), runs_(settings.runs) {
  interventions_ = allows_kind(settings, "interventions");
  detections_ = allows_kind(settings, "detections");
  for (const std::string& label : settings.labels) {
    const std::size_t equals = label.find('=');
    labels_.emplace_back(label.substr(0, equals), label.substr(equals + 1));
  }
}

bool callback_filter::matches(const archive::callback_row& row) const {
  if (!(row.kind == archive::callback_kind::intervention ? interventions_ : detections_)) return false;
  std::string_view rest(row.symptoms);
  while (!rest.empty()) {
    const std::string_view symptom = rest.substr(0, rest.find(','));
    const std::size_t space = std::min(symptom.find(' '), symptom.size());
    if (allows(rules_, symptom.substr(0, space)) &&
        allows(severities_, symptom.substr(std::min(space + 1, symptom.size())))) {
      return true;
    }
    rest.remove_prefix(std::min(symptom.size() + 1, rest.size()));
  }
  return row.symptoms.empty() && rules_.empty() && severities_.empty();
}

bool callback_filter::matches_run(std::string_view run) const {
  return runs_.empty() ||
         std::any_of(runs_.begin(), runs_.end(), [&](const std::string& prefix) { return run.starts_with(prefix); });
}

bool callback_filter::matches_labels(const archive::callback_reader::labels& run_labels) const {
  return std::all_of(labels_.begin(), labels_.end(), [&](const auto& label) {
    return std::find(run_labels.begin(), run_labels.end(), label) != run_labels.end();
  });
}

std::string first_rule(const std::string& symptoms) { return symptoms.substr(0, symptoms.find_first_of(" ,")); }

}  // namespace digd::daemon
