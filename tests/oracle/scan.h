// The questions of semantics.md, each answered by looking through everything recorded.
#pragma once

#include "model.h"

namespace oracle {

std::optional<std::size_t> find_event(const history& h, const std::string& id);
std::optional<std::size_t> find_activation(const history& h, const std::string& id);

bool is_work(const event_record& e);
bool is_pending(const event_record& e);
bool is_pending_for(const event_record& e, const std::string& agent);
bool in_roster(const history& h, const std::string& agent);

// R, as indices of events.
std::vector<std::size_t> reachable_work(const history& h);

// All events from which there is a path to `event`.
std::set<std::size_t> ancestors(const history& h, std::size_t event);

// Outputs that ask nothing of anybody are not counted.
bool is_generating(const history& h, const activation_record& v);
bool is_reducing(const history& h, const activation_record& v);
bool is_consumed(const history& h, std::size_t event);
bool consumed_by(const activation_record& v, std::size_t event);
std::int64_t reroute_acts(const history& h, std::size_t event);
bool input_of_open_activation(const history& h, std::size_t event);
std::size_t active_count(const history& h);

mode effective_mode(const history& h, rule r);
const rule_settings& settings_of(const history& h, rule r);

bool deadlock_holds(const history& h);
bool missing_termination_holds(const history& h);
bool orphan_holds(const history& h, std::size_t event);

}  // namespace oracle
