// Cross-validation by question: a log is answered by rankers that were trained without any log of its question, in
// either subset.
#pragma once

#include <vector>

#include "analysis/chief/attribute.h"
#include "analysis/whowhen/score.h"

namespace digd::whowhen {

std::vector<chief::lesson> lessons_of(const std::vector<labelled_log>&);

// Chooses the temperatures of the rankers for known frameworks by five-fold cross-validation, and with `nested` also
// the penalties, which otherwise are the usual ones. `fold`: the fold of each lesson, below 5.
chief::training calibrate(const std::vector<const chief::lesson*>&, const std::vector<std::size_t>& fold, bool nested);
// Chooses the penalty and the temperature of the generic ranker in the same way. `framework`: the framework of each
// lesson, as a number below 5. Each framework is a fold, so the choice serves frameworks that were not trained on.
chief::training calibrate_generic(const std::vector<const chief::lesson*>&, const std::vector<std::size_t>& framework);

answer answer_of(const labelled_log&, const chief::ranker_set&);

struct validated {
  std::vector<answer> answers;  // one a log, in the same order
  // What the inner cross-validation chose, one entry a question left out.
  std::vector<chief::training> chosen;
};

// Leaves one question out at a time. Five-fold cross-validation on the remaining questions chooses the
// temperatures for each, and with `nested` the penalties too.
validated cross_validate(const std::vector<labelled_log>&, bool nested);

}  // namespace digd::whowhen
