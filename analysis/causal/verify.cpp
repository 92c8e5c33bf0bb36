#include "analysis/causal/verify.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "analysis/causal/ci_test.h"
#include "analysis/causal/factors/plain_name.h"
#include "analysis/causal/number_text.h"
#include "base/json_writer.h"

namespace digd::causal {

namespace {

double sign_p_of(std::size_t up, std::size_t down) {
  const std::size_t n = up + down;
  if (n == 0) return 1;
  const boost::math::binomial_distribution<double> even(static_cast<double>(n), 0.5);
  return std::min(1.0, 2 * boost::math::cdf(even, static_cast<double>(std::min(up, down))));
}

// P(W ≤ w) for the sum of ranks of one sign among 1 … n, all signs equally likely.
double exact_tail(std::size_t n, double w) {
  std::vector<double> ways(n * (n + 1) / 2 + 1, 0.0);
  ways[0] = 1;
  for (std::size_t rank = 1; rank <= n; ++rank) {
    for (std::size_t s = ways.size(); s-- > rank;) ways[s] += ways[s - rank];
  }
  double sum = 0;
  for (std::size_t s = 0; s < ways.size() && static_cast<double>(s) <= w; ++s) sum += ways[s];
  return sum / std::pow(2.0, static_cast<double>(n));
}

void signed_ranks(std::vector<double> changes, paired_test& out) {
  std::erase(changes, 0.0);
  const std::size_t n = changes.size();
  if (n == 0) return;
  std::sort(changes.begin(), changes.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  double plus = 0, minus = 0, ties = 0;
  for (std::size_t i = 0; i < n;) {
    std::size_t j = i;
    while (j < n && std::abs(changes[j]) == std::abs(changes[i])) ++j;
    const double rank = static_cast<double>(i + j + 1) / 2, same = static_cast<double>(j - i);
    ties += same * same * same - same;
    for (; i < j; ++i) (changes[i] > 0 ? plus : minus) += rank;
  }
  out.wilcoxon = std::min(plus, minus);
  const auto m = static_cast<double>(n);
  if (n <= 50 && ties == 0) {
    out.exact = true;
    out.wilcoxon_p = std::min(1.0, 2 * exact_tail(n, out.wilcoxon));
    return;
  }
  const double mean = m * (m + 1) / 4, variance = m * (m + 1) * (2 * m + 1) / 24 - ties / 48;
  if (variance <= 0) return;
  const double z = std::max(0.0, std::abs(out.wilcoxon - mean) - 0.5) / std::sqrt(variance);
  out.wilcoxon_p = normal_two_sided(z);
}

using by_key = std::map<std::string, std::pair<double, double>>;  // mean (first a sum) and count

by_key means(const std::vector<std::pair<std::string, double>>& values) {
  by_key out;
  for (const auto& [key, x] : values) {
    out[key].first += x;
    out[key].second += 1;
  }
  for (auto& [key, sum] : out) sum.first /= sum.second;
  return out;
}

std::vector<double> changes_of(const by_key& a, const by_key& b) {
  std::vector<double> out;
  for (const auto& [key, before] : a) {
    if (const auto after = b.find(key); after != b.end()) out.push_back(after->second.first - before.first);
  }
  return out;
}

// Two one-sided t tests: is the mean change inside ±margin?
bool is_negligible(const paired_test& t, double margin, double level) {
  if (t.pairs < 10 || !(margin > 0)) return false;
  const double se = t.sd_change / std::sqrt(static_cast<double>(t.pairs));
  if (se == 0) return std::abs(t.mean_change) < margin;
  const boost::math::students_t_distribution<double> d(static_cast<double>(t.pairs - 1));
  const double bound = boost::math::quantile(boost::math::complement(d, level));
  return (margin - std::abs(t.mean_change)) / se > bound;
}

void judge(verification& v, const verify_options& options) {
  const double moved = std::min(v.of_factor.wilcoxon_p, 1.0);
  const double p = v.is_binary ? v.of_outcome.sign_p : v.of_outcome.wilcoxon_p;
  v.result = {v.factor, v.outcome, finding_kind::open, 0, p, v.of_outcome.pairs};
  const std::string did = "From A to B " + plain(v.factor) + " changed by " + three_digits(v.of_factor.mean_change) +
                          " and " + plain(v.outcome) + " by " + three_digits(v.of_outcome.mean_change) +
                          " on average over " + std::to_string(v.of_outcome.pairs) + " pairs (" +
                          std::to_string(v.of_outcome.up) + " up, " + std::to_string(v.of_outcome.down) + " down). ";
  if (moved > options.level) {
    v.words = did + "The factor did not change enough for a result (p = " + three_digits(moved) +
              "): the experiment tested nothing.";
    return;
  }
  if (p <= options.level && v.of_outcome.mean_change != 0) {
    v.result.result = finding_kind::confirmed;
    v.result.sign = (v.of_outcome.mean_change > 0) == (v.of_factor.mean_change > 0) ? 1 : -1;
    v.words = did + "Confirmed (p = " + three_digits(p) + "): changing " + plain(v.factor) + " changes " +
              plain(v.outcome) + ".";
    return;
  }
  if (is_negligible(v.of_outcome, options.margin * v.outcome_sd, options.level)) {
    v.result.result = finding_kind::contradicted;
    v.words = did + "Contradicted: the factor changed and the outcome did not, within " + three_digits(options.margin) +
              " of its standard deviation.";
    return;
  }
  v.words = did + "Open (p = " + three_digits(p) + "): a result needs more pairs.";
}

}  // namespace

paired_test test_pairs(const std::vector<double>& changes) {
  paired_test out;
  out.pairs = changes.size();
  if (changes.empty()) return out;
  const auto n = static_cast<double>(changes.size());
  out.mean_change = std::accumulate(changes.begin(), changes.end(), 0.0) / n;
  double squares = 0;
  for (double c : changes) {
    out.up += c > 0;
    out.down += c < 0;
    squares += (c - out.mean_change) * (c - out.mean_change);
  }
  out.sd_change = n > 1 ? std::sqrt(squares / (n - 1)) : 0;
  out.sign_p = sign_p_of(out.up, out.down);
  signed_ranks(changes, out);
  return out;
}

verification verify(const paired_values& a, const paired_values& b, const verify_options& options) {
  verification v;
  v.factor = options.factor;
  v.outcome = options.outcome;
  v.paired_by = options.pair_by;
  const by_key outcome_a = means(a.outcome), outcome_b = means(b.outcome);
  v.of_factor = test_pairs(changes_of(means(a.factor), means(b.factor)));
  v.of_outcome = test_pairs(changes_of(outcome_a, outcome_b));
  if (v.of_outcome.pairs < 6) {
    v.problem = "only " + std::to_string(v.of_outcome.pairs) + " pairs with the same " + plain(options.pair_by) +
                " on both sides; under 6 no result is possible";
    return v;
  }
  const std::size_t alone = outcome_a.size() + outcome_b.size() - 2 * v.of_outcome.pairs;
  if (alone > 0) v.notes.push_back(std::to_string(alone) + " have no partner and are left out");
  std::set<double> kinds;
  double sum = 0, squares = 0;
  for (const auto* side : {&a.outcome, &b.outcome}) {
    for (const auto& [key, x] : *side) kinds.insert(x);
  }
  for (const auto& [key, x] : a.outcome) sum += x;
  for (const auto& [key, x] : a.outcome) squares += std::pow(x - sum / static_cast<double>(a.outcome.size()), 2);
  v.outcome_sd = a.outcome.size() > 1 ? std::sqrt(squares / static_cast<double>(a.outcome.size() - 1)) : 0;
  v.is_binary = kinds.size() <= 2;
  judge(v, options);
  return v;
}

std::string verification_text(const verification& v) {
  std::string out = v.words + '\n';
  for (const std::string& n : v.notes) out += "Note: " + n + ".\n";
  const auto line = [&](const std::string& name, const paired_test& t) {
    out += "  " + plain(name) + ": " + std::to_string(t.pairs) + " pairs, " + std::to_string(t.up) + " up, " +
           std::to_string(t.down) + " down, sign test p = " + three_digits(t.sign_p) +
           ", Wilcoxon p = " + three_digits(t.wilcoxon_p) + (t.exact ? " (exact)" : "") + '\n';
  };
  line(v.factor, v.of_factor);
  line(v.outcome, v.of_outcome);
  return out;
}

std::string verification_json(const verification& v) {
  std::string out;
  json_writer w(out);
  w.open_object().key("factor").text(v.factor).key("outcome").text(v.outcome).key("paired_by").text(v.paired_by);
  w.key("result").text(to_string(v.result.result)).key("p").number(v.result.p).key("words").text(v.words);
  for (const auto& [name, t] :
       {std::pair<std::string_view, const paired_test&>("factor_test", v.of_factor), {"outcome_test", v.of_outcome}}) {
    w.key(name)
        .open_object()
        .key("pairs")
        .number(static_cast<double>(t.pairs))
        .key("up")
        .number(static_cast<double>(t.up));
    w.key("down")
        .number(static_cast<double>(t.down))
        .key("mean_change")
        .number(t.mean_change)
        .key("sign_p")
        .number(t.sign_p);
    w.key("wilcoxon_p").number(t.wilcoxon_p).key("exact").boolean(t.exact).close_object();
  }
  w.key("notes").open_array();
  for (const std::string& n : v.notes) w.text(n);
  w.close_array().close_object();
  return out + '\n';
}

}  // namespace digd::causal
