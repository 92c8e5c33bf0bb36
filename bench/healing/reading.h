// What the simulated agents take from an injected text. A rule's finding alone tells them its point; some sentences ask
// for more, and are heard only where the text has them: so a text can be compared with another (`rules.X.text` of the
// hello). Whom and what a sentence names, a reader knows from the text alone, as far as its list goes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/healing/agent.h"
#include "rules/rule.h"

namespace digd::bench {

// Sets in `h` what `text` asks of whoever follows it: one rule's text, in the words of rules/*.cpp.
void read_text(std::string_view text, hint& h);

// What was injected on one event, rule by rule: their texts come one after another, an empty line between them.
class paragraphs {
 public:
  explicit paragraphs(std::string_view text) : rest_(text) {}
  std::string_view next();

 private:
  std::string_view rest_;
};

// A hint by somebody else than digd, in the words of the rule; `facts` are what it puts for the placeholders.
hint in_words_of(rule_id rule, std::string event = {}, std::vector<std::string> evidence = {},
                 const text_facts& facts = {});

}  // namespace digd::bench
