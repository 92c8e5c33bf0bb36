// digctl mcp: the Model Context Protocol on standard input and output, for coding agents that start their servers. It
// asks a daemon, with its token.
#include <iostream>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "mcp/server.h"

namespace digd::cli {

namespace {

int serve(const daemon_options& options) {
  const auto daemon = http_to("mcp", options);
  if (!daemon) return wrong_use;
  const mcp::api_call api = [&](mcp::api_request&& request, const std::function<void(mcp::api_answer&&)>& then) {
    net::http_answer answer;
    const std::string problem = daemon->ask(request.method, request.target, request.body, answer);
    if (!problem.empty()) return then({0, problem});
    then({answer.status, std::move(answer.body)});
  };
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) continue;
    mcp::answer(line, api, [](std::string&& response) {
      if (!response.empty()) std::cout << response << std::endl;
    });
  }
  return done;
}

}  // namespace

void add_mcp(CLI::App& app, int& status) {
  auto options = std::make_shared<daemon_options>();
  CLI::App* sub = app.add_subcommand("mcp", "Serves the Model Context Protocol on standard input, for coding agents");
  add_daemon_options(*sub, *options);
  sub->footer("For example: claude mcp add digd -- digctl mcp");
  sub->callback([options, &status] { status = serve(*options); });
}

}  // namespace digd::cli
