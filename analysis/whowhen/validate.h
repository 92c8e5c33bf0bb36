// Cross-validation by question: a log is answered by rankers that were trained without any log of its question, in
// either subset.
#pragma once

#include <vector>

#include "analysis/chief/attribute.h"
#include "analysis/whowhen/score.h"

namespace digd::whowhen {

std::vector<chief::lesson> lessons_of(const std::vector<labelled_log>&);

// Penalties (with `nested`, otherwise the usual ones) and temperatures of the rankers for known frameworks, by
// five-fold cross-validation; `fold` by lesson, below 5.
chief::training calibrate(const std::vector<const chief::lesson*>&, const std::vector<std::size_t>& fold, bool nested);
// The same of the generic ranker. `framework`: a number below 5 for the framework of each lesson, which is a fold: the
// penalty and the temperature are those that serve a framework that was not trained on.
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
