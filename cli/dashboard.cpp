// digctl --fleet URL dashboard: a private digd that shows a fleet (docs/fleet.md), until Ctrl-C.
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/fleet_options.h"
#include "cli/private_daemon.h"

namespace digd::cli {

namespace {

struct dashboard_options {
  std::string listen = "127.0.0.1:7345", config;
  bool no_open = false;
  fleet_options fleet;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::vector<std::pair<std::string, std::string>> variables_of(const fleet_options& fleet) {
  std::string view = "[";
  for (const std::string& url : fleet.urls) view += (view.size() == 1 ? "" : ", ") + digd::quoted(url);
  std::vector<std::pair<std::string, std::string>> variables{{"DIGD_FLEET__VIEW", view + "]"}};
  for (const auto& [name, value] : {std::pair{"DIGD_FLEET__CREDENTIALS", fleet.credentials},
                                    {"DIGD_FLEET__CA", fleet.authority},
                                    {"DIGD_PYTHON", variable("DIGD_PYTHON")}}) {
    if (!value.empty()) variables.emplace_back(name, value);
  }
  return variables;
}

int show(const dashboard_options& options) {
  const fleet_options fleet = effective_fleet(options.fleet);
  if (fleet.urls.empty()) {
    return complain("dashboard", "name a fleet: --fleet URL. A daemon serves its own dashboard at its address");
  }
  private_daemon daemon("dashboard");  // ends before its folder is removed
  stop_signals signals;
  const std::string problem =
      daemon.start({.listen = options.listen, .config = options.config, .variables = variables_of(fleet)}, signals);
  if (signals.arrived()) return done;
  if (!problem.empty()) return complain("dashboard", problem);
  std::cerr << "The fleet is at " << daemon.url() << " until you press Ctrl-C.\n";
  if (!options.no_open) open_page(daemon.url());
  while (!signals.arrived()) {
    if (const std::string ended = daemon.problem(); !ended.empty()) return complain("dashboard", ended);
  }
  return done;
}

}  // namespace

void add_dashboard(CLI::App& app, int& status) {
  auto options = std::make_shared<dashboard_options>();
  CLI::App* sub = app.add_subcommand("dashboard", "Serves the dashboard of a fleet, until Ctrl-C");
  sub->add_option("--listen", options->listen, "the address of the page; other machines need tokens (--config)")
      ->capture_default_str();
  sub->add_option("--config", options->config, "a configuration of digd, for tokens and TLS");
  sub->add_flag("--no-open", options->no_open, "do not open the page in a browser");
  add_fleet_access(*sub, options->fleet);
  sub->callback([options, &status] { status = show(*options); });
}

}  // namespace digd::cli
