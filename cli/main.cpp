// digctl: replays and plays traces, imports logs, shows what digd saw.
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>

#include "cli/commands.h"

int main(int argc, char** argv) {
  CLI::App app{"digctl: replay, import and look at what digd watches"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "digctl 0.1.0");
  app.footer("Machine formats go to standard output, all else to standard error.\n"
             "Exit status: 0 done, 1 found what it was asked to find, 2 wrong use or bad input.");
  int status = digd::cli::done;
  digd::cli::add_replay(app, status);
  digd::cli::add_show(app, status);
  digd::cli::add_runs(app, status);
  digd::cli::add_tail(app, status);
  digd::cli::add_export(app, status);
  digd::cli::add_delete(app, status);
  digd::cli::add_mode(app, status);
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
    return app.exit(e) == 0 ? digd::cli::done : digd::cli::wrong_use;
  } catch (const std::exception& e) {
    std::cerr << "digctl: " << e.what() << '\n';
    return digd::cli::wrong_use;
  }
  return status;
}
