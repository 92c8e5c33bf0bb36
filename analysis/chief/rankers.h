// The four trained rankers of the default method: their weights, and their training.
//
// `digctl chief-train` writes the committed weights (weights.inc), whose header names the training data.
#pragma once

#include <string>
#include <vector>

#include "analysis/chief/features.h"
#include "analysis/chief/ranker.h"

namespace digd::chief {

struct ranker_set {
  std::vector<double> chat;          // steps of a conversation
  std::vector<double> orchestrated;  // steps of one agent of a run with a planner
  std::vector<double> agents;        // agents of a run with a planner
  std::vector<double> generic;       // steps of a log of any framework
  bool calibrated = false;
};

// The ridge penalty and the temperature of each ranker. Fitted weights are divided by the temperature, so that
// probabilities agree with frequencies (Guo et al. 2017, section 4.2). Temperature 1: not calibrated.
struct training {
  double chat = 3.0, orchestrated = 1.0, agents = 1.0, generic = 3.0;
  double chat_temperature = 1.0, orchestrated_temperature = 1.0, agents_temperature = 1.0, generic_temperature = 1.0;
};

struct example {
  const flat_log* log;
  std::string agent;
  std::size_t step;
};

// The features of an example, computed once: cross-validation fits many times.
struct lesson {
  known_framework framework = known_framework::none;
  choice steps;    // CaptainAgent: all candidates; Magentic-One: those of the true agent; unknown: none
  choice agents;   // Magentic-One only
  choice generic;  // all candidates
};
lesson lesson_of(const example&);

// Which rankers `train` fits; the others get zeros.
inline constexpr unsigned trains_known = 1, trains_generic = 2;
ranker_set train(const std::vector<const lesson*>&, const training& = {},
                 unsigned kinds = trains_known | trains_generic);

const ranker_set& committed_rankers();

// The text of weights.inc, with the lines of `provenance` as comments.
std::string weights_source(const ranker_set&, const std::vector<std::string>& provenance);

}  // namespace digd::chief
