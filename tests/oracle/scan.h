// The definitions of docs/rules.md as functions that scan the whole history.
#pragma once

#include "model.h"

namespace oracle {

std::optional<std::size_t> find_event(const history& h, const std::string& id);
std::optional<std::size_t> find_activation(const history& h, const std::string& id);

bool is_work(const event_record& e);
bool is_pending(const event_record& e);
bool is_pending_for(const event_record& e, const std::string& agent);
bool in_roster(const history& h, const std::string& agent);

// Returns indices of events.
std::vector<std::size_t> reachable_work(const history& h);

// Returns the events from which a path leads to `event`.
std::set<std::size_t> ancestors(const history& h, std::size_t event);

// Fyi outputs are not counted.
bool is_generating(const history& h, const activation_record& v);
bool is_reducing(const history& h, const activation_record& v);
bool is_consumed(const history& h, std::size_t event);
bool consumed_by(const activation_record& v, std::size_t event);
std::int64_t reroute_acts(const history& h, std::size_t event);
bool input_of_open_activation(const history& h, std::size_t event);
std::size_t active_count(const history& h);

mode effective_mode(const history& h, rule r);
const rule_settings& settings_of(const history& h, rule r);

bool hold_open(const history& h);
int depth_of(const history& h, std::size_t event);

bool deadlock_holds(const history& h);
bool missing_termination_holds(const history& h);
bool orphan_holds(const history& h, std::size_t event);

}  // namespace oracle
