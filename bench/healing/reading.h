// How the simulated agents read an injected text. They understand a rule's finding from its name alone. Some sentences
// ask for more and have effect only if the text contains them, so that texts can be compared (`rules.X.text` of the
// hello). Agents and events are known to the reader only as far as the text lists them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/healing/agent.h"
#include "rules/rule.h"

namespace digd::bench {

// Sets in `h` the requests of `text`, the text of one rule in the words of rules/*.cpp.
void read_text(std::string_view text, hint& h);

// Splits the text injected on one event into the texts of its rules, which empty lines separate.
class paragraphs {
 public:
  explicit paragraphs(std::string_view text) : rest_(text) {}
  std::string_view next();

 private:
  std::string_view rest_;
};

// A hint by another monitor in the words of the rule; `facts` fill the placeholders.
hint in_words_of(rule_id rule, std::string event = {}, std::vector<std::string> evidence = {},
                 const text_facts& facts = {});

}  // namespace digd::bench
