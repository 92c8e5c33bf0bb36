// Hook calls of coding agents. The first line is the name of the program; each further line is a call. The engine gets
// the messages that they make.
#include "tests/fuzz/target.h"
#include "tests/ingest/hooks/hook_player.h"

using namespace digd;
using digd::fuzz::must;

namespace {

run_policy guarded() {
  run_policy policy;
  policy.defaults.guards.max_repeats = 2;
  policy.defaults.guards.max_outputs = 3;
  policy.defaults.guards.max_depth = 3;
  return policy;
}

void check_answer(const tests::hook_player::played& played, std::string_view body) {
  if (played.is_refused) return must(!played.problem.message.empty(), "a refused call has a reason", body);
  must(fuzz::is_json(played.answer), "the answer of a hook is JSON", played.answer);
  const hooks::call& call = played.call;
  must(!call.session.empty() && call.session.size() <= hooks::call::max_session_bytes, "a session's id is bounded",
       body);
  for (const std::string* id : {&call.agent, &call.prompt_id, &call.tool_use, &call.target, &call.bound_agent}) {
    must(id->size() <= hooks::call::max_id_bytes, "ids are bounded", *id);
  }
  must(call.text.size() <= hooks::call::max_text_bytes, "texts are bounded", body);
  must(call.results_of.size() <= hooks::call::max_results, "results are bounded", body);
}

}  // namespace

FUZZ_TARGET(hooks) {
  std::string_view rest = fuzz::text_of(data, size), line;
  if (!fuzz::take_line(rest, line)) return 0;
  const bool has_guards = line.ends_with('!');
  if (has_guards) line.remove_suffix(1);
  const hooks::dialect* as = hooks::find_dialect(line);
  if (as == nullptr) return 0;
  tests::hook_player player(*as, "enforce", has_guards ? guarded() : run_policy());
  while (fuzz::take_line(rest, line)) {
    check_answer(player.play(line), line);
    for (const std::string& problem : player.refused())
      must(false, "the engine refuses no message of a session", problem);
  }
  return 0;
}
