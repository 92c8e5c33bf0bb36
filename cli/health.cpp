// digctl health: whether a daemon answers and is well. For health checks of containers, which have no HTTP client.
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/printable.h"

namespace digd::cli {

namespace {

int check(const daemon_options& options) {
  const auto daemon = http_to("health", options);
  if (!daemon) return wrong_use;
  net::http_answer answer;
  if (const std::string problem = daemon->get("/healthz", answer); !problem.empty()) return complain("health", problem);
  std::cout << printable(answer.body) << '\n';
  return answer.good() ? done : found;
}

}  // namespace

void add_health(CLI::App& app, int& status) {
  auto options = std::make_shared<daemon_options>();
  CLI::App* sub = app.add_subcommand("health", "Checks the health of a daemon; needs no token");
  add_daemon_options(*sub, *options);
  sub->footer("Exit status: 0 healthy, 1 not healthy, 2 no answer.");
  sub->callback([options, &status] { status = check(*options); });
}

}  // namespace digd::cli
