// The subcommands of digctl. Each adds its options to the app and returns its exit status through `status`:
// 0 success, 1 `check` failed or there is a detection that `--fail-on` asks for, 2 wrong use or bad input.
#pragma once

#include <CLI/CLI.hpp>

namespace digd::cli {

inline constexpr int done = 0;
inline constexpr int found = 1;
inline constexpr int wrong_use = 2;

void add_attach(CLI::App& app, int& status);
void add_backup(CLI::App& app, int& status);
void add_causal(CLI::App& app, int& status);
void add_attribute_chief(CLI::App& app, int& status);  // shares `attribute` with other methods
void add_attribute_shapley(CLI::App& app, int& status);
void add_eval(CLI::App& app, int& status);  // and chief-train
void add_check(CLI::App& app, int& status);
void add_rerun(CLI::App& app, int& status);
void add_completion(CLI::App& app, int& status);
void add_dashboard(CLI::App& app, int& status);  // of a fleet
void add_delete(CLI::App& app, int& status);
void add_demo(CLI::App& app, int& status);
void add_export(CLI::App& app, int& status);
void add_guards(CLI::App& app, int& status);
void add_health(CLI::App& app, int& status);
void add_hold(CLI::App& app, int& status);
void add_hook(CLI::App& app, int& status);
void add_import(CLI::App& app, int& status);
void add_import_logs(CLI::App& import, int& status);
void add_import_otlp(CLI::App& import, int& status);
void add_judge(CLI::App& app, int& status);
void add_mcp(CLI::App& app, int& status);
void add_mode(CLI::App& app, int& status);
void add_pilot(CLI::App& app, int& status);
void add_replay(CLI::App& app, int& status);
void add_report(CLI::App& app, int& status);
void add_restore(CLI::App& app, int& status);
void add_rules(CLI::App& app, int& status);
void add_runs(CLI::App& app, int& status);
void add_send(CLI::App& app, int& status);
void add_show(CLI::App& app, int& status);
void add_tail(CLI::App& app, int& status);
void add_token(CLI::App& app, int& status);
void add_work(CLI::App& app, int& status);  // does the tasks of passes over a fleet

}  // namespace digd::cli
