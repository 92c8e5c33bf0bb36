// Small games for the tests of the estimators.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/shapley/estimate.h"

namespace shapley_tests {

using set = std::vector<bool>;
using value_function = std::function<double(const set&)>;

// A game given by its risk; player p is agent p mod `agents` at step p / agents.
class small_game final : public digd::shapley::game {
 public:
  small_game(std::size_t players, value_function v, std::size_t agents = 2) : v_(std::move(v)) {
    for (std::size_t i = 0; i < agents; ++i) players_.agent_names.push_back(std::to_string(i));
    players_.behaviour_names = {"even", "odd"};
    for (std::size_t p = 0; p < players; ++p) {
      const std::uint16_t type[1] = {static_cast<std::uint16_t>(p % 2)};
      players_.add(static_cast<std::uint32_t>(p % agents), static_cast<std::uint32_t>(p / agents), type, false);
    }
    players_.steps = (players + agents - 1) / agents;
  }
  std::string_view kind() const override { return "test"; }
  std::string title() const override { return "test"; }
  void add_content(digd::shapley::digest& to) const override { to.add(std::string_view("test")); }
  std::unique_ptr<digd::shapley::evaluator> make_evaluator() const override { return std::make_unique<asker>(*this); }

 private:
  class asker final : public digd::shapley::evaluator {
   public:
    explicit asker(const small_game& g) : g_(g) {}
    bool values(std::span<const digd::shapley::lane_mask> kept, std::size_t count, double* out) override {
      for (std::size_t l = 0; l < count; ++l) {
        set s(kept.size());
        for (std::size_t p = 0; p < s.size(); ++p) s[p] = kept[p] >> l & 1;
        out[l] = g_.v_(s);
      }
      return true;
    }

   private:
    const small_game& g_;
  };
  value_function v_;
};

// The definition (eq. 2), over subsets, with factorials.
inline std::vector<double> by_definition(std::size_t n, const value_function& v) {
  std::vector<double> factorial(n + 1, 1.0), phi(n, 0.0);
  for (std::size_t k = 1; k <= n; ++k) factorial[k] = factorial[k - 1] * static_cast<double>(k);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t bits = 0; bits < (std::size_t{1} << n); ++bits) {
      if (bits >> i & 1) continue;
      set without(n);
      std::size_t size = 0;
      for (std::size_t p = 0; p < n; ++p) size += without[p] = bits >> p & 1;
      set with = without;
      with[i] = true;
      phi[i] += factorial[size] * factorial[n - size - 1] / factorial[n] * (v(with) - v(without));
    }
  }
  return phi;
}

// A bumpy but fixed function of the set.
inline double bumpy(const set& s, std::uint64_t salt) {
  std::uint64_t h = salt * 0x9E3779B97F4A7C15u + 1;
  for (const bool b : s) h = (h ^ (b ? 0x1234567u : 0x89ABCDEu)) * 0xBF58476D1CE4E5B9u, h ^= h >> 29;
  return static_cast<double>(h >> 40) / static_cast<double>(1 << 24);
}

inline digd::shapley::estimate_options ask(digd::shapley::estimator e, std::uint64_t samples = 200,
                                           unsigned threads = 1) {
  digd::shapley::estimate_options options;
  options.estimator = e;
  options.samples = samples;
  options.seed = 5;
  options.control.threads = threads;
  return options;
}

}  // namespace shapley_tests
