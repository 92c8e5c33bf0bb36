#include "analysis/shapley/studies.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <ctime>
#include <numeric>

#include "analysis/shapley/faithfulness.h"
#include "analysis/shapley/metrics.h"
#include "analysis/shapley/trajectory.h"

namespace digd::shapley {

namespace {

struct spread {
  double mean = 0, deviation = 0;
};
spread spread_of(const std::vector<double>& x) {
  spread s;
  for (const double v : x) s.mean += v / static_cast<double>(x.size());
  for (const double v : x) s.deviation += (v - s.mean) * (v - s.mean);
  s.deviation = x.size() > 1 ? std::sqrt(s.deviation / static_cast<double>(x.size() - 1)) : 0;
  return s;
}

// Half the width of the 95% interval of a mean.
double half_interval(const std::vector<double>& x) {
  if (x.size() < 2) return 0;
  const boost::math::students_t t(static_cast<double>(x.size() - 1));
  return boost::math::quantile(t, 0.975) * spread_of(x).deviation / std::sqrt(static_cast<double>(x.size()));
}

std::vector<std::size_t> highest(const std::vector<double>& x, std::size_t k) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return x[a] > x[b]; });
  order.resize(std::min(k, order.size()));
  return order;
}

estimate_options options_of(estimator e, std::uint64_t samples, std::uint64_t seed, const run_control& control) {
  return {.estimator = e, .samples = samples, .seed = seed, .control = control};
}

std::size_t active_count(const game& g) {
  return static_cast<std::size_t>(std::count(g.players().null.begin(), g.players().null.end(), 0));
}

// Exact values where they can be enumerated, else a long estimate with its own seed.
estimate_result truth_of(const game& g, const study_options& options) {
  run_control quiet = options.control;
  quiet.progress = {};
  if (active_count(g) <= 20) return estimate(g, options_of(estimator::exact, 1, 1, quiet));
  return estimate(g, options_of(estimator::antithetic, options.reference_samples, 0x7E57'0000, quiet));
}

std::unique_ptr<game> scenario(std::string_view name, std::size_t agents, std::size_t steps, std::uint64_t seed) {
  return generate({std::string(name), agents, steps, 5, seed}, false).game;
}

study_case scenario_case(const char* name, std::size_t agents, std::size_t steps) {
  return {fmt::format("{} {}×{}", name, agents, steps),
          [=](std::uint64_t seed) { return scenario(name, agents, steps, seed); }};
}

}  // namespace

std::vector<study_case> small_cases() {
  return {scenario_case("econagent", 4, 5), scenario_case("twinmarket", 4, 5), scenario_case("socialnetwork", 4, 5)};
}

std::vector<study_case> paper_cases() {
  return {scenario_case("econagent", 10, 34), scenario_case("twinmarket", 10, 27),
          scenario_case("socialnetwork", 20, 21)};
}

distance compare(const std::vector<double>& estimate, const std::vector<double>& truth, std::size_t k) {
  double product = 0, a = 0, b = 0, difference = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    product += estimate[i] * truth[i];
    a += estimate[i] * estimate[i];
    b += truth[i] * truth[i];
    difference += (estimate[i] - truth[i]) * (estimate[i] - truth[i]);
  }
  distance d;
  if (a > 0 && b > 0) d.cosine = product / std::sqrt(a * b);
  if (b > 0) d.relative_l2 = std::sqrt(difference / b);
  const std::vector<std::size_t> mine = highest(estimate, k), best = highest(truth, k);
  for (const std::size_t i : best) d.top += std::count(mine.begin(), mine.end(), i);
  if (!best.empty()) d.top /= static_cast<double>(best.size());
  return d;
}

std::string accuracy_table(const std::vector<study_case>& cases, const study_options& options) {
  std::string out = fmt::format(
      "Algorithm 1 against exact values, {} trajectories (SYNTHETIC), mean ± standard deviation\n", options.runs);
  out += fmt::format("{:<20} {:<14}", "", "");
  for (const std::uint64_t m : options.samples) out += fmt::format(" {:>15}", fmt::format("M = {}", m));
  out += '\n';
  for (const study_case& c : cases) {
    std::array<std::vector<std::vector<double>>, 3> seen;
    for (auto& s : seen) s.resize(options.samples.size());
    for (std::uint64_t run = 1; run <= options.runs && !options.control.stopped(); ++run) {
      const std::unique_ptr<game> g = c.make(run);
      const estimate_result truth = truth_of(*g, options);
      if (!truth) return out + truth.problem + '\n';
      for (std::size_t m = 0; m < options.samples.size(); ++m) {
        const estimate_result r =
            estimate(*g, options_of(estimator::permutation, options.samples[m], run, options.control));
        if (!r) return out + r.problem + '\n';
        const distance d = compare(r.phi.value, truth.phi.value, options.top);
        seen[0][m].push_back(d.cosine);
        seen[1][m].push_back(d.relative_l2);
        seen[2][m].push_back(d.top);
      }
    }
    const std::string tops = fmt::format("top-{} overlap", options.top);
    const std::array<std::string, 3> rows{"cosine", "relative L2", tops};
    for (std::size_t r = 0; r < rows.size(); ++r) {
      out += fmt::format("{:<20} {:<14}", r == 0 ? c.name : "", rows[r]);
      for (const std::vector<double>& x : seen[r]) {
        const spread s = spread_of(x);
        out += fmt::format(" {:>7.4f}±{:.4f} ", s.mean, s.deviation);
      }
      out += '\n';
    }
  }
  return out;
}

std::string estimator_table(const std::vector<study_case>& cases, const study_options& options) {
  constexpr std::array entries{estimator::permutation, estimator::antithetic, estimator::owen, estimator::leverage};
  std::string out = fmt::format(
      "Relative L2 error at equal evaluations, mean of {} runs. Difference: default minus plain permutation, paired, "
      "95% interval\n"
      "{:<20} {:>11} {:>12} {:>12} {:>12} {:>12}  {:<12} {:>26}\n",
      options.runs, "", "evaluations", "permutation", "antithetic", "owen", "leverage", "default", "difference");
  for (const study_case& c : cases) {
    for (const std::uint64_t budget : options.budgets) {
      std::array<std::vector<double>, entries.size()> error;
      std::vector<double> difference;
      estimator usual = estimator::permutation;
      for (std::uint64_t run = 1; run <= options.runs && !options.control.stopped(); ++run) {
        const std::unique_ptr<game> g = c.make(run);
        const estimate_result truth = truth_of(*g, options);
        const std::uint64_t samples = std::max<std::uint64_t>(2, budget / std::max<std::size_t>(1, active_count(*g)));
        usual = choose_sampling(*g, samples);
        double plain = 0, chosen = 0;
        for (std::size_t k = 0; k < entries.size(); ++k) {
          const estimate_result r = estimate(*g, options_of(entries[k], samples, 1000 + run, options.control));
          if (!r || !truth) continue;
          const double e = compare(r.phi.value, truth.phi.value, options.top).relative_l2;
          error[k].push_back(e);
          if (entries[k] == estimator::permutation) plain = e;
          if (entries[k] == usual) chosen = e;
        }
        difference.push_back(chosen - plain);
      }
      out += fmt::format("{:<20} {:>11}", c.name, budget);
      for (const std::vector<double>& e : error)
        out += e.empty() ? fmt::format(" {:>12}", "-") : fmt::format(" {:>12.4f}", spread_of(e).mean);
      const double mean = spread_of(difference).mean, half = half_interval(difference);
      out += fmt::format("  {:<12} {:>+8.4f} [{:+.4f}, {:+.4f}]\n", to_string(usual), mean, mean - half, mean + half);
    }
  }
  return out;
}

std::string faithfulness_table(const std::vector<study_case>& cases, std::uint64_t samples,
                               const study_options& options) {
  std::string out = fmt::format(
      "Risk drop in % after deleting the top actions, mean ± standard deviation of {} trajectories\n", options.runs);
  out += fmt::format("{:<20} {:<14} {:>16} {:>16}\n", "", "", "top 3", "top 10");
  for (const study_case& c : cases) {
    std::array<std::array<std::vector<double>, 2>, 3> drops;
    for (std::uint64_t run = 1; run <= options.runs && !options.control.stopped(); ++run) {
      const std::unique_ptr<game> g = c.make(run);
      const estimate_result r = estimate(*g, options_of(estimator::automatic, samples, run, options.control));
      if (!r) return out + r.problem + '\n';
      const faithfulness f = judge(*g, r.phi.value, run);
      if (!f.problem.empty()) return out + f.problem + '\n';
      for (std::size_t k = 0; k < 2; ++k) {
        drops[0][k].push_back(100 * f.random[k]);
        drops[1][k].push_back(100 * f.leave_one_out[k]);
        drops[2][k].push_back(100 * f.shapley[k]);
      }
    }
    constexpr std::array rows{"random", "leave-one-out", "Shapley"};
    for (std::size_t m = 0; m < rows.size(); ++m) {
      out += fmt::format("{:<20} {:<14}", m == 0 ? c.name : "", rows[m]);
      for (const std::vector<double>& x : drops[m]) {
        const spread s = spread_of(x);
        out += fmt::format(" {:>8.2f} ± {:>5.2f}", s.mean, s.deviation);
      }
      out += '\n';
    }
  }
  return out;
}

std::string metrics_table(const std::vector<study_case>& cases, std::uint64_t samples, const study_options& options) {
  std::string out =
      fmt::format("The five metrics, mean ± standard deviation of {} trajectories\n{:<20}", options.runs, "");
  for (const char* name : {"L_tm", "G_ag", "C_ag", "Z_ag", "G_be"}) out += fmt::format(" {:>15}", name);
  out += '\n';
  for (const study_case& c : cases) {
    std::array<std::vector<double>, 5> seen;
    for (std::uint64_t run = 1; run <= options.runs && !options.control.stopped(); ++run) {
      const std::unique_ptr<game> g = c.make(run);
      const estimate_result r = estimate(*g, options_of(estimator::automatic, samples, run, options.control));
      if (!r) return out + r.problem + '\n';
      const double rho = std::isnan(g->threshold()) ? r.total : g->threshold();
      const metrics m = measure(g->players(), r, rho);
      const std::array x{m.latency, m.agent_concentration, m.instability_correlation, m.synchronization,
                         m.behaviour_concentration};
      for (std::size_t k = 0; k < x.size(); ++k) seen[k].push_back(x[k]);
    }
    out += fmt::format("{:<20}", c.name);
    for (const std::vector<double>& x : seen)
      out += fmt::format(" {:>7.3f}±{:.3f}  ", spread_of(x).mean, spread_of(x).deviation);
    out += '\n';
  }
  return out;
}

namespace {

struct timing {
  double cpu = 0, seconds = 0, evaluations = 0;
};

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

timing once(const game& g, const estimate_options& options) {
  const double from = cpu_seconds();
  const estimate_result r = estimate(g, options);
  return {cpu_seconds() - from, r.seconds, static_cast<double>(r.evaluations)};
}

// The median of three.
timing timed(const game& g, const estimate_options& options) {
  std::array<timing, 3> timings;
  for (timing& t : timings) t = once(g, options);
  std::sort(timings.begin(), timings.end(), [](const timing& a, const timing& b) { return a.cpu < b.cpu; });
  return timings[1];
}

}  // namespace

std::string speed_table(bool large, const run_control& control) {
  std::string out = fmt::format("Median of three, {} thread{}\n{:<20} {:<34} {:>12} {:>14} {:>28}\n", control.threads,
                                control.threads == 1 ? "" : "s", "", "", "CPU seconds", "wall seconds",
                                "million values a CPU second");
  const auto row = [&](const std::string& name, const char* text, const timing& t) {
    out += fmt::format("{:<20} {:<34} {:>12.3f} {:>14.3f} {:>28.2f}\n", name, text, t.cpu, t.seconds,
                       t.evaluations / t.cpu / 1e6);
  };
  run_control quiet = control;
  quiet.progress = {};
  for (const study_case& c : small_cases()) {
    row(c.name, "exact values", timed(*c.make(1), options_of(estimator::exact, 1, 1, quiet)));
  }
  for (const study_case& c : paper_cases()) {
    const std::unique_ptr<game> g = c.make(1);
    row(c.name, "1,000 permutations", timed(*g, options_of(estimator::permutation, 1000, 1, quiet)));
    row(c.name, "the same by Owen sweeps", timed(*g, options_of(estimator::owen, 1000, 1, quiet)));
    row(c.name, "the same by leverage regression", timed(*g, options_of(estimator::leverage, 1000, 1, quiet)));
  }
  if (!large || control.stopped()) return out;
  const std::unique_ptr<game> g = generate({"socialnetwork", 5000, 20, 2, 1}, false).game;
  row("socialnetwork 5000×20", "100 sweeps, 100,000 players",
      once(*g, options_of(estimator::antithetic, 100, 1, control)));
  return out;
}

}  // namespace digd::shapley
