#include "bench/healing/arms.h"

#include <algorithm>

#include "bench/healing/control.h"
#include "bench/healing/judge.h"

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

std::vector<arm> make_arms() {
  std::vector<arm> all{{"without", arm::kind::nobody, {}},
                       {"observe", arm::kind::engine, "\"mode\":\"observe\""},
                       {"control", arm::kind::control, {}},
                       {"judge", arm::kind::judge, {}},
                       {"digd", arm::kind::engine, enforcing}};
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

const arm* arm_named(const std::string& name) {
  const auto found = std::find_if(arms().begin(), arms().end(), [&](const arm& a) { return a.name == name; });
  return found == arms().end() ? nullptr : &*found;
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
