#include "report.h"

#include "scan.h"

namespace oracle {

namespace json = boost::json;

namespace {

// A detection lists its sorted evidence up to both limits.
constexpr std::size_t max_evidence_ids = 64;
constexpr std::size_t max_evidence_bytes = 4096;

template <class T>
json::value or_null(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

template <class Names>
json::array array_of(const Names& names) {
  json::array items;
  for (const std::string& name : names) items.emplace_back(name);
  return items;
}

json::array listed_evidence(const std::set<std::string>& evidence) {
  json::array listed;
  std::size_t bytes = 0;
  for (const std::string& id : evidence) {
    bytes += id.size();
    if (listed.size() == max_evidence_ids || bytes > max_evidence_bytes) break;
    listed.emplace_back(id);
  }
  return listed;
}

}  // namespace

std::string line_of(const detection& d) {
  json::object line;
  line["d"] = name_of(d.rule_);
  line["at"] = or_null(d.at_);
  line["ts"] = d.ts_;
  line["session"] = or_null(d.session_);
  line["event"] = or_null(d.event_);
  line["agent"] = or_null(d.agent_);
  line["evidence"] = listed_evidence(d.evidence_);
  line["total"] = d.evidence_.size();
  line["healed"] = d.healed_;
  line["healing"] = or_null(d.healing_);
  line["cause"] = or_null(d.cause_);
  if (d.action_) {
    line["action"] = *d.action_;
    line["limits"] = array_of(d.limits_);
  }
  return json::serialize(line);
}

std::string line_of(const verdict& v) {
  json::object line;
  line["v"] = v.seq_;
  line["session"] = v.session_;
  line["event"] = v.event_;
  line["action"] = v.action_;
  line["recipients"] = v.recipients_ ? json::value(array_of(*v.recipients_)) : json::value(nullptr);
  if (v.hold_ != 0) line["hold"] = v.hold_;
  line["inject"] = v.inject_;
  return json::serialize(line);
}

std::string line_of(const intervention& i) {
  json::object line;
  line["i"] = i.id_;
  line["action"] = i.action_;
  line["event"] = or_null(i.event_);
  line["recipients"] = array_of(i.recipients_);
  if (i.action_ == "cancel") line["activations"] = array_of(i.activations_);
  line["inject"] = i.inject_;
  return json::serialize(line);
}

std::string error_line(std::optional<std::int64_t> seq, const std::string& session, error_code code,
                       const std::optional<std::string>& field) {
  json::object line;
  line["e"] = or_null(seq);
  line["session"] = session;
  line["code"] = name_of(code);
  line["field"] = or_null(field);
  return json::serialize(line);
}

std::string status_line(const history& h) {
  std::set<std::string> reachable;
  for (std::size_t e : reachable_work(h)) reachable.insert(h.events_[e].id_);
  json::object status;
  status["reachable"] = array_of(reachable);
  status["active"] = active_count(h);
  status["roster"] = array_of(h.roster_);
  status["terminal"] = h.terminal_;
  status["clock"] = h.clock_;
  json::array holds;
  for (std::size_t i = 0; i < h.holds_.size(); ++i)
    if (h.holds_[i].open_) holds.emplace_back(i + 1);
  if (!holds.empty()) status["holds"] = std::move(holds);
  json::object line;
  line["s"] = std::move(status);
  return json::serialize(line);
}

}  // namespace oracle
