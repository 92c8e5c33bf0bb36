// The three trained rankers of the default method: their weights, and their training.
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
};

// The ridge penalties.
struct training {
  double chat = 3.0, orchestrated = 1.0, agents = 1.0;
};

struct example {
  const flat_log* log;
  std::string agent;
  std::size_t step;
};

// The features of an example, computed once: cross-validation fits many times.
struct lesson {
  bool orchestrated = false;
  choice steps;   // conversation: all candidates; orchestrated: those of the true agent
  choice agents;  // orchestrated only
};
lesson lesson_of(const example&);

ranker_set train(const std::vector<const lesson*>&, const training& = {});

const ranker_set& committed_rankers();

// The text of weights.inc, with the lines of `provenance` as comments.
std::string weights_source(const ranker_set&, const std::vector<std::string>& provenance);

}  // namespace digd::chief
