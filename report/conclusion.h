// What attribution says of a run: whom it names, if anybody, how sure it is, and what to try. The only place that
// decides whether to blame; the report, the run page and `digctl attribute chief` print its words.
//
//   const conclusion said = conclude(seen, parts);   // a report, with the parts of the attribution methods
//   said.words;                                      // "Most likely Clerk, step 3: “…”. Confidence: low (7 %; …"
//   if (said.verdict == conclusion::kind::suspect)   // only then `agent`, `place`, `quote`, … name somebody
//
// Somebody is named only with supporting evidence: a proven contradiction, a Shapley value above 0 and above its noise,
// or a calibrated probability with at least one accusing observation. A Shapley value names nobody if an importer
// guessed who got which event. Nobody is named in a run that succeeded, or in which nothing is known to have failed.
//
// Pure functions; texts are escaped for display (`short_name`), not for HTML.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/document.h"
#include "report/observed.h"

namespace digd::report {

// The facts about the run that decide whether there is anything to blame. Unless the run is known to have succeeded,
// `digctl attribute chief` uses the defaults: it detects nothing itself, and the user who asks says that the run
// failed.
struct run_facts {
  run_outcome ended = run_outcome::none;
  bool went_wrong = true;      // it failed, or has a detection that has not cleared
  bool links_guessed = false;  // `inferred::links`
  std::uint64_t found = 0, healed = 0;
  std::vector<std::string> healed_rules;  // "2 orphaned events", the most frequent first
};
run_facts facts_for_conclusion(const observed& seen);

struct conclusion {
  enum class kind {
    healthy,  // the run succeeded and digd detected nothing
    healed,   // the run succeeded; `words` says what was healed
    suspect,  // one agent is the most likely cause
    nobody,   // methods ran, and nobody stands out
    unknown,  // no method ran, or nothing is known to have failed
  };
  enum class confidence { none, low, medium, high, proven };

  kind verdict = kind::unknown;
  confidence sure = confidence::none;
  suspicion suspect;   // if the verdict is `suspect`
  std::string method;  // the title of the part that names the suspect
  std::string margin;  // "7 %; next 5 %"; empty if proven
  std::string words;   // the whole, as one paragraph
};

std::string_view to_string(conclusion::kind);
std::string_view to_string(conclusion::confidence);

conclusion conclude(const run_facts& run, const std::vector<part>& parts);
conclusion conclude(const observed& seen, const std::vector<part>& parts);

}  // namespace digd::report
