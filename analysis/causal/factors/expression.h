// The language of user factors: arithmetic over a run's built-in factors, labels, metrics, series and agent graph.
// docs/causal.md describes it for users.
//
//   expression  = comparison
//   comparison  = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]          1 or 0
//   sum         = product { ("+" | "-") product }
//   product     = power { ("*" | "/") power }                                   x / 0 = 0
//   power       = [ "-" ] atom [ "^" power ]
//   atom        = number | name | name "(" arguments ")" | "(" expression ")"
//
// A name is a built-in factor, `label.X` or `metric.X` (in quotes if X is not a plain word: metric."f 1"), or a series.
//
//   series             one number an activation: durations, waits, discards, reroutes, consumes, outputs, inputs; an
//                      event: fan_outs, depths, consume_delays, consumers; an interval between activations: starts;
//                      a message: pending; an agent: loads
//   of a series s      count, sum, mean, sd, min, max, first, last, slope, quantile(s, q); over w neighbours:
//                      rolling_max(s, w), rolling_min(s, w) of the mean, rolling_sd(s, w)
//   of numbers         abs, log (of 1 + |x|, with the sign), sqrt, exp, min, max, if(c, a, b)
//   of the agent graph (who gives to whom) density(), reciprocity(), clustering(), centralization(), components();
//                      share("agent") of the activations
//
// Bounds: 4,096 bytes, nesting 64. Failure: a message with the place. Values are finite; any other becomes 0. A parsed
// expression is constant and may be shared by threads.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "analysis/causal/factors/run_facts.h"

namespace digd::causal {

class expression {
 public:
  // Null, with `problem` set, if the text is not an expression.
  static std::shared_ptr<const expression> parse(std::string_view text, std::string& problem);
  ~expression();

  // None if the run lacks a label or metric that the expression names.
  std::optional<double> value(const run_facts& of) const;

  struct node;

 private:
  explicit expression(std::unique_ptr<node> root);
  std::unique_ptr<node> root_;
};

}  // namespace digd::causal
