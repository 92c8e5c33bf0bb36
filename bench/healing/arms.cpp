#include "bench/healing/arms.h"

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "base/quote.h"
#include "bench/healing/control.h"
#include "bench/healing/judge.h"
#include "rules/rule.h"

namespace digd::bench {

namespace {

constexpr const char* enforcing = "\"mode\":\"enforce\"";

// Rules that do not heal still observe, so that all arms count the same detections.
regime with_rules_observing(const std::function<bool(rule_id)>& observes) {
  std::string rules;
  for (std::size_t i = 0; i < failure_rule_count; ++i) {
    const auto id = static_cast<rule_id>(i);
    if (!observes(id)) continue;
    if (!rules.empty()) rules += ',';
    rules += '"' + std::string(to_string(id)) + "\":{\"mode\":\"observe\"}";
  }
  return std::string(enforcing) + ",\"rules\":{" + rules + '}';
}

// The settings that docs/healing.md advises for large teams, with further members for early_termination.
std::string settings_for_large_teams(const std::string& of_et = {}) {
  return "\"early_termination\":{\"max_attempts\":15" + of_et +
         "},\"deadlock\":{\"window_ms\":3000,\"max_attempts\":20}";
}

arm with_rules(const std::string& name, const std::string& rules) {
  return {name, arm::kind::engine, std::string(enforcing) + ",\"rules\":{" + rules + '}'};
}

arm with_early_termination(const std::string& name, const std::string& member) {
  return with_rules(name, "\"early_termination\":{" + member + '}');
}

std::vector<arm> make_arms() {
  std::vector<arm> arms{{"without", arm::kind::nobody, {}},     {"observe", arm::kind::engine, "\"mode\":\"observe\""},
                        {"control", arm::kind::control, {}},    {"judge", arm::kind::judge, {}},
                        {"digd", arm::kind::engine, enforcing}, with_rules("large team", settings_for_large_teams())};
  for (std::size_t i = 0; i < failure_rule_count; ++i) {
    const auto rule = static_cast<rule_id>(i);
    arms.push_back({"only " + std::string(to_string(rule)), arm::kind::engine,
                    with_rules_observing([rule](rule_id id) { return id != rule; })});
  }
  for (std::size_t i = 0; i < failure_rule_count; ++i) {
    const auto rule = static_cast<rule_id>(i);
    arms.push_back({"all but " + std::string(to_string(rule)), arm::kind::engine,
                    with_rules_observing([rule](rule_id id) { return id == rule; })});
  }
  return arms;
}

// Earlier texts: the last one of cross_lineage_aggregation, and two of early_termination, newest first.
constexpr const char* ancestry_text =
    "To agent {agent}: the event {event} comes from {origin}. You also hold {work} of another decomposition "
    "({other_origin}). Do not combine them as if they were parts of one whole: check what each covers, and answer them "
    "apart.";
constexpr const char* counting_text =
    "Your final answer {event} was not accepted yet: {count} of work it does not build on {are} still unresolved: "
    "{work}. "
    "Your answer is back with you as ordinary work. See to it that this work is finished, or taken in where it is "
    "obsolete, "
    "then submit an answer that builds on this one and on what it lacked: count nothing twice.";
constexpr const char* earlier_text =
    "Your final answer {event} was not accepted yet: {count} of work it does not build on {are} still unresolved: "
    "{work}. "
    "Your answer is back with you as ordinary work. See to it that this work is finished, or taken in where it is "
    "obsolete, "
    "then submit an answer that is derived from all results.";
// A text that asks for patience.
constexpr const char* waiting_text =
    "Your final answer {event} was not accepted yet: {count} of work it does not build on {are} still unresolved: "
    "{work}. "
    "Your answer is back with you as ordinary work. Wait for what others are working on, then submit an answer that "
    "builds "
    "on this one and on what it lacked: count nothing twice.";

// The settings for large teams with further members of the two rules' settings, such as ",\"text\":…".
arm large_team_with(const std::string& name, const std::string& of_et, const std::string& of_cla = {}) {
  return with_rules("large team: " + name, settings_for_large_teams(of_et) + of_cla);
}

// The settings for large teams, where the text of early_termination lacks `words`.
arm large_team_without(const std::string& name, std::string_view words) {
  std::string text(rule_of(rule_id::early_termination).text());
  const std::size_t at = text.find(words);
  if (at == std::string::npos) throw std::logic_error("early_termination does not say: " + std::string(words));
  return large_team_with(name, ",\"text\":" + digd::quoted(text.erase(at, words.size())));
}

std::vector<arm> make_tried() {
  const std::string ancestry = ",\"cross_lineage_aggregation\":{\"text\":" + digd::quoted(ancestry_text) + '}';
  const std::string counting = "\"text\":" + digd::quoted(counting_text);
  const auto old_texts = [&](const std::string& name, const std::string& members) {
    return with_rules(name, "\"early_termination\":{" + members + '}' + ancestry);
  };
  const auto attempts = [](int n) {
    return with_early_termination(std::to_string(n) + " attempts", "\"max_attempts\":" + std::to_string(n));
  };
  return {old_texts("first texts", "\"text\":" + digd::quoted(earlier_text)),
          old_texts("waiting text", "\"text\":" + digd::quoted(waiting_text)),
          old_texts("counting text", counting),
          old_texts("counting text, 20 attempts", counting + ",\"max_attempts\":20"),
          old_texts("counting text, no limit", counting + ",\"max_attempts\":1000"),
          with_early_termination("old text of ET", counting),
          with_rules("old text of CLA", "\"early_termination\":{}" + ancestry),
          with_rules("OE observing", "\"orphaned_event\":{\"mode\":\"observe\"}"),
          attempts(2),
          attempts(8),
          attempts(15),
          attempts(20),
          with_early_termination("no limit", "\"max_attempts\":1000"),
          large_team_with("old text of ET", "," + counting),
          large_team_with("old text of CLA", {}, ancestry),
          large_team_with("OE observing", {}, ",\"orphaned_event\":{\"mode\":\"observe\"}"),
          large_team_without(
              "no passing on",
              " If it lacks more than half, pass it on to that agent with your results, unless that is you."),
          large_team_without("may wait", "do not just wait: "),
          large_team_without("nobody named as free", " to free agents ({free})"),
          large_team_without("not again", ", and delegate it again if no result arrives"),
          large_team_without("incomplete submits", " only when nothing is missing,"),
          large_team_without("not anew", "; if your answer does, rebuild it from results that do not overlap")};
}

outcome live_in(const cell& where, std::uint64_t seed, const parameters& parameters, monitor& with) {
  return world(where, seed, parameters, with).live();
}

outcome play_control(const cell& where, std::uint64_t seed, const parameters& parameters) {
  engine_monitor digd(enforcing);
  recorder noting(digd);
  const outcome model = live_in(where, seed, parameters, noting);
  control with(draws(seed), noting.noted(), model.time_ms);
  return live_in(where, seed, parameters, with);
}

}  // namespace

const std::vector<arm>& arms() {
  static const std::vector<arm> arms = make_arms();
  return arms;
}

const std::vector<arm>& tried() {
  static const std::vector<arm> arms = make_tried();
  return arms;
}

const arm* arm_named(const std::string& name) {
  for (const std::vector<arm>* list : {&arms(), &tried()}) {
    const auto found = std::find_if(list->begin(), list->end(), [&](const arm& a) { return a.name == name; });
    if (found != list->end()) return &*found;
  }
  return nullptr;
}

outcome play(const cell& where, std::uint64_t seed, const arm& treatment, const parameters& parameters) {
  switch (treatment.kind) {
    case arm::kind::nobody: {
      nobody with;
      return live_in(where, seed, parameters, with);
    }
    case arm::kind::control: return play_control(where, seed, parameters);
    case arm::kind::judge: {
      judge with{draws(seed)};
      return live_in(where, seed, parameters, with);
    }
    default: {
      engine_monitor with(treatment.asks);
      return live_in(where, seed, parameters, with);
    }
  }
}

}  // namespace digd::bench
