// digctl work: does the tasks of passes over a fleet, as `digctl attribute chief --on-workers` makes them.
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/fleet.h"

namespace digd::cli {

namespace {

struct work_options {
  fleet_options fleet;
  unsigned tasks = 1, tries = 5, task_seconds = 3600, lost_seconds = 300;
  bool until_empty = false;
};

int work(const work_options& options) {
  const fleet_options fleet = effective_fleet(options.fleet);
  if (fleet.urls.empty()) {
    return complain("work", "name the fleet's files and its stream with --fleet");
  }
  std::vector<std::string> words = fleet_words("work", fleet);
  words.push_back("--digctl=" + digctl_path());
  words.push_back("--tasks=" + std::to_string(options.tasks));
  words.push_back("--tries=" + std::to_string(options.tries));
  words.push_back("--task-seconds=" + std::to_string(options.task_seconds));
  words.push_back("--lost-seconds=" + std::to_string(options.lost_seconds));
  if (options.until_empty) words.push_back("--until-empty");
  return exec_fleet_program("work", std::move(words));
}

}  // namespace

void add_work(CLI::App& app, int& status) {
  auto options = std::make_shared<work_options>();
  CLI::App* sub = app.add_subcommand("work", "Does tasks of passes over a fleet (--on-workers), until it is stopped");
  sub->add_option("--tasks", options->tasks, "tasks at once")->check(CLI::Range(1, 256))->capture_default_str();
  sub->add_option("--tries", options->tries, "starts of a task that fails or ends its worker, before it is set aside")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  sub->add_option("--task-seconds", options->task_seconds, "time limit of a task")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  sub->add_option("--lost-seconds", options->lost_seconds, "stop after this time without an answer of NATS")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  sub->add_flag("--until-empty", options->until_empty, "stop once there are no tasks");
  add_fleet_access(*sub, options->fleet);
  sub->callback([options, &status] { status = work(*options); });
}

}  // namespace digd::cli
