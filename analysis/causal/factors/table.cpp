#include "analysis/causal/factors/table.h"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <map>
#include <numeric>

namespace digd::causal {

std::optional<variable> table::find(std::string_view name) const {
  for (variable v = 0; v < columns_.size(); ++v) {
    if (columns_[v].name == name) return v;
  }
  return {};
}

bool table::all_discrete() const {
  return std::all_of(columns_.begin(), columns_.end(), [](const column& c) { return c.discrete; });
}

void table::add_continuous(std::string name, std::vector<double> values) {
  rows_ = values.size();
  column c;
  c.name = std::move(name);
  c.values = std::move(values);
  columns_.push_back(std::move(c));
}

void table::add_discrete(std::string name, const std::vector<int>& codes, std::vector<std::string> labels) {
  rows_ = codes.size();
  std::map<int, std::size_t> seen;
  for (int code : codes) seen.emplace(code, 0);
  column c;
  c.name = std::move(name);
  c.discrete = true;
  for (auto& [code, level] : seen) {
    level = c.labels.size();
    const bool named = code >= 0 && static_cast<std::size_t>(code) < labels.size();
    c.labels.push_back(named ? labels[static_cast<std::size_t>(code)] : std::to_string(code));
  }
  c.levels = c.labels.size();
  c.codes.reserve(codes.size());
  for (int code : codes) c.codes.push_back(static_cast<std::uint8_t>(seen[code]));
  c.values.assign(c.codes.begin(), c.codes.end());
  columns_.push_back(std::move(c));
}

table table::take(std::span<const std::size_t> rows) const {
  table out(rows.size());
  for (const column& from : columns_) {
    column c;
    c.name = from.name;
    c.discrete = from.discrete;
    c.levels = from.levels;
    c.labels = from.labels;
    c.values.reserve(rows.size());
    for (std::size_t r : rows) c.values.push_back(from.values[r]);
    if (from.discrete) {
      c.codes.reserve(rows.size());
      for (std::size_t r : rows) c.codes.push_back(from.codes[r]);
    }
    out.columns_.push_back(std::move(c));
  }
  return out;
}

table table::select(std::span<const variable> chosen) const {
  table out(rows_);
  for (variable v : chosen) out.columns_.push_back(columns_[v]);
  return out;
}

std::vector<double> normal_scores(std::span<const double> values) {
  const std::size_t n = values.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> scores(n, 0.0);
  for (std::size_t i = 0; i < n;) {
    std::size_t j = i;
    while (j < n && values[order[j]] == values[order[i]]) ++j;
    const double p = (static_cast<double>(i + j) / 2) / static_cast<double>(n);  // mean rank − ½, over n
    const double z = std::sqrt(2.0) * boost::math::erf_inv(2 * p - 1);
    for (; i < j; ++i) scores[order[i]] = z;
  }
  const double mean = std::accumulate(scores.begin(), scores.end(), 0.0) / std::max<double>(1, static_cast<double>(n));
  double sum = 0;
  for (double& s : scores) {
    s -= mean;
    sum += s * s;
  }
  const double scale = sum > 0 ? std::sqrt(static_cast<double>(n) / sum) : 0;
  for (double& s : scores) s *= scale;
  return scores;
}

}  // namespace digd::causal
