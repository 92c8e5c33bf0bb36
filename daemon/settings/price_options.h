// The section [prices] of the configuration: what tokens of a model cost (docs/guards.md). Pure functions.
#pragma once

#include <toml++/toml.h>

#include <boost/json/object.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/settings/config.h"

namespace digd::daemon {

inline constexpr std::string_view prices_meaning =
    "What tokens cost, in your own currency, for a million tokens; one section for each model. digd computes the cost "
    "of a message from these if its client reports tokens and no cost. Quote the model's name as the client reports "
    "it; \"*\" stands for all other models. By default there are none. A change takes effect for new runs after a "
    "reload.";

// Reads the section; calls `wrong` with the place and the text of each problem.
void load_prices(const toml::node& from, config& into,
                 const std::function<void(toml::source_position, const std::string&)>& wrong);

// As TOML; empty if there are none.
std::string shown_prices(const config& c);
boost::json::object prices_schema();

}  // namespace digd::daemon
