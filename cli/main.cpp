// digctl: replays and sends traces, imports logs, shows what digd saw.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "base/quote.h"
#include "cli/commands.h"

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

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"digctl: replay, import and look at what digd watches"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "digctl " DIGD_VERSION);
  app.footer(
      "Machine formats go to standard output, all else to standard error.\n"
      "Exit status: 0 done, 1 found what it was asked to find, 2 wrong use or bad input.");
  int status = digd::cli::done;
  digd::cli::add_demo(app, status);
  digd::cli::add_replay(app, status);
  digd::cli::add_show(app, status);
  digd::cli::add_report(app, status);
  digd::cli::add_runs(app, status);
  digd::cli::add_tail(app, status);
  digd::cli::add_export(app, status);
  digd::cli::add_delete(app, status);
  digd::cli::add_pilot(app, status);
  digd::cli::add_judge(app, status);
  digd::cli::add_mode(app, status);
  digd::cli::add_health(app, status);
  digd::cli::add_import(app, status);
  digd::cli::add_send(app, status);
  digd::cli::add_rules(app, status);
  digd::cli::add_token(app, status);
#ifdef DIGD_ANALYSIS
  digd::cli::add_causal(app, status);
  digd::cli::add_attribute_chief(app, status);
  digd::cli::add_eval(app, status);
  digd::cli::add_attribute_shapley(app, status);
#endif
  digd::cli::add_completion(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (const std::string wrong = e.get_exit_code() == 0 ? std::string() : unknown_command(app, argc, argv);
        !wrong.empty()) {
      std::cerr << "digctl: " << wrong << '\n';
      return digd::cli::wrong_use;
    }
    return app.exit(e) == 0 ? digd::cli::done : digd::cli::wrong_use;
  } catch (const std::exception& e) {
    std::cerr << "digctl: " << e.what() << '\n';
    return digd::cli::wrong_use;
  }
  return status;
}
