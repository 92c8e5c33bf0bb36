// A flat log: a run as one list of steps, the input of every attribution method here.
//
// It comes from a Who&When log (analysis/whowhen/dataset.h) or from a digd trace or archive (trace_log.h). Bounds:
// `max_steps`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace digd::chief {

// The kind of a step, recognised by its role and the form of its text.
enum class step_form {
  human,        // the user
  turn,         // an agent speaks or acts
  execution,    // what running code printed ("exitcode: …")
  notice,       // a terminal that has nothing to run
  plan,         // a planner's plan or new plan
  assessment,   // a planner's ledger: what is known, what is next
  selection,    // a planner only names the next speaker
  instruction,  // a planner addresses an executor
  replan,       // a planner gives up on its plan
  note,         // a planner's other thoughts
  ending,       // the runner says why it stopped
};

// The frameworks that have trained evaluators of their own. The logs of all other frameworks are judged by evaluators
// that need only what every framework's log shows.
enum class known_framework { none, captain_agent, magentic_one };
std::string_view to_string(known_framework);

enum class execution_state { none, ok, empty, failed };

struct flat_step {
  std::string agent;
  std::string text;
  std::vector<std::string> to;  // addressed agents, if the log names them
  bool thought = false;         // addressed to nobody
  step_form form = step_form::turn;
  execution_state execution = execution_state::none;  // for `execution` and for failed activations
  // With a DIG: the branch (number of the problem-generating activation that the step descends from, 0 for none), and
  // the steps whose events the activation used.
  std::size_t branch = 0;
  std::vector<std::size_t> inputs;
  std::string event;  // id of the event; empty in a Who&When log and for a failed activation
  // In a trace: the number of the step's activation among those of its agent, from 1. 0: not known.
  std::size_t activation_number = 0;
};

struct flat_log {
  std::string id;
  std::string question;
  std::vector<flat_step> steps;  // a step is named by its index
  bool has_dig = false;          // whether `branch` and `inputs` are known
  // Whether a planner instructs executors one at a time; otherwise all speak to all.
  bool orchestrated = false;
  std::string planner;  // if orchestrated
  known_framework framework = known_framework::none;
  std::string outcome;       // of the run, if a trace has its end: "success", "failure", "aborted"
  std::size_t left_out = 0;  // lines of a trace that digd would refuse
};

inline constexpr std::size_t max_steps = 100'000;

// Sets the forms, `framework`, `orchestrated` and `planner` from agents, addressees and texts. Every reader calls it
// last.
void recognise_forms(flat_log&);

// Whether a step can be blamed: an agent's own act, not a step of the user, a terminal or the runner.
bool can_be_blamed(const flat_log&, std::size_t step);

// The state that a code executor's output reports; `none` if the text is not such an output.
execution_state execution_of(std::string_view text);

// Whether the name of an agent says that it checks others.
bool is_verifier(std::string_view agent);

// By step: the similarity (0 to 1) of an instruction with the one before it; 0 for other steps and the first one.
std::vector<double> likeness_of_instructions(const flat_log&);

}  // namespace digd::chief
