#include "bench/healing/arms.h"

#include <algorithm>
#include <functional>

#include "base/json_writer.h"
#include "bench/healing/judge.h"
#include "rules/rule.h"

namespace digd::bench {

namespace {

constexpr const char* enforcing = "\"mode\":\"enforce\"";
constexpr int usual_returns = 3;  // the default `max_attempts` of early termination
constexpr int many_returns = 15;

// Rules that do not heal still observe, so that all arms count the same detections. `early_termination` is a setting of
// that rule.
regime with_rules_observing(const std::function<bool(rule_id)>& observes, const std::string& early_termination = {}) {
  std::string members;
  json_writer to(members);
  to.raw(enforcing).key("rules").open_object();
  if (!early_termination.empty()) to.raw(early_termination);
  for (std::size_t i = 0; i < failure_rule_count; ++i) {
    const auto id = static_cast<rule_id>(i);
    if (observes(id)) to.key(to_string(id)).open_object().key("mode").text("observe").close_object();
  }
  to.close_object();
  return members;
}

std::vector<arm> make_arms() {
  std::vector<arm> arms{{"plain", arm::kind::nobody},
                        {"observe", arm::kind::engine, "\"mode\":\"observe\""},
                        {"enforce", arm::kind::engine, enforcing},
                        {"blind", arm::kind::blind, {}, usual_returns},
                        {"random", arm::kind::random},
                        {"judge", arm::kind::judge}};
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
  arms.push_back({"enforce, 15 returns", arm::kind::engine,
                  std::string(enforcing) +
                      ",\"rules\":{\"early_termination\":{\"max_attempts\":" + std::to_string(many_returns) + "}}"});
  arms.push_back({"blind, 15 returns", arm::kind::blind, {}, many_returns});
  return arms;
}

constexpr const char* selective = "\"early_termination\":{\"skip_repeated\":true}";

std::vector<arm> make_second_round() {
  std::vector<arm> chosen;
  for (const char* name : {"plain", "observe", "enforce", "blind", "only early_termination"})
    chosen.push_back(*std::find_if(arms().begin(), arms().end(), [&](const arm& a) { return a.name == name; }));
  chosen.push_back(
      {"observe, selective", arm::kind::engine, std::string("\"mode\":\"observe\",\"rules\":{") + selective + '}'});
  chosen.push_back({"only early_termination, selective", arm::kind::engine,
                    with_rules_observing([](rule_id id) { return id != rule_id::early_termination; }, selective)});
  chosen.push_back(
      {"enforce, selective", arm::kind::engine, with_rules_observing([](rule_id) { return false; }, selective)});
  chosen.push_back({"blind and all but early_termination", arm::kind::blind,
                    with_rules_observing([](rule_id id) { return id == rule_id::early_termination; }), usual_returns});
  return chosen;
}

outcome live_in(const cell& where, std::uint64_t seed, const parameters& parameters, monitor& with) {
  return world(where, seed, parameters, with).live();
}

outcome play_random(const cell& where, std::uint64_t seed, const parameters& parameters) {
  engine_monitor digd(enforcing);
  recorder noting(digd);
  const outcome model = live_in(where, seed, parameters, noting);
  random_texts with(draws(seed), noting.noted(), model.time_ms);
  return live_in(where, seed, parameters, with);
}

}  // namespace

const std::vector<arm>& arms() {
  static const std::vector<arm> arms = make_arms();
  return arms;
}

const std::vector<arm>& second_round_arms() {
  static const std::vector<arm> arms = make_second_round();
  return arms;
}

const arm* arm_named(const std::string& name) {
  const auto is_named = [&](const arm& a) { return a.name == name; };
  if (const auto found = std::find_if(arms().begin(), arms().end(), is_named); found != arms().end()) return &*found;
  const std::vector<arm>& later = second_round_arms();
  const auto found = std::find_if(later.begin(), later.end(), is_named);
  return found == later.end() ? nullptr : &*found;
}

outcome play(const cell& where, std::uint64_t seed, const arm& treatment, const parameters& parameters) {
  switch (treatment.kind) {
    case arm::kind::nobody: {
      nobody with;
      return live_in(where, seed, parameters, with);
    }
    case arm::kind::blind: {
      if (treatment.asks.empty()) {
        blind_guard with(treatment.max_returns);
        return live_in(where, seed, parameters, with);
      }
      blind_guard with(treatment.max_returns, treatment.asks);
      return live_in(where, seed, parameters, with);
    }
    case arm::kind::random: return play_random(where, seed, parameters);
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
