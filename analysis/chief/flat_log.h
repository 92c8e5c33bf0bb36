// A run as one list of steps: what every method of attribution here reads. It comes from a Who&When log
// (analysis/whowhen/dataset.h) or from a digd trace or archive (trace_log.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace digd::chief {

// What a step is in the conversation, by its role and the shape of its text.
enum class step_form {
  human,        // the user
  turn,         // an agent speaks or acts
  execution,    // what running code printed ("exitcode: …")
  notice,       // a terminal that has nothing to run
  plan,         // a planner's plan, also a new one
  assessment,   // a planner's ledger: what is known, what is next
  selection,    // a planner names the next speaker, nothing else
  instruction,  // a planner addresses an executor
  replan,       // a planner gives up on its plan
  note,         // a planner's other thoughts
  ending,       // the runner says why it stopped
};

enum class execution_state { none, ok, empty, failed };

struct flat_step {
  std::string agent;
  std::string text;
  std::vector<std::string> to;  // addressed agents, if the log says so
  bool thought = false;         // addressed to nobody, asks nothing
  step_form form = step_form::turn;
  execution_state execution = execution_state::none;  // for `execution` and for reports that say they failed
  // Where there is a DIG: the branch of the problem-generating activation that the step descends from, 0 for none;
  // and the steps whose events its activation used.
  std::size_t branch = 0;
  std::vector<std::size_t> inputs;
  std::string event;  // its id in the run; empty in a Who&When log, and for an activation that failed
};

struct flat_log {
  std::string id;
  std::string question;
  std::vector<flat_step> steps;  // in order; a step is named by its index
  bool has_dig = false;          // branches and inputs are those of a DIG
  // A planner speaks to executors one at a time (instructions with an addressee), not all to all.
  bool orchestrated = false;
  std::string planner;       // if orchestrated
  std::size_t left_out = 0;  // lines of a trace that digd would refuse
};

inline constexpr std::size_t max_steps = 100'000;

// Sets the forms, `orchestrated` and `planner` from agents, addressees and texts. Called by every reader.
void recognise_forms(flat_log&);

// Whether a step can be blamed: somebody's own act, not the user's, a terminal's echo or the runner's.
bool can_be_blamed(const flat_log&, std::size_t step);

// A code executor's output taken apart; `none` if the text is no such output.
execution_state execution_of(std::string_view text);

// An agent whose name says that it checks others.
bool is_verifier(std::string_view agent);

}  // namespace digd::chief
