// A conditional logit model (McFadden 1974): one candidate of a case is the cause, with probability proportional to
// exp(w · x). Fitted by Newton's method on the log-likelihood with a ridge penalty (lambda/2)|w|².
#pragma once

#include <cstddef>
#include <vector>

namespace digd::chief {

struct choice {
  std::vector<std::vector<double>> rows;  // candidates × features
  std::ptrdiff_t truth = -1;              // index of the true candidate; -1: none, and the case is not used for fitting
};

// The sign that a weight may have, known from the meaning of its feature.
enum class leaning { either, accuses, excuses };

// One weight a feature. Weights with the wrong sign are fixed at zero and the others fitted again until all signs are
// right, so that no weight contradicts the meaning of its feature. Without usable cases all are zero. Deterministic.
std::vector<double> fit(const std::vector<choice>& cases, const std::vector<leaning>& features, double lambda);

// One probability a row; they sum to 1.
std::vector<double> probabilities(const std::vector<double>& weights, const std::vector<std::vector<double>>& rows);

}  // namespace digd::chief
