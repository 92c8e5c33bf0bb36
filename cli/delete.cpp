// digctl delete RUN: removes a run permanently.
#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>

#include "base/quote.h"
#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/progress.h"

namespace digd::cli {

namespace {

struct delete_options {
  std::string run;
  bool yes = false;
  daemon_options daemon;
};

bool agrees(const std::string& run) {
  std::cerr << "Delete run " << digd::quoted(run) << " permanently? Its clients are disconnected. [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

int remove(const delete_options& options) {
  const auto daemon = http_to("delete", options.daemon);
  if (!daemon) return wrong_use;
  if (!options.yes) {
    if (::isatty(STDIN_FILENO) != 1) return complain("delete", "not a terminal; pass --yes to skip the confirmation");
    if (!agrees(options.run)) return complain("delete", "nothing was deleted");
  }
  net::http_answer answer;
  const std::string why =
      show_while({.name = "deleting"}, [&] { return daemon->ask("DELETE", run_path(options.run), {}, answer); });
  if (!why.empty()) return complain("delete", why);
  if (!answer.good()) return complain("delete", complaint_of(*daemon, answer));
  std::cerr << "Run " << digd::quoted(options.run) << " is deleted.\n";
  return done;
}

}  // namespace

void add_delete(CLI::App& app, int& status) {
  auto options = std::make_shared<delete_options>();
  CLI::App* sub = app.add_subcommand("delete", "Deletes a run permanently from the archive");
  sub->add_option("RUN", options->run, "the run's id")->required();
  sub->add_flag("-y,--yes", options->yes, "skip the confirmation; required without a terminal");
  add_daemon_options(*sub, options->daemon);
  sub->callback([options, &status] { status = remove(*options); });
}

}  // namespace digd::cli
