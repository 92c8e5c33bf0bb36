// The set-up of a simulated run: its behaviour, and the settings in the hello of each session.
#include "trace_simulator.h"

#include <algorithm>

namespace oracle {

namespace json = boost::json;

const std::vector<std::string>& trace_simulator::staff() {
  static const std::vector<std::string> names{"ada", "bob", "cy", "dee", "Eve"};
  return names;
}

const std::vector<std::string>& trace_simulator::strangers() {
  static const std::vector<std::string> names{"zed", "gh\"ost", "ñandú"};
  return names;
}

trace_simulator::trace_simulator(std::uint64_t seed, std::size_t messages)
    : dice_(seed * 0x2545f4914f6cdd1dull + 1), messages_(messages) {
  draw_behaviour(messages);
}

void trace_simulator::draw_behaviour(std::size_t messages) {
  switch (dice_.below(3)) {
    case 0:  // orderly
      behaviour_ = {4, 15, 1, 1, 2, 200, 1, messages + 1};
      break;
    case 1:  // busy
      behaviour_ = {40, 80, 4, 3, 5, 1500, 3, messages + 1};
      break;
    default:  // wild
      behaviour_ = {150, 250, 10, 12, 20, 3000, 8, messages + 1};
      break;
  }
  // Most runs should be long, so submit rarely: an answer that is let through ends judging.
  behaviour_.submit_per_mille_ += static_cast<unsigned>(dice_.below(6));
  if (dice_.percent(25)) behaviour_.submit_per_mille_ = dice_.percent(50) ? 0 : 80;
  if (dice_.percent(20)) behaviour_.jump_ms_ = 15000;
  if (dice_.percent(50) && messages > 10) behaviour_.end_at_ = messages - dice_.below(messages / 2);
  static const std::vector<ending> endings{ending::at_once, ending::at_rest, ending::waited, ending::done};
  behaviour_.ending_ = dice_.one_of(endings);
  if (dice_.percent(30)) behaviour_.fyi_percent_ = 40;
  if (dice_.percent(30)) behaviour_.long_id_percent_ = dice_.percent(50) ? 15 : 90;
  behaviour_.longest_ids_ = dice_.percent(40);
}

json::object trace_simulator::draw_rule(std::size_t index) {
  static const std::vector<const char*> modes{"off", "observe", "shadow", "enforce"};
  static const std::vector<int> windows{0, 1, 10, 100, 1000, 5000};
  const rule r = static_cast<rule>(index);
  object from;
  if (dice_.percent(18)) from["mode"] = dice_.one_of(modes);
  const bool by_time = r == rule::orphaned_event || r == rule::deadlock || r == rule::missing_termination;
  if (by_time && dice_.percent(75)) from["window_ms"] = dice_.one_of(windows);
  if ((by_time || r == rule::early_termination) && dice_.percent(50))
    from["max_attempts"] = dice_.percent(30) ? 1000 : dice_.below(4);
  if (r == rule::excessive_rerouting && dice_.percent(60)) from["max_reroutes"] = dice_.below(3);
  const bool by_kind =
      r == rule::early_termination || r == rule::cross_lineage_aggregation || r == rule::repeated_subproblem;
  if (by_kind && dice_.percent(20))
    from["kinds"] = dice_.percent(20) ? array{} : dice_.percent(50) ? array{"k1"} : array{"k2", "k1"};
  if (r == rule::early_termination && dice_.percent(40)) from["skip_repeated"] = dice_.percent(85);
  if (dice_.percent(25)) {
    array except;
    for (std::size_t i = dice_.below(4); i > 0; --i)
      except.emplace_back(dice_.percent(90) ? dice_.one_of(staff()) : dice_.one_of(strangers()));
    from["except"] = std::move(except);
  }
  return from;
}

json::object trace_simulator::draw_rules() {
  object rules;
  for (std::size_t i = 0; i < rule_count; ++i) {
    object from = draw_rule(i);
    if (!from.empty()) rules[name_of(static_cast<rule>(i))] = std::move(from);
  }
  return rules;
}

json::object trace_simulator::draw_limits() {
  static const std::vector<int> stalls{0, 5, 50, 500, 5000};
  object limits;
  if (dice_.percent(60)) limits["stalled_ms"] = dice_.one_of(stalls);
  if (dice_.percent(35)) limits["settled_events"] = dice_.percent(60) ? dice_.below(6) : dice_.below(40);
  if (dice_.percent(15)) limits["generators"] = dice_.below(3);
  return limits;
}

json::object trace_simulator::draw_healing() {
  object healing;
  if (dice_.percent(25)) healing["budget"] = dice_.percent(50) ? dice_.below(4) : dice_.below(20);
  if (dice_.percent(45)) healing["max_returns_per_agent"] = dice_.percent(65) ? dice_.below(4) : dice_.below(40);
  return healing;
}

json::object trace_simulator::draw_capabilities() {
  object capabilities;
  for (const char* name : {"inject", "reroute", "create"})
    if (dice_.percent(60)) capabilities[name] = dice_.percent(60);
  for (const char* name : {"hold", "cancel"})
    if (dice_.percent(70)) capabilities[name] = dice_.percent(90);
  return capabilities;
}

json::value trace_simulator::draw_actions(bool stall) {
  static const std::vector<const char*> of_any{"inject", "return", "return", "hold", "hold", "cancel", "observe"};
  static const std::vector<const char*> of_stall{"observe", "cancel"};
  const auto& actions = stall ? of_stall : of_any;
  if (dice_.percent(50)) return dice_.one_of(actions);
  array list;
  for (std::size_t i = 1 + dice_.below(3); i > 0; --i) list.emplace_back(dice_.one_of(actions));
  return list;
}

json::object trace_simulator::draw_guard(rule guard) {
  object from;
  auto limit = [&](const char* name, unsigned percent, std::size_t below) {
    if (dice_.percent(percent)) from[name] = dice_.below(below);
  };
  if (guard == rule::budget) {
    limit("max_tokens", 50, 40000);
    if (dice_.percent(30)) from["max_cost"] = static_cast<double>(dice_.below(4000)) / 1000;
    limit("max_model_calls", 20, 60);
    limit("max_tool_calls", 10, 60);
    limit("max_activations", 30, 60);
    limit("max_ms", 20, 4000);
    if (dice_.percent(40)) from["per"] = dice_.percent(70) ? "agent" : "run";
    if (dice_.percent(30)) from["warn_at"] = dice_.percent(50) ? 0.5 : 1.0;
  } else if (guard == rule::fan_out) {
    limit("max_depth", 60, 8);
    limit("max_outputs", 40, 5);
    limit("max_live", 40, 40);
  } else if (guard == rule::repetition) {
    limit("max_repeats", 95, 4);
    if (dice_.percent(50)) from["window"] = 1 + dice_.below(12);
  } else {
    limit("after_ms", 90, 2000);
  }
  static const std::vector<const char*> modes{"off", "observe", "shadow"};
  if (dice_.percent(12)) from["mode"] = dice_.one_of(modes);
  if (dice_.percent(20)) from["except"] = array{dice_.one_of(staff())};
  if (dice_.percent(75)) from["action"] = draw_actions(guard == rule::stall);
  return from;
}

json::object trace_simulator::draw_guards() {
  object guards;
  for (rule guard : {rule::budget, rule::fan_out, rule::repetition, rule::stall})
    if (dice_.percent(60)) guards[name_of(guard)] = draw_guard(guard);
  if (dice_.percent(80)) guards["hold_ms"] = dice_.below(dice_.percent(50) ? 200 : 5000);
  if (dice_.percent(50)) guards["on_timeout"] = dice_.percent(50) ? "return" : "release";
  return guards;
}

json::array trace_simulator::draw_agents() {
  array agents;
  const std::size_t count = dice_.percent(5) ? 0 : 2 + dice_.below(staff().size());
  for (std::size_t i = 0; i < count; ++i) agents.emplace_back(staff()[i % staff().size()]);  // may name an agent twice
  return agents;
}

void trace_simulator::send_first_hello() {
  static const std::vector<const char*> modes{"off", "observe", "shadow", "enforce"};
  const bool main_first = dice_.percent(85);
  sessions_.push_back(main_first ? "main" : "s1");
  if (dice_.percent(25)) {
    further_sessions_.push_back(main_first ? "s2" : "main");
    if (dice_.percent(50)) further_sessions_.push_back("s3");
  }
  object hello{{"type", "hello"}, {"protocol", 1}, {"run", "r1"}};
  if (!main_first || !further_sessions_.empty() || dice_.percent(50)) hello["session"] = sessions_.front();
  if (dice_.percent(75)) hello["agents"] = draw_agents();
  if (dice_.percent(30)) hello["mode"] = dice_.one_of(modes);
  hello["clock"] = "trace";
  first_rules_ = draw_rules();
  if (!first_rules_.empty()) hello["rules"] = first_rules_;
  if (object healing = draw_healing(); !healing.empty()) hello["healing"] = std::move(healing);
  if (object limits = draw_limits(); !limits.empty()) hello["limits"] = std::move(limits);
  const bool guarded = dice_.percent(50);
  if (guarded) {
    first_guards_ = draw_guards();
    if (!first_guards_.empty()) hello["guards"] = first_guards_;
  }
  if (dice_.percent(guarded ? 40 : 30)) hello["capabilities"] = draw_capabilities();
  else if (guarded) hello["capabilities"] = object{{"hold", true}, {"cancel", true}};
  send(std::move(hello));
}

// The rules of the first hello with their lists in reverse order, which is not a contradiction.
json::object trace_simulator::repeat_rules() const {
  object rules = first_rules_;
  for (auto& rule : rules)
    for (auto& setting : rule.value().as_object())
      if (setting.value().is_array())
        std::reverse(setting.value().as_array().begin(), setting.value().as_array().end());
  return rules;
}

// Sends the hello of a further session, or of a known one that reconnects.
void trace_simulator::send_further_hello() {
  const bool again = dice_.percent(20);
  const std::string name = again ? dice_.one_of(sessions_) : further_sessions_.back();
  object hello{{"type", "hello"}, {"protocol", 1}, {"run", "r1"}, {"session", name}, {"clock", "trace"}};
  if (!again) {
    if (dice_.percent(50)) hello["agents"] = draw_agents();
    if (dice_.percent(50)) hello["capabilities"] = draw_capabilities();
    further_sessions_.pop_back();
    sessions_.push_back(name);
  }
  if (dice_.percent(40)) hello["rules"] = repeat_rules();
  if (!first_guards_.empty() && dice_.percent(30)) hello["guards"] = first_guards_;
  send(std::move(hello));
}

}  // namespace oracle
