#include "analysis/shapley/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/json_writer.h"
#include "base/quote.h"

namespace digd::shapley {

namespace {

// As {fmt} prints it: stored reports have such numbers.
std::string number(double x) { return std::isfinite(x) ? fmt::format("{}", x) : "null"; }

// Aligns cells in columns: the first to the left, the others to the right.
class text_table {
 public:
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text() const {
    std::vector<std::size_t> width;
    for (const auto& r : rows_) {
      width.resize(std::max(width.size(), r.size()), 0);
      for (std::size_t i = 0; i < r.size(); ++i) width[i] = std::max(width[i], r[i].size());
    }
    std::string out;
    for (const auto& r : rows_) {
      std::string line = "  ";
      for (std::size_t i = 0; i < r.size(); ++i) {
        line += i == 0 ? fmt::format("{:<{}}", r[i], width[i]) : fmt::format("  {:>{}}", r[i], width[i]);
      }
      while (line.ends_with(' ')) line.pop_back();
      out += line + '\n';
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

// A name that agents chose, made safe for a terminal.
std::string shown(const std::string& name) {
  const std::string quoted = digd::quoted(name);
  return quoted.size() == name.size() + 2 ? name : quoted;
}

std::vector<std::size_t> by_size(const std::vector<double>& x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return std::abs(x[a]) > std::abs(x[b]); });
  return order;
}

}  // namespace

double without_rounding(const scored& of, std::size_t i) {
  double largest = 0;
  for (const double x : of.value) largest = std::max(largest, std::abs(x));
  return std::abs(of.value[i]) > 1e-9 * largest ? of.value[i] : 0;
}

namespace {

template <class Name>
std::string ranked(const char* head, const scored& of, std::size_t max_rows, Name name) {
  text_table t;
  t.row({head, "φ", "standard error"});
  for (const std::size_t i : by_size(of.value)) {
    if (max_rows-- == 0) break;
    t.row({name(i), fmt::format("{:.5g}", without_rounding(of, i)),
           of.error[i] > 0 ? fmt::format("{:.2g}", of.error[i]) : "0"});
  }
  return t.text() + '\n';
}

void write_faithfulness(json_writer& to, const faithfulness& f) {
  const auto pair = [&](const char* name, const std::array<double, 2>& x) {
    to.key(name).open_array().raw(number(x[0])).raw(number(x[1])).close_array();
  };
  to.new_line().key("faithfulness").open_object().key("deleted").open_array();
  to.integer(deleted_counts[0]).integer(deleted_counts[1]).close_array();
  pair("shapley", f.shapley);
  pair("leave_one_out", f.leave_one_out);
  pair("random", f.random);
  pair("random_error", f.random_error);
  to.close_object();
}

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

}  // namespace

report make_report(const game& game, estimate_result result, double q, std::uint64_t seed) {
  report r{.game = game, .result = std::move(result)};
  r.threshold = std::isnan(game.threshold()) ? r.result.total : game.threshold();
  r.q = q;
  r.seed = seed;
  r.metrics = measure(game.players(), r.result, r.threshold, q);
  r.risk_curve = game.risk_curve();
  return r;
}

std::string nothing_to_attribute(const estimate_result& result) {
  return fmt::format(
      "nothing to attribute: the risk is {:.6g} with every action kept and {:.6g} with none; no T*, no ranking",
      result.baseline + result.total, result.baseline);
}

std::string to_table(const report& r, std::size_t max_rows) {
  const cast& players = r.game.players();
  const estimate_result& e = r.result;
  std::string out = fmt::format("{}{}\n", shown(r.game.title()),
                                r.game.synthetic() ? " (SYNTHETIC: generated, no language model acted)" : "");
  if (!r.weights.empty()) out += r.weights + '\n';
  out += fmt::format("risk {:.6g}, of which {:.6g} is attributed; {:.6g} is the safe baseline's. Threshold ρ {:.6g}\n",
                     e.baseline + e.total, e.total, e.baseline, r.threshold);
  out += fmt::format("{}: {} of {} samples, {} evaluations{}\n\n", to_string(e.estimator), e.samples, e.wanted,
                     e.evaluations, e.interrupted ? ", INTERRUPTED" : "");
  if (!e.adds_risk()) return out + nothing_to_attribute(e) + '\n';
  out += ranked("action", e.phi, max_rows,
                [&](std::size_t p) { return shown(players.name_of(static_cast<player_index>(p))); });
  out += ranked("agent", e.by_agent, max_rows, [&](std::size_t i) { return shown(players.agent_names[i]); });
  out +=
      ranked("behaviour", e.by_behaviour, max_rows, [&](std::size_t k) { return shown(players.behaviour_names[k]); });
  out += ranked("step", e.by_step, max_rows, [&](std::size_t t) { return std::to_string(t + 1); });
  const metrics& m = r.metrics;
  text_table t;
  t.row({"relative risk latency        L_tm", fmt::format("{:.3f}", m.latency),
         m.formed ? fmt::format("T* = {} of {}", *m.formed, players.steps) : "the sum never exceeds q·ρ"});
  t.row({"agent risk concentration     G_ag", fmt::format("{:.3f}", m.agent_concentration)});
  t.row({"risk-instability correlation C_ag", fmt::format("{:.3f}", m.instability_correlation)});
  t.row({"agent risk synchronization   Z_ag", fmt::format("{:.3f}", m.synchronization)});
  t.row({"behavior risk concentration  G_be", fmt::format("{:.3f}", m.behaviour_concentration)});
  out += t.text();
  if (r.faithful) {
    const faithfulness& f = *r.faithful;
    text_table drops;
    drops.row({"risk drop after deleting the", "top 3", "top 10"});
    drops.row({"Shapley", percent(f.shapley[0]), percent(f.shapley[1])});
    drops.row({"leave-one-out", percent(f.leave_one_out[0]), percent(f.leave_one_out[1])});
    drops.row({"random", percent(f.random[0]), percent(f.random[1])});
    out += '\n' + drops.text();
  }
  return out;
}

std::string to_json(const report& r) {
  const cast& players = r.game.players();
  const estimate_result& e = r.result;
  const metrics& m = r.metrics;
  std::string out;
  json_writer to(out);
  to.open_object().key("format").text("digd.shapley").key("version").integer(1).key("game").text(r.game.kind());
  to.key("title").text(r.game.title()).key("synthetic").boolean(r.game.synthetic());
  to.key("agents").integer(players.agent_names.size()).key("steps").integer(players.steps);
  to.new_line().key("estimator").text(to_string(e.estimator)).key("samples").integer(e.samples);
  to.key("wanted").integer(e.wanted).key("interrupted").boolean(e.interrupted);
  to.key("evaluations").integer(e.evaluations).key("seed").integer(r.seed);
  to.new_line().key("baseline").raw(number(e.baseline)).key("total").raw(number(e.total));
  to.key("adds_risk").boolean(e.adds_risk()).key("gap").raw(number(e.gap));
  to.key("threshold").raw(number(r.threshold)).key("q").raw(number(r.q));
  if (!r.weights.empty()) to.key("weights").text(r.weights);
  if (!r.verdict.empty()) to.new_line().key("verdict").raw(r.verdict);
  to.new_line().key("metrics").open_object().key("L_tm").raw(number(m.latency)).key("T_star").integer_or_null(m.formed);
  to.key("G_ag").raw(number(m.agent_concentration)).key("C_ag").raw(number(m.instability_correlation));
  to.key("Z_ag").raw(number(m.synchronization)).key("G_be").raw(number(m.behaviour_concentration)).close_object();
  if (r.faithful) write_faithfulness(to, *r.faithful);
  const auto scores = [&](const char* label, const std::string& name, const scored& of, std::size_t i) {
    to.new_line().open_object().key(label).text(name);
    to.key("phi").raw(number(of.value[i])).key("error").raw(number(of.error[i]));
  };
  to.new_line().key("by_step").open_array();
  double running = 0;
  for (std::size_t t = 0; t < players.steps; ++t) {
    running += e.by_step.value[t];
    to.new_line().open_object().key("step").integer(t + 1).key("phi").raw(number(e.by_step.value[t]));
    to.key("error").raw(number(e.by_step.error[t])).key("cumulative").raw(number(running));
    if (t < r.risk_curve.size()) to.key("risk").raw(number(r.risk_curve[t]));
    to.close_object();
  }
  to.close_array().new_line().key("by_agent").open_array();
  for (std::size_t i = 0; i < players.agent_names.size(); ++i) {
    scores("agent", players.agent_names[i], e.by_agent, i);
    to.key("instability").raw(number(m.instability[i])).close_object();
  }
  to.close_array().new_line().key("by_behaviour").open_array();
  for (std::size_t k = 0; k < players.behaviour_names.size(); ++k) {
    scores("behaviour", players.behaviour_names[k], e.by_behaviour, k);
    to.close_object();
  }
  to.close_array().new_line().key("players").open_array();
  for (player_index p = 0; p < players.size(); ++p) {
    to.new_line().open_object().key("agent").integer(players.agent[p]).key("step").integer(players.step[p] + 1);
    to.key("name").text(players.name_of(p)).key("phi").raw(number(e.phi.value[p]));
    to.key("error").raw(number(e.phi.error[p])).close_object();
  }
  to.close_array().close_object();
  return out + '\n';
}

}  // namespace digd::shapley
