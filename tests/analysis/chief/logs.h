// Invented logs, short to write.
#pragma once

#include "analysis/chief/flat_log.h"

namespace digd::tests {

struct line {
  const char* agent;
  const char* text;
  const char* to = nullptr;
  bool thought = false;
};

inline chief::flat_log log_of(const char* question, std::initializer_list<line> lines) {
  chief::flat_log log;
  log.question = question;
  for (const line& l : lines) {
    chief::flat_step step;
    step.agent = l.agent;
    step.text = l.text;
    if (l.to) step.to = {l.to};
    step.thought = l.thought;
    log.steps.push_back(step);
  }
  chief::recognise_forms(log);
  return log;
}

}  // namespace digd::tests
