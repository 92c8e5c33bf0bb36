// When a guard of docs/guards.md fires: totals, depths and repetitions by scanning the whole history.
#include "oracle.h"
#include "scan.h"

#include <algorithm>
#include <limits>

namespace oracle {

namespace {

const std::vector<std::string>& totals() {
  static const std::vector<std::string> names{"max_tokens",     "max_cost",        "max_model_calls",
                                              "max_tool_calls", "max_activations", "max_ms"};
  return names;
}

const std::vector<std::string>& limits_of(rule guard) {
  static const std::vector<std::string> fan_out{"max_depth", "max_outputs", "max_live"};
  static const std::vector<std::string> repetition{"max_repeats"};
  static const std::vector<std::string> stall{"after_ms"};
  switch (guard) {
    case rule::budget: return totals();
    case rule::fan_out: return fan_out;
    case rule::repetition: return repetition;
    default: return stall;
  }
}

}  // namespace

bool evaluator::guard_is_on(rule guard) const {
  const auto& set = h_.settings_.guards_.limits_;
  return std::any_of(limits_of(guard).begin(), limits_of(guard).end(),
                     [&](const std::string& limit) { return set.count(limit) != 0; });
}

// What was spent since a person last let the run or the agent go on.
std::int64_t evaluator::total(const std::string& limit, const std::optional<std::string>& agent) const {
  restart_record since{agent, 0, 0, std::numeric_limits<std::int64_t>::min()};
  for (const restart_record& restart : h_.restarts_)
    if (restart.agent_ == agent) since = restart;
  std::int64_t activations = 0;
  std::optional<std::int64_t> first;
  if (!agent) first = h_.first_message_ms_;
  for (std::size_t v = 0; v < h_.activations_.size(); ++v) {
    if (agent && h_.activations_[v].agent_ != *agent) continue;
    if (v >= since.activations_) ++activations;
    if (agent && !first) first = h_.activations_[v].started_ms_;
  }
  if (limit == "max_activations") return activations;
  if (limit == "max_ms") return first ? h_.clock_ - std::max(*first, since.ts_) : 0;
  std::int64_t sum = 0;
  for (std::size_t i = since.usages_; i < h_.usages_.size(); ++i) {
    const usage_record& used = h_.usages_[i];
    if (agent && used.agent_ != *agent) continue;
    sum += limit == "max_tokens"        ? used.tokens_
           : limit == "max_cost"        ? used.cost_
           : limit == "max_model_calls" ? used.model_calls_
                                        : used.tool_calls_;
  }
  return sum;
}

std::vector<std::string> evaluator::limits_passed(const std::optional<std::string>& agent) const {
  std::vector<std::string> passed;
  for (const std::string& limit : totals()) {
    const auto set = h_.settings_.guards_.limits_.find(limit);
    if (set != h_.settings_.guards_.limits_.end() && total(limit, agent) > set->second) passed.push_back(limit);
  }
  return passed;
}

std::optional<finding> evaluator::find_budget(const std::optional<std::string>& sender) const {
  const guard_settings& guards = h_.settings_.guards_;
  std::optional<std::string> agent;
  if (guards.per_ == "agent") {
    if (!sender) return std::nullopt;
    agent = sender;
  }
  finding found{rule::budget, agent, {}};
  found.limits_ = limits_passed(agent);
  if (!found.limits_.empty()) return found;
  if (!sender) return std::nullopt;
  found.warning_ = true;
  for (const std::string& limit : totals()) {
    const auto set = guards.limits_.find(limit);
    if (set == guards.limits_.end()) continue;
    const bool warned = std::any_of(h_.firings_.begin(), h_.firings_.end(), [&](const firing_record& f) {
      return f.guard_ == rule::budget && f.warning_ && f.sender_ == sender &&
             std::find(f.limits_.begin(), f.limits_.end(), limit) != f.limits_.end();
    });
    if (!warned && static_cast<double>(total(limit, agent)) >= guards.warn_at_ * static_cast<double>(set->second))
      found.limits_.push_back(limit);
  }
  if (found.limits_.empty()) return std::nullopt;
  return found;
}

std::optional<finding> evaluator::find_fan_out(const message& m, const std::vector<blocked_event>& blocked,
                                               std::size_t at) const {
  const std::size_t event = blocked[at].event_;
  const event_record& e = h_.events_[event];
  finding found{rule::fan_out, sender_of(m), {}};
  auto compare = [&](const char* limit, std::size_t count) {
    const auto set = h_.settings_.guards_.limits_.find(limit);
    if (set != h_.settings_.guards_.limits_.end() && static_cast<std::int64_t>(count) > set->second)
      found.limits_.push_back(limit);
  };
  auto is_later = [&](std::size_t other) {
    for (std::size_t i = at + 1; i < blocked.size(); ++i)
      if (blocked[i].event_ == other) return true;
    return false;
  };
  compare("max_depth", static_cast<std::size_t>(depth_of(h_, event)));
  if (e.source_) {
    std::size_t position = 0;
    for (std::size_t output : h_.activations_[*e.source_].outputs_)
      if (is_work(h_.events_[output]) && !is_later(output)) ++position;
    compare("max_outputs", position);
  }
  std::size_t live = 0;
  for (std::size_t x : reachable_work(h_))
    if (!is_later(x)) ++live;
  compare("max_live", live);
  if (found.limits_.empty()) return std::nullopt;
  for (std::size_t parent : e.derived_from_) found.evidence_.insert(h_.events_[parent].id_);
  return found;
}

std::optional<finding> evaluator::find_repetition(const message& m, const blocked_event& b,
                                                  const std::vector<blocked_event>& blocked, std::size_t at) const {
  const event_record& e = h_.events_[b.event_];
  const std::optional<std::string> sender = sender_of(m);
  if (!sender || !e.fingerprint_) return std::nullopt;
  std::vector<std::size_t> latest;  // of the sender, up to and including e
  for (std::size_t output : h_.outputs_) {
    bool later = false;
    for (std::size_t i = at + 1; i < blocked.size(); ++i) later = later || blocked[i].event_ == output;
    if (!later && h_.activations_[*h_.events_[output].source_].agent_ == *sender) latest.push_back(output);
  }
  const std::size_t window = static_cast<std::size_t>(h_.settings_.guards_.window_);
  if (latest.size() > window) latest.erase(latest.begin(), latest.end() - static_cast<std::ptrdiff_t>(window));
  auto as_set = [](const std::vector<std::string>& names) { return std::set<std::string>(names.begin(), names.end()); };
  finding found{rule::repetition, sender, {}};
  std::int64_t count = 0;
  for (std::size_t output : latest) {
    const event_record& other = h_.events_[output];
    if (other.fingerprint_ != e.fingerprint_ || as_set(other.addressees_) != as_set(e.addressees_)) continue;
    ++count;
    if (output != b.event_) found.evidence_.insert(other.id_);
  }
  if (count <= h_.settings_.guards_.limits_.at("max_repeats")) return std::nullopt;
  found.limits_ = {"max_repeats"};
  return found;
}

std::vector<finding> evaluator::guard_findings(const message& m, const std::vector<blocked_event>& blocked,
                                               std::size_t at) const {
  std::vector<finding> found;
  const blocked_event& b = blocked[at];
  const event_record& e = h_.events_[b.event_];
  if (h_.terminal_ || b.late_ || e.submit_) return found;
  auto add = [&](std::optional<finding> f) {
    if (f) found.push_back(*f);
  };
  if (!e.fyi_ && guard_is_on(rule::budget)) add(find_budget(sender_of(m)));
  if (!e.fyi_ && !b.rerouted_ && guard_is_on(rule::fan_out)) add(find_fan_out(m, blocked, at));
  if (b.output_ && guard_is_on(rule::repetition)) add(find_repetition(m, b, blocked, at));
  std::erase_if(found, [&](const finding& f) { return effective_mode(h_, f.rule_) == mode::off; });
  return found;
}

}  // namespace oracle
