// Cross-validation by question: a log is answered by rankers that were trained without any log of its question, in
// either subset.
#pragma once

#include <vector>

#include "analysis/chief/attribute.h"
#include "analysis/whowhen/score.h"

namespace digd::whowhen {

std::vector<chief::lesson> lessons_of(const std::vector<labelled_log>&);

answer answer_of(const labelled_log&, const chief::ranker_set&);

struct validated {
  std::vector<answer> answers;  // one a log, in the same order
  // With `nested`: the penalties that the inner cross-validation chose, one entry a question left out.
  std::vector<chief::training> chosen;
};

// Leaves one question out at a time. With `nested`, five-fold cross-validation on the remaining questions chooses the
// penalties for each.
validated cross_validate(const std::vector<labelled_log>&, bool nested);

}  // namespace digd::whowhen
