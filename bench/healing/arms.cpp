#include "bench/healing/arms.h"

#include <algorithm>
#include <functional>

#include "bench/healing/control.h"
#include "bench/healing/judge.h"
#include "engine/quote.h"

namespace digd::bench {

namespace {

constexpr const char* enforcing = "\"mode\":\"enforce\"";

// Rules that do not heal go on observing, so that all arms count the same.
regime with_rules_observing(const std::function<bool(rule_id)>& observes) {
  std::string rules;
  for (std::size_t i = 0; i < rule_count; ++i) {
    const auto id = static_cast<rule_id>(i);
    if (!observes(id)) continue;
    if (!rules.empty()) rules += ',';
    rules += '"' + std::string(to_string(id)) + "\":{\"mode\":\"observe\"}";
  }
  return std::string(enforcing) + ",\"rules\":{" + rules + '}';
}

arm with_early_termination(const std::string& name, const std::string& member) {
  return {name, arm::kind::engine, std::string(enforcing) + ",\"rules\":{\"early_termination\":{" + member + "}}"};
}

std::vector<arm> make_arms() {
  std::vector<arm> all{{"without", arm::kind::nobody, {}},
                       {"observe", arm::kind::engine, "\"mode\":\"observe\""},
                       {"control", arm::kind::control, {}},
                       {"judge", arm::kind::judge, {}},
                       {"digd", arm::kind::engine, enforcing},
                       with_early_termination("patient", "\"max_attempts\":20")};
  for (std::size_t i = 0; i < rule_count; ++i) {
    const auto one = static_cast<rule_id>(i);
    all.push_back({"only " + std::string(to_string(one)), arm::kind::engine,
                   with_rules_observing([one](rule_id id) { return id != one; })});
  }
  for (std::size_t i = 0; i < rule_count; ++i) {
    const auto one = static_cast<rule_id>(i);
    all.push_back({"all but " + std::string(to_string(one)), arm::kind::engine,
                   with_rules_observing([one](rule_id id) { return id == one; })});
  }
  return all;
}

// What early_termination said until this bench was run.
constexpr const char* earlier_text =
    "Your final answer {event} was not accepted yet: {count} of work it does not build on {are} still unresolved: {work}. "
    "Your answer is back with you as ordinary work. See to it that this work is finished, or taken in where it is obsolete, "
    "then submit an answer that is derived from all results.";
// One that asks for patience.
constexpr const char* waiting_text =
    "Your final answer {event} was not accepted yet: {count} of work it does not build on {are} still unresolved: {work}. "
    "Your answer is back with you as ordinary work. Wait for what others are working on, then submit an answer that builds "
    "on this one and on what it lacked: count nothing twice.";

std::vector<arm> make_tried() {
  return {with_early_termination("earlier text", "\"text\":" + quoted(earlier_text)),
          with_early_termination("waiting text", "\"text\":" + quoted(waiting_text)),
          with_early_termination("2 attempts", "\"max_attempts\":2"),
          with_early_termination("5 attempts", "\"max_attempts\":5"),
          with_early_termination("8 attempts", "\"max_attempts\":8"),
          with_early_termination("20 attempts", "\"max_attempts\":20")};
}

outcome live_in(const cell& where, std::uint64_t seed, const parameters& how, monitor& with) {
  return world(where, seed, how, with).live();
}

outcome play_control(const cell& where, std::uint64_t seed, const parameters& how) {
  engine_monitor digd(enforcing);
  recorder noting(digd);
  const outcome model = live_in(where, seed, how, noting);
  control with(draws(seed), noting.noted(), model.time_ms);
  return live_in(where, seed, how, with);
}

}  // namespace

const std::vector<arm>& arms() {
  static const std::vector<arm> all = make_arms();
  return all;
}

const std::vector<arm>& tried() {
  static const std::vector<arm> all = make_tried();
  return all;
}

const arm* arm_named(const std::string& name) {
  for (const std::vector<arm>* list : {&arms(), &tried()}) {
    const auto found = std::find_if(list->begin(), list->end(), [&](const arm& a) { return a.name == name; });
    if (found != list->end()) return &*found;
  }
  return nullptr;
}

outcome play(const cell& where, std::uint64_t seed, const arm& which, const parameters& how) {
  switch (which.what) {
    case arm::kind::nobody: {
      nobody with;
      return live_in(where, seed, how, with);
    }
    case arm::kind::control: return play_control(where, seed, how);
    case arm::kind::judge: {
      judge with{draws(seed)};
      return live_in(where, seed, how, with);
    }
    default: {
      engine_monitor with(which.asks);
      return live_in(where, seed, how, with);
    }
  }
}

}  // namespace digd::bench
