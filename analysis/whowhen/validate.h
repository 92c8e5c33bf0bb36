// Cross-validation by question: a log is answered by rankers that saw no log with its question, in either subset.
#pragma once

#include <vector>

#include "analysis/chief/attribute.h"
#include "analysis/whowhen/score.h"

namespace digd::whowhen {

std::vector<chief::lesson> lessons_of(const std::vector<labelled_log>&);

answer answer_of(const labelled_log&, const chief::ranker_set&);

struct validated {
  std::vector<answer> answers;  // one a log, in order
  // With `nested`: the penalties that inner cross-validation chose, one a question left out.
  std::vector<chief::training> chosen;
};

// Leaves one question out at a time. With `nested`, the penalties are chosen anew for each by five-fold
// cross-validation, again by question, on the rest alone.
validated cross_validate(const std::vector<labelled_log>&, bool nested);

}  // namespace digd::whowhen
