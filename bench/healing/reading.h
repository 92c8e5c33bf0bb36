// What the simulated agents take from an injected text. A rule's finding alone tells them its point; some sentences ask for
// more, and are heard only where the text has them: so a text can be compared with another (`rules.X.text` of the hello).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/healing/agent.h"
#include "rules/rule.h"

namespace digd::bench {

// Sentences of the healing text of early_termination (rules/early_termination.cpp).
inline constexpr std::string_view count_once = "count nothing twice";
inline constexpr std::string_view wait_for_others = "Wait for what others are working on";

// Sets in `h` what `text` asks of whoever follows it.
inline void read_text(std::string_view text, hint& h) {
  if (h.rule != rule_id::early_termination) return;
  h.asks_to_count_once = text.find(count_once) != std::string_view::npos;
  h.asks_to_wait = text.find(wait_for_others) != std::string_view::npos;
}

// A hint by somebody else than digd, in the words of the rule.
inline hint in_words_of(rule_id rule, std::string event = {}, std::vector<std::string> evidence = {}) {
  hint h{.rule = rule, .event = std::move(event), .evidence = std::move(evidence)};
  read_text(rule_of(rule).text(), h);
  return h;
}

}  // namespace digd::bench
