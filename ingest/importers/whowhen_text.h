// What the text of a Who&When step says about its place in the conversation. Pure functions; the text is
// data.
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

// A Hand-Crafted role taken apart: `Orchestrator (-> WebSurfer)` is the agent `Orchestrator` addressing
// `WebSurfer`. A trailing parenthesis of any other kind is dropped from the agent's name and means nothing.
struct role_parts {
  std::string_view agent;
  std::string_view addressee;  // empty: none
  step_form form = step_form::plain;
};
role_parts parse_role(std::string_view role);

// "There is no code from the last 1 message for me to execute …": what AutoGen's terminal says when it is
// given the word and has nothing to run. It takes nothing up and asks nothing.
bool is_no_code_notice(std::string_view text);

// A code executor's report ("exitcode: …"): tells which agent runs code.
bool is_execution_report(std::string_view text);

bool has_code_block(std::string_view text);

// Ends with a bare TERMINATE (emphasis and full stops around it allowed, quotes not: those speak about it).
bool ends_with_terminate(std::string_view text);

// Has a line that begins with `FINAL ANSWER:`.
bool has_final_answer(std::string_view text);

// Those of `names` whom the text addresses: the name at the start of a line or sentence and a comma behind it
// (`Computer_terminal, please …`), or `@name`. In the order of `names`, without `speaker`.
std::vector<std::string_view> addressed_names(std::string_view text, const std::vector<std::string_view>& names,
                                              std::string_view speaker);

}  // namespace digd::importers
