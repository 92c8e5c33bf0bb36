#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <thread>

#include "analysis/report/parts.h"
#include "analysis/report/shapley_suspects.h"
#include "analysis/shapley/report.h"
#include "analysis/shapley/structure.h"
#include "report/words.h"

namespace digd::report {

namespace {

constexpr double interval = 1.96;  // standard errors of a 95% interval
constexpr std::size_t max_rows = 20, max_named = 5;

// Sets its flag when the time is up or the caller's flag is set.
class deadline {
 public:
  deadline(double seconds, const std::atomic<bool>* also)
      : watch_([this, seconds, also](const std::stop_token& done) {
          const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
          std::unique_lock lock(mutex_);
          while (!done.stop_requested() && std::chrono::steady_clock::now() < end &&
                 !(also != nullptr && also->load())) {
            wake_.wait_for(lock, done, std::chrono::milliseconds(50), [] { return false; });
          }
          up_ = true;
        }) {}
  const std::atomic<bool>& up() const { return up_; }

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::atomic<bool> up_{false};
  std::jthread watch_;
};

std::vector<std::size_t> largest_first(const std::vector<double>& x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return std::abs(x[a]) > std::abs(x[b]); });
  return order;
}

std::vector<std::size_t> highest_first(const std::vector<double>& x) {
  std::vector<std::size_t> order = largest_first(x);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return x[a] > x[b]; });
  return order;
}

std::string with_interval(double value, double error) {
  return error > 0 ? fmt::format("{:.3g} ± {:.2g}", value, interval * error) : fmt::format("{:.3g}", value);
}

std::string half_width(double error) {
  return error > 0 ? fmt::format("{:.2g}", interval * error) : std::string("exact");
}

template <class Name>
table listed(const char* caption, const char* text, const shapley::scored& of, const std::vector<std::size_t>& order,
             Name name) {
  table out{.caption = caption, .columns = {{text}, {"φ", true}, {"± (95%)", true}}, .rows = {}, .left_out = {}};
  for (const std::size_t i : order) {
    if (out.rows.size() == max_rows) break;
    out.rows.push_back({name(i), fmt::format("{:.4g}", shapley::without_rounding(of, i)), half_width(of.error[i])});
  }
  if (of.value.size() > max_rows) out.left_out = fmt::format("{} of {}.", max_rows, of.value.size());
  return out;
}

template <class Name>
table ranked(const char* caption, const char* text, const shapley::scored& of, Name name) {
  return listed(caption, text, of, highest_first(of.value), name);
}

std::vector<std::size_t> in_time(const shapley::scored& of) {
  std::vector<std::size_t> order(of.value.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

table metric_table(const shapley::report& r) {
  const shapley::metrics& m = r.metrics;
  const auto number = [](double x) { return fmt::format("{:.3f}", x); };
  return {
      .caption = "The five metrics",
      .columns = {{"metric"}, {"value", true}, {"what it says"}},
      .rows = {{"relative risk latency, L_tm", number(m.latency),
                m.formed ? fmt::format("the risk had formed at step {} of {}", *m.formed, r.game.players().steps)
                         : "the running sum never exceeds q·ρ"},
               {"agent risk concentration, G_ag", number(m.agent_concentration),
                "0: spread evenly; towards 1: one agent's"},
               {"risk-instability correlation, C_ag", number(m.instability_correlation),
                "whether agents with more risk vary more over time"},
               {"agent risk synchronization, Z_ag", number(m.synchronization), "1: all push the same way at a time"},
               {"behaviour risk concentration, G_be", number(m.behaviour_concentration), "as G_ag, over behaviours"}},
      .left_out = {}};
}

std::vector<origin> origins_of(const shapley::report& r) {
  const std::string paper = "Interpreting Emergent Extreme Events in MAS, ";
  const bool exact = r.result.estimator == shapley::estimator::exact;
  return {{"φ of an activation",
           fmt::format("{}: {} of {} samples, {} replays of the run{}", to_string(r.result.estimator), r.result.samples,
                       r.result.wanted, r.result.evaluations, exact ? ", no error" : ", ± is 1.96 standard errors"),
           paper + "eq. 2 and 11" + (exact ? "" : "; eq. 25, docs/shapley.md, Estimators")},
          {"the risk", r.weights, "docs/shapley.md, structure game"},
          {"φ by agent, step, behaviour", "sums of φ; errors are those of the sums", paper + "eq. 5, 3, 9"},
          {"L_tm, G_ag, C_ag, Z_ag, G_be", fmt::format("from φ, with q = {} and ρ = {:.4g}", r.q, r.threshold),
           paper + "eq. 4, 6, 7, 8, 10"}};
}

std::string answer_of(const shapley::report& r) {
  if (!r.result.adds_risk())
    return "by Shapley value there is nothing to attribute, since the activations together added no risk";
  const shapley::cast& players = r.game.players();
  const std::size_t agent = highest_first(r.result.by_agent.value).front(),
                    action = highest_first(r.result.phi.value).front();
  return fmt::format("by Shapley value agent {} added most risk (φ = {}), and of all activations {} (φ = {})",
                     short_name(players.agent_names[agent]),
                     with_interval(r.result.by_agent.value[agent], r.result.by_agent.error[agent]),
                     short_name(players.name_of(static_cast<shapley::player_index>(action))),
                     with_interval(r.result.phi.value[action], r.result.phi.error[action]));
}

void tell(part& out, const shapley::report& r) {
  const shapley::cast& players = r.game.players();
  const shapley::estimate_result& e = r.result;
  out.blocks.push_back(
      block::words(fmt::format("The risk of the run is {:.4g}; were no activation to do anything, it would be {:.4g}. "
                               "The difference, {:.4g}, is "
                               "divided among the {} activations: "
                               "φ is what an activation adds on average, over all orders in which they could join.",
                               e.baseline + e.total, e.baseline, e.total, players.size())));
  if (!e.adds_risk()) {
    out.blocks.push_back(block::remark(
        "There is nothing to attribute: the activations together added no risk. So there is no T* and no ranking."));
    return;
  }
  if (e.interrupted)
    out.blocks.push_back(block::remark(fmt::format(
        "Stopped at its time limit: {} of {} samples, which the error bars reflect.", e.samples, e.wanted)));
  const picture::chart_look embedded{.embedded = true};
  out.blocks.push_back(block::of(
      figure{"Who", "Risk contribution of each agent, with 95% intervals; right, how much it varies over time.",
             shapley::plot_agents(r, embedded)}));
  out.blocks.push_back(block::of(ranked("Who: agents", "agent", e.by_agent,
                                        [&](std::size_t i) { return short_name(players.agent_names[i], 80); })));
  out.blocks.push_back(block::of(
      figure{"When", "Risk contribution of each step of the run's time, with 95% intervals, and the running sum.",
             shapley::plot_steps(r, embedded)}));
  out.blocks.push_back(block::of(listed("When: steps, in time", "step", e.by_step, in_time(e.by_step),
                                        [](std::size_t t) { return std::to_string(t + 1); })));
  out.blocks.push_back(block::of(figure{"What", "Risk contribution of each behaviour, with 95% intervals.",
                                        shapley::plot_behaviours(r, embedded)}));
  out.blocks.push_back(block::of(ranked("What: behaviours", "behaviour", e.by_behaviour,
                                        [&](std::size_t k) { return players.behaviour_names[k]; })));
  block activations =
      block::of(listed("Activations, by size", "activation", e.phi, largest_first(e.phi.value), [&](std::size_t p) {
        return short_name(players.name_of(static_cast<shapley::player_index>(p)), 80);
      }));
  activations.ranks = true;
  out.blocks.push_back(std::move(activations));
  out.blocks.push_back(block::of(metric_table(r)));
}

void blame(part& out, const shapley::report& r) {
  if (!r.result.adds_risk()) return;
  const std::vector<double>& phi = r.result.phi.value;
  std::size_t rank = 0;
  for (const std::size_t p : highest_first(phi)) {
    if (shapley::without_rounding(r.result.phi, p) <= 0 || ++rank > max_named) return;
    out.blamed.push_back({.activation = r.game.players().name_of(static_cast<shapley::player_index>(p)),
                          .event = {},
                          .reason = fmt::format("number {} by Shapley value (φ = {})", rank,
                                                with_interval(phi[p], r.result.phi.error[p]))});
  }
}

}  // namespace

part shapley_part(const trace_text& trace, const observed& seen, const std::string& subject,
                  const part_options& options) {
  part out{.id = "responsibility",
           .name = "Shapley values",
           .title = "Shapley values: who, when and what",
           .command = "digctl attribute shapley " + subject};
  const double min_seconds = 2.0 * static_cast<double>(seen.activations) * seen.replay_seconds / options.threads;
  if (options.budget_seconds <= 0) out.not_run_reason = "it was not requested (--budget 0).";
  else if (seen.activations == 0) out.not_run_reason = "the run has no activations.";
  else if (min_seconds > options.budget_seconds) {
    out.not_run_reason = fmt::format(
        "the run is replayed twice for each of its {} activations at least, some {} s, and the budget is {:g} s "
        "(--budget).",
        grouped(seen.activations), grouped(static_cast<std::uint64_t>(std::ceil(min_seconds))), options.budget_seconds);
  }
  if (!out.not_run_reason.empty()) return out;
  const std::string_view text = trace();
  if (text.empty()) {
    out.not_run_reason = "the run is too long to be held in memory.";
    return out;
  }
  const shapley::structure_options risk;
  shapley::structure_result made = shapley::make_structure_game(text, risk);
  if (!made.problem.empty()) {
    out.not_run_reason = made.problem + ".";
    return out;
  }
  const deadline time(options.budget_seconds, options.stop);
  shapley::estimate_options asked{.seed = options.seed};
  asked.control = {.threads = options.threads, .stop = &time.up(), .progress = options.progress};
  shapley::estimate_result result = shapley::estimate(*made.game, asked);
  if (!result) {
    out.not_run_reason = fmt::format("{} (budget: {:g} s, --budget).", result.problem, options.budget_seconds);
    return out;
  }
  shapley::report r = shapley::make_report(*made.game, std::move(result), shapley::usual_share, options.seed);
  r.weights = fmt::format("{} × failures + {} × warnings + {} × unresolved work", risk.failure_weight,
                          risk.warning_weight, risk.unresolved_weight);
  out.ran = true;
  out.answer = answer_of(r);
  out.json = shapley::to_json(r);
  out.origins = origins_of(r);
  tell(out, r);
  blame(out, r);
  add_suspects(out, r, text, seen, "open its detections with digctl show " + subject);
  return out;
}

}  // namespace digd::report
