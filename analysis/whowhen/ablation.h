// What each evaluator contributes: the same cross-validation without it.
#pragma once

#include <string>
#include <vector>

#include "analysis/chief/rankers.h"
#include "analysis/whowhen/dataset.h"

namespace digd::whowhen {

// One evaluator, or all evaluators of one stage, left out of training and of the answers.
struct ablated {
  std::string name;         // of the evaluator; "(all)": of the whole stage
  std::string stage;        // as to_string(chief::stage)
  double weight = 0;        // fitted to all cases; of a whole stage: the sum of absolute weights
  std::size_t right = 0;    // cases whose first candidate is the true one, without it
  std::size_t changed = 0;  // cases whose first candidate differs from the one with it
  double lost = 0;          // how much lower the log-likelihood of the held-out truths is without it
};

// One list of evaluators, such as that of conversations.
struct ablation {
  std::string list;
  std::size_t cases = 0;  // with a true candidate
  std::size_t right = 0;  // with all evaluators
  std::vector<ablated> rows;
};

// One case of a list, held out together with the others of its fold.
struct ablation_case {
  chief::choice choice;
  std::size_t fold = 0;
};
ablation ablate(const std::string& list, const std::vector<ablation_case>&, const std::vector<chief::feature_info>&,
                double penalty);

// The lists of the known frameworks: ten folds, by question.
std::vector<ablation> ablate_known(const std::vector<labelled_log>&);
// The list of unknown frameworks: a fold is a framework, the `subset` of its logs.
ablation ablate_generic(const std::vector<labelled_log>&);

std::string as_table(const std::vector<ablation>&);

}  // namespace digd::whowhen
