// A conditional logit: of the candidates of one case, one is the cause, with probability proportional to
// exp(w · x). Fitted by Newton's method on the log-likelihood with a ridge penalty (lambda/2)|w|².
#pragma once

#include <cstddef>
#include <vector>

namespace digd::chief {

struct choice {
  std::vector<std::vector<double>> rows;  // one a candidate, all as long as the weights
  std::ptrdiff_t truth = -1;              // which of them, -1 if none: not used for fitting
};

// Which sign a weight may have: known beforehand, from what the feature says.
enum class leaning { either, accuses, excuses };

// One weight a leaning. Weights that would take the wrong sign are held at zero and the others fitted again, until none
// does: what is learnt never contradicts what a feature says. Zeros if there is nothing to learn from. Deterministic.
std::vector<double> fit(const std::vector<choice>& cases, const std::vector<leaning>& features, double lambda);

// Adds up to 1; empty for no rows.
std::vector<double> probabilities(const std::vector<double>& weights, const std::vector<std::vector<double>>& rows);

}  // namespace digd::chief
