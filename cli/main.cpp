// digctl: replays and sends traces, imports logs, shows what digd saw.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <initializer_list>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "base/quote.h"
#include "cli/commands.h"
#include "cli/fleet_options.h"
#include "cli/passes.h"

namespace {

using apps = std::vector<const CLI::App*>;

apps commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// An error sentence about the first word that should be a command but is not; empty: there is none.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
  const CLI::App* at = &app;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const apps known = commands_of(*at);
    if (known.empty() || at->get_require_subcommand_min() == 0 || word.starts_with('-')) return {};
    const auto next =
        std::find_if(known.begin(), known.end(), [&](const CLI::App* app) { return app->check_name(word); });
    if (next == known.end()) {
      const auto* near =
          digd::nearest(word, known, [](const CLI::App* app) -> std::string_view { return app->get_name(); });
      return "there is no command " + digd::quoted(word) +
             (near == nullptr ? "; digctl --help lists them"
                              : "; did you mean " + digd::quoted((*near)->get_name()) + '?');
    }
    at = *next;
  }
  return {};
}

// A sentence about wrong usage of the chosen command, and where its help is.
std::string usage_problem(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* chosen = &app;
  std::string name = "digctl";
  while (!chosen->get_subcommands().empty()) {
    chosen = chosen->get_subcommands().front();
    name += ' ' + chosen->get_name();
  }
  std::string text = error.what();
  if (text == "A subcommand is required") text = "name a command";
  if (const std::vector<std::string> unknown = app.remaining(true); !unknown.empty()) {
    text = "does not take";
    for (const std::string& word : unknown) text += ' ' + digd::quoted(word);
  }
  return name + ": " + text + "\n`" + name + " --help` explains the command.";
}

// Adds commands under a heading of --help.
void add_to_group(CLI::App& app, const std::string& heading, int& status,
                  std::initializer_list<void (*)(CLI::App&, int&)> commands) {
  const apps before = commands_of(app);
  for (const auto add : commands) add(app, status);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    if (std::find(before.begin(), before.end(), command) == before.end()) command->group(heading);
  }
}

// The exit status, which is an error if the command lost a part of its output.
int end_output(int status) {
  if (std::cout.flush() || status == digd::cli::wrong_use) return status;
  std::cerr << "digctl: standard output cannot be written to\n";
  return digd::cli::wrong_use;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"digctl: shows, replays and imports the runs that digd watches"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "digctl " DIGD_VERSION);
  app.footer(
      "Machine formats go to standard output, everything else to standard error.\n"
      "Exit status: 0 success, 1 a check found what it looks for, 2 wrong usage or bad input.");
  digd::cli::add_common_fleet_options(app);
  app.parse_complete_callback([&app] {
    const CLI::App* chosen = &app;
    while (!chosen->get_subcommands().empty()) chosen = chosen->get_subcommands().front();
    if (!digd::cli::common_fleet().urls.empty() && chosen->get_option_no_throw("--fleet") == nullptr)
      throw std::runtime_error(chosen->get_name() + " reads no fleet (--fleet)");
  });
  int status = digd::cli::done;
  using namespace digd::cli;
  add_to_group(app, "Begin", status, {add_demo, add_attach});
  add_to_group(app, "Look at runs", status,
               {add_runs, add_show, add_report, add_tail, add_pilot, add_judge, add_rules, add_dashboard});
  add_to_group(app, "Operate a daemon", status,
               {add_health, add_mode, add_hold, add_guards, add_export, add_delete, add_backup, add_restore, add_token,
                add_hook, add_mcp});
  add_to_group(app, "Work with traces", status, {add_replay, add_check, add_send, add_import});
  add_to_group(app, "Find causes", status, {add_pass_commands, add_rerun});
  add_completion(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (const std::string wrong = e.get_exit_code() == 0 ? std::string() : unknown_command(app, argc, argv);
        !wrong.empty()) {
      std::cerr << "digctl: " << wrong << '\n';
      return digd::cli::wrong_use;
    }
    if (e.get_exit_code() == 0) return end_output(app.exit(e) == 0 ? digd::cli::done : digd::cli::wrong_use);
    std::cerr << usage_problem(app, e) << '\n';
    return digd::cli::wrong_use;
  } catch (const std::exception& e) {
    std::cerr << "digctl: " << e.what() << '\n';
    return digd::cli::wrong_use;
  }
  // A hook fails open: its exit status must not stop the agent.
  return app.got_subcommand("hook") ? status : end_output(status);
}
