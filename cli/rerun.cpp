// digctl rerun: proves or refutes a suspicion by running a LangGraph thread again from before the suspected step. The
// work is Python's (clients/python/src/digd/langgraph/rerun.py), in the interpreter that has the user's graph.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/daemon_options.h"
#include "cli/python.h"

namespace digd::cli {

namespace {

struct rerun_options {
  std::string run, graph, check, step, hint, hint_key = "messages", format = "table", python;
  std::size_t repetitions = 5;
};

// Replaces this process: Ctrl-C and the exit status are Python's. Returns only if that fails.
int rerun(const rerun_options& options) {
  std::vector<std::string> words{options.python,
                                 "-m",
                                 "digd.langgraph.rerun",
                                 "--graph=" + options.graph,
                                 "--check=" + options.check,
                                 "--from=" + options.step,
                                 "--hint-key=" + options.hint_key,
                                 "-n",
                                 std::to_string(options.repetitions),
                                 "--format=" + options.format};
  if (!options.hint.empty()) words.push_back("--hint=" + options.hint);
  words.insert(words.end(), {"--", options.run});
  return complain("rerun",
                  exec_program(std::move(words)) + "; --python selects an interpreter that has digd and langgraph");
}

}  // namespace

void add_rerun(CLI::App& app, int& status) {
  auto options = std::make_shared<rerun_options>();
  options->python = python_interpreter();
  CLI::App* sub = app.add_subcommand(
      "rerun", "Reruns a LangGraph thread from before a step, with and without a hint, and compares the outcomes");
  sub->add_option("THREAD", options->run, "the id of the thread in the graph's checkpointer")->required();
  sub->add_option("--from", options->step,
                  "the suspected step: its number, its node, or NODE:N for the N-th time that the node acts")
      ->required();
  sub->add_option("--hint", options->hint, "a text to add to the state before the step; default: only rerun");
  sub->add_option("--hint-key", options->hint_key, "the key of the state that receives the hint: a text or a list")
      ->capture_default_str();
  sub->add_option("--graph", options->graph,
                  "FILE.py:NAME of the compiled graph with its checkpointer, or of a function that returns it")
      ->required();
  sub->add_option("--check", options->check,
                  "FILE.py:NAME of a function that decides whether final values are a success")
      ->required();
  sub->add_option("-n", options->repetitions, "reruns of each kind; each executes the nodes again")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  sub->add_option("--format", options->format, "table for people, json for machines")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  sub->add_option("--python", options->python, "the interpreter; default: DIGD_PYTHON, else python3");
  sub->callback([options, &status] { status = rerun(*options); });
}

}  // namespace digd::cli
