// digctl delete RUN: removes a run permanently.
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/quote.h"
#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/fleet.h"
#include "cli/progress.h"

namespace digd::cli {

namespace json = boost::json;

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

// The fleet knows the run by its archive and number. Returns an error sentence; empty on success.
std::string number_of_run(daemon_client& daemon, const std::string& run, std::string& number) {
  net::http_answer answer;
  if (std::string problem = daemon.get(run_path(run), answer); !problem.empty()) return problem;
  if (!answer.good()) return complaint_of(daemon, answer);
  json::error_code ec;
  const json::value whole = json::parse(answer.body, ec);
  const json::value* found = !ec && whole.is_object() ? whole.get_object().if_contains("number") : nullptr;
  if (found == nullptr || !found->is_int64()) return "the answer has no number of the run; is that digd?";
  number = std::to_string(found->get_int64());
  // Only the run's home can delete it everywhere: another daemon would delete only its own copy.
  const json::value* home = whole.get_object().if_contains("home");
  const json::value* here = home != nullptr && home->is_object() ? home->get_object().if_contains("here") : nullptr;
  if (here == nullptr || !here->is_bool() || here->get_bool()) return {};
  const json::value* url = home->get_object().if_contains("url");
  const bool is_known = url != nullptr && url->is_string();
  return "the run has its home elsewhere; delete it there" +
         (is_known ? ": --to " + digd::quoted(url->get_string()) : std::string());
}

// Finds TENANT/ARCHIVE/NUMBER of each archive in the fleet that has a run of that id and number. Returns an error
// sentence unless there is exactly one.
std::string find_in_fleet(const fleet_options& fleet, daemon_client& daemon, const std::string& run,
                          std::vector<std::string>& keys) {
  std::string number;
  if (std::string problem = number_of_run(daemon, run, number); !problem.empty()) return problem;
  std::vector<std::string> words = fleet_words("find-run", fleet);
  words.push_back("--run=" + run);
  words.push_back("--run-number=" + number);
  fleet_lines found;
  if (std::string problem = found.start(words); !problem.empty()) return problem;
  for (std::string_view line; found.next(line);) keys.emplace_back(line);
  if (std::string problem = found.finish(); !problem.empty()) return problem;
  return keys.size() == 1 ? std::string()
                          : "the fleet has " + std::to_string(keys.size()) + " runs " + digd::quoted(run) +
                                " with the number " + number + "; nothing was deleted";
}

// Replaces this process with one that waits until collectors have removed the run from the Parquet files and the
// stream.
int wait_for_fleet(const fleet_options& fleet, const std::vector<std::string>& keys) {
  std::vector<std::string> words = fleet_words("wait-deleted", fleet);
  words.insert(words.end(), keys.begin(), keys.end());
  return exec_fleet_program("delete", std::move(words));
}

int remove(const delete_options& options) {
  auto daemon = http_to("delete", options.daemon);
  if (!daemon) return wrong_use;
  if (!options.yes) {
    if (::isatty(STDIN_FILENO) != 1) return complain("delete", "not a terminal; pass --yes to skip the confirmation");
    if (!agrees(options.run)) return complain("delete", "nothing was deleted");
  }
  const fleet_options fleet = effective_fleet(options.daemon.fleet);
  std::vector<std::string> keys;
  if (!fleet.urls.empty()) {
    if (const std::string problem = find_in_fleet(fleet, *daemon, options.run, keys); !problem.empty())
      return complain("delete", problem);
  }
  net::http_answer answer;
  const std::string problem =
      show_while({.name = "deleting"}, [&] { return daemon->ask("DELETE", run_path(options.run), {}, answer); });
  if (!problem.empty()) return complain("delete", problem);
  if (!answer.good()) return complain("delete", complaint_of(*daemon, answer));
  std::cerr << "Run " << digd::quoted(options.run) << " is deleted"
            << (fleet.urls.empty() ? ".\n" : " in the daemon.\n");
  return fleet.urls.empty() ? done : wait_for_fleet(fleet, keys);
}

}  // namespace

void add_delete(CLI::App& app, int& status) {
  auto options = std::make_shared<delete_options>();
  CLI::App* sub = app.add_subcommand("delete", "Deletes a run permanently from the archive");
  sub->add_option("RUN", options->run, "the run's id")->required();
  sub->add_flag("-y,--yes", options->yes, "skip the confirmation; required without a terminal");
  add_daemon_options(*sub, options->daemon);
  add_fleet_options(*sub, options->daemon.fleet);
  sub->callback([options, &status] { status = remove(*options); });
}

}  // namespace digd::cli
