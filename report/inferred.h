// What an importer guessed of a trace, because its source does not record it. Importers mark it in the members
// `inferred` of messages and events (docs/importers.md).
//
//   inferred guessed;
//   for (line of the trace) guessed.note(line);
//   if (guessed.links) …   // who got which event is a guess, and so is a detection that rests on it
#pragma once

#include <string_view>

namespace digd::report {

struct inferred {
  bool links = false;  // recipients of events, or inputs of activations
  bool times = false;  // all stamps

  // Parses only lines that may say something new.
  void note(std::string_view line);
};

}  // namespace digd::report
