// digctl delete RUN: for good.
#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "engine/quote.h"

namespace digd::cli {

namespace {

struct delete_options {
  std::string run;
  bool yes = false;
  daemon_options daemon;
};

bool agrees(const std::string& run) {
  std::cerr << "Delete run " << digd::quoted(run) << " for good? Its clients are disconnected. [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

int remove(const delete_options& how) {
  const auto daemon = http_to("delete", how.daemon);
  if (!daemon) return wrong_use;
  if (!how.yes) {
    if (::isatty(STDIN_FILENO) != 1) return complain("delete", "nobody is there to be asked; say --yes to delete for good");
    if (!agrees(how.run)) return complain("delete", "nothing was deleted");
  }
  ingest::http_answer answer;
  if (const std::string why = daemon->ask("DELETE", run_path(how.run), {}, answer); !why.empty()) return complain("delete", why);
  if (!answer.good()) return complain("delete", complaint_of(*daemon, answer));
  std::cerr << "Run " << digd::quoted(how.run) << " is deleted.\n";
  return done;
}

}  // namespace

void add_delete(CLI::App& app, int& status) {
  auto how = std::make_shared<delete_options>();
  CLI::App* sub = app.add_subcommand("delete", "Deletes a run for good: nothing of it stays in the archive");
  sub->add_option("RUN", how->run, "the run's id")->required();
  sub->add_flag("-y,--yes", how->yes, "without asking; needed where there is no terminal");
  add_daemon_options(*sub, how->daemon);
  sub->callback([how, &status] { status = remove(*how); });
}

}  // namespace digd::cli
