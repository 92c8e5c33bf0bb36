#include "tests/engine/scenario.h"

#include <algorithm>
#include <boost/json.hpp>
#include <catch2/catch.hpp>

namespace digd::tests {

namespace json = boost::json;

namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string out = "[";
  for (const std::string& name : names) out.append(out.size() > 1 ? ", " : "").append(name);
  return out + "]";
}

}  // namespace

scenario::scenario(std::string_view lines, const run_policy& policy) {
  ingest::replay::listener to;
  to.frame = [this](std::string_view frame) { frames.emplace_back(frame); };
  to.record = [this](const ingest::record& record) { take(record); };
  replay_ = std::make_unique<ingest::replay>(policy, to);
  if (!lines.empty()) then(lines);
}

scenario& scenario::then(std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    line(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return *this;
}

void scenario::line(std::string_view text) {
  if (text.find_first_not_of(' ') == std::string_view::npos) return;
  if (ingest::is_own_line(decoder_.header_of(text).type)) {  // not a message, so it has no seq
    if (!replay_->line(text)) problem = replay_->problem();
    return;
  }
  json::error_code failed;
  json::value parsed = json::parse(text, failed);
  if (failed || !parsed.is_object()) {
    if (!replay_->line(text)) problem = replay_->problem();
    return;
  }
  json::object& object = parsed.as_object();
  const json::value* session = object.if_contains("session");
  const std::string name = session != nullptr ? std::string(session->as_string()) : "main";
  if (const json::value* type = object.if_contains("type"); type != nullptr && *type == "hello") {
    object.insert({{"protocol", 1}, {"run", "r1"}, {"clock", "trace"}});
  } else if (!object.contains("seq")) {
    object["seq"] = ++next_seq_[name];
  }
  if (!replay_->line(json::serialize(object))) problem = replay_->problem();
}

void scenario::take(const ingest::record& record) {
  const answer& a = record.answer;
  const auto offset = static_cast<std::uint32_t>(detections.size());
  detections.insert(detections.end(), a.detections.begin(), a.detections.end());
  for (verdict v : a.verdicts) {
    for (std::uint32_t& d : v.detections) d += offset;
    verdicts.push_back(std::move(v));
  }
  for (intervention i : a.interventions) {
    for (std::uint32_t& d : i.detections) d += offset;
    interventions.push_back(std::move(i));
  }
  outcomes.insert(outcomes.end(), a.outcomes.begin(), a.outcomes.end());
  if (a.refused)
    errors.push_back({record.seq, std::string(to_string(a.refused.code)), a.refused.field, a.refused.text});
}

const detection& scenario::only(std::string_view rule) const {
  const detection* found = nullptr;
  for (const detection& d : detections) {
    if (!rule.empty() && to_string(d.rule) != rule) continue;
    INFO("detections: " << joined(detection_summaries()));
    REQUIRE(found == nullptr);
    found = &d;
  }
  INFO("detections: " << joined(detection_summaries()));
  REQUIRE(found != nullptr);
  return *found;
}

const verdict& scenario::verdict_on(std::string_view event) const {
  for (auto v = verdicts.rbegin(); v != verdicts.rend(); ++v) {
    if (v->event == event) return *v;
  }
  FAIL("no verdict on " << event);
  throw 0;
}

std::vector<std::string> scenario::detection_summaries() const {
  std::vector<std::string> lines;
  for (const detection& d : detections) lines.push_back(summary(d));
  return lines;
}

std::vector<std::string> scenario::outcome_summaries() const {
  std::vector<std::string> lines;
  for (const outcome_report& o : outcomes) {
    lines.push_back(std::string(to_string(o.rule)) + ' ' + o.event.value_or("-") + ' ' +
                    std::string(to_string(o.outcome)) + " at " + std::to_string(o.ts));
  }
  return lines;
}

std::vector<std::string> scenario::reachable() const {
  std::vector<std::string> ids;
  for (const graph::event_index e : graph().reachable()) ids.push_back(graph().event(e).id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::string summary(const detection& d) {
  std::string line(to_string(d.rule));
  if (d.event) line += ' ' + *d.event;
  if (d.agent) line += " @" + *d.agent;
  line += ' ' + joined(d.evidence);
  if (d.healed) return line + ' ' + std::string(to_string(d.healing));
  line += " not healed: " + std::string(to_string(d.cause));
  if (d.healing != action::none) line += ", would " + std::string(to_string(d.healing));
  return line;
}

std::string json_string(std::string_view name) { return json::serialize(json::string(name)); }

std::string numbered(std::string_view prefix, std::size_t count) {
  json::array items;
  for (std::size_t i = 0; i < count; ++i) items.emplace_back(std::string(prefix) + std::to_string(i));
  return json::serialize(items);
}

}  // namespace digd::tests
