// The language of user factors: arithmetic over a run's built-in factors, labels, metrics, series and its agent graph.
// docs/causal.md has it for users.
//
//   expression  = comparison
//   comparison  = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]          1 or 0
//   sum         = product { ("+" | "-") product }
//   product     = power { ("*" | "/") power }                                   x / 0 = 0
//   power       = [ "-" ] atom [ "^" power ]
//   atom        = number | name | name "(" arguments ")" | "(" expression ")"
//
// A name is a built-in factor, `label.X` or `metric.X` (in quotes where X is no plain word: metric."f 1"), or a series.
// Series are ordered lists of numbers: durations, waits, discards, reroutes, consumes, outputs, inputs (one an
// activation), fan_outs, depths, consume_delays, consumers (one an event), starts (between activations), pending (one a
// message), loads (one an agent). Functions of a series s: count, sum, mean, sd, min, max, first, last, slope,
// quantile(s, q), rolling_max(s, w), rolling_min(s, w), rolling_sd(s, w): the largest and smallest mean and largest
// spread over w neighbours in a row. Of numbers: abs, log (of 1 + |x|, signed), sqrt, exp, min, max, if(c, a, b). Of
// the agent graph (who gives to whom): density(), reciprocity(), clustering(), centralization(), components(),
// share("agent"): the agent's share of the activations.
//
// Bounds: 4,096 bytes, nesting 64. Failure: a message with the place. Values: finite; what is not becomes 0.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "analysis/causal/factors/run_facts.h"

namespace digd::causal {

class expression {
 public:
  // Null, with `why` set, if it is no expression.
  static std::shared_ptr<const expression> parse(std::string_view text, std::string& why);
  ~expression();

  // None if the run lacks a label or metric that is named.
  std::optional<double> value(const run_facts& of) const;

  struct node;

 private:
  explicit expression(std::unique_ptr<node> root);
  std::unique_ptr<node> root_;
};

}  // namespace digd::causal
