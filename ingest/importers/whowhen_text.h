// Classifies a Who&When step by its text: its kind, addressees, and end of the run. Pure functions; the text is data.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace digd::importers {

enum class step_form {
  plain,        // an agent's turn
  human,        // the user's: a root event, no activation
  thought,      // `Orchestrator (thought)`: plan, ledger, "Next speaker …"
  termination,  // `Orchestrator (termination condition)`
};

// A Hand-Crafted role taken apart: `Orchestrator (-> WebSurfer)` is the agent `Orchestrator` addressing `WebSurfer`.
// Any other parenthesis at the end is removed from the agent's name and ignored.
struct role_parts {
  std::string_view agent;
  std::string_view addressee;  // empty: none
  step_form form = step_form::plain;
};
role_parts parse_role(std::string_view role);

// "There is no code from the last 1 message for me to execute …": the reply of AutoGen's terminal when it has the turn
// and finds no code to run. The reply handles nothing and requests nothing.
bool is_no_code_notice(std::string_view text);

// A code executor's report ("exitcode: …"). It shows which agent runs code.
bool is_execution_report(std::string_view text);

bool has_code_block(std::string_view text);

// Ends with a bare TERMINATE (with emphasis or full stops around it, but not in quotes: a quoted word is only
// mentioned).
bool ends_with_terminate(std::string_view text);

// Has a line that begins with `final answer:` or `the final answer is`, in any case, a heading `Final answer`, or a
// `\boxed{…}`.
bool has_final_answer(std::string_view text);

// Those of `names` whom the text addresses: the name at the start of a line or sentence and a comma behind it
// (`Computer_terminal, please …`), or `@name`. In the order of `names`, without `speaker`.
std::vector<std::string_view> addressed_names(std::string_view text, const std::vector<std::string_view>& names,
                                              std::string_view speaker);

}  // namespace digd::importers
