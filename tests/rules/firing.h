// What every rule does alike, checked on one trace in which it fires: modes, causes, its text.
#pragma once

#include <string>
#include <vector>

#include "tests/engine/scenario.h"

namespace digd::tests {

// A trace in which one rule fires, once, with its last line, and is healed.
struct firing {
  std::string rule;
  std::string hello;    // members of the hello beside rules and mode
  std::string options;  // members of the rule's settings, if it needs any to fire
  std::string lines;    // up to the one that makes it fire
  std::string last;
};

// With more members in the hello and in the rule's settings.
scenario play(const firing& f, const std::string& hello = {}, const std::string& options = {});
// Modes of the run and of the rule, shadow's `healing`, and each cause but `target`, which each rule has its own way
// to.
void check_causes(const firing& f);
// The text of `rules.X.text` takes the place of the rule's own; what is no placeholder of the rule stays as it is.
void check_text_override(const firing& f, const std::string& text, const std::string& expected);
// The text that was injected, whatever carried it.
std::string injected(const scenario& s);

// A name of 256 bytes with a quote, a line end and a right-to-left override, and how texts have to show it.
std::string hostile(char fill);
std::string hostile_quoted(char fill);

// "v1 > e2", "e2 > v2 consume", "e2 > v3" while open, "e3 .. tester" while pending.
std::vector<std::string> edges(const witness& w);
// Events, then activations: "e1 e2 | v1 v2".
std::string nodes(const witness& w);
// Whether the edges join all nodes into one piece.
bool connected(const witness& w);

}  // namespace digd::tests
