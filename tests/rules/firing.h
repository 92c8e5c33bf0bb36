// Checks that apply to every rule, made on one trace in which it fires: modes, causes, configured texts.
#pragma once

#include <string>
#include <vector>

#include "tests/engine/scenario.h"

namespace digd::tests {

// A trace whose last line makes one rule fire once. digd heals it.
struct firing {
  std::string rule;
  std::string hello;    // members of the hello, without rules and mode
  std::string options;  // members of the rule's settings, if it needs any to fire
  std::string lines;    // before the line that makes the rule fire
  std::string last;
};

// Plays the trace, with more members in the hello and in the rule's settings.
scenario play(const firing& f, const std::string& hello = {}, const std::string& options = {});
// Checks the modes of the run and of the rule, shadow's `healing`, and each cause but `target`: every rule reaches that
// one differently.
void check_causes(const firing& f);
// Checks that `rules.X.text` replaces the rule's text, and that an unknown placeholder stays unchanged.
void check_text_override(const firing& f, const std::string& text, const std::string& expected);
// The injected text: of the last intervention, or else of the last verdict that has one.
std::string injected(const scenario& s);

// A name of 256 bytes with a quote, a line end and a right-to-left override, and the form in which texts must quote it.
std::string hostile(char fill);
std::string hostile_quoted(char fill);

// "v1 > e2", "e2 > v2 consume", "e2 > v3" while open, "e3 .. tester" while pending.
std::vector<std::string> edges(const witness& w);
// Events, then activations: "e1 e2 | v1 v2".
std::string nodes(const witness& w);
// Whether the edges join all nodes into one component.
bool connected(const witness& w);

}  // namespace digd::tests
