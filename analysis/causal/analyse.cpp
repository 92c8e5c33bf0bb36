#include "analysis/causal/analyse.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/causal/embedding.h"
#include "analysis/causal/factors/builtin.h"
#include "analysis/causal/factors/plain_name.h"
#include "analysis/causal/number_text.h"

namespace digd::causal {

std::string_view to_string(stage s) {
  constexpr std::string_view names[] = {"refused", "screening", "boundary", "orientation"};
  return names[static_cast<std::size_t>(s)];
}

std::string_view to_string(evidence e) {
  constexpr std::string_view names[] = {"screened", "candidate", "verified"};
  return names[static_cast<std::size_t>(e)];
}

std::string_view to_string(learner l) {
  constexpr std::string_view names[] = {"averaged", "iamb", "hiton", "add-prune"};
  return names[static_cast<std::size_t>(l)];
}

stage stage_for(const table& data, variable target, std::vector<std::string>& remarks) {
  const std::size_t n = data.rows();
  const std::string have = "There are " + std::to_string(n) + " runs. ";
  if (n < 30) {
    remarks.push_back(have + "With fewer than 30, no influence can be told from chance.");
    return stage::refused;
  }
  if (n < 100) {
    remarks.push_back(have + "With fewer than 100, only screening is possible: it finds relations, not causes.");
    return stage::screening;
  }
  if (data[target].discrete) {
    std::vector<std::size_t> count(data[target].levels, 0);
    for (std::uint8_t code : data[target].codes) ++count[code];
    std::sort(count.rbegin(), count.rend());
    const std::size_t rarer = count.size() > 1 ? count[1] : 0;
    if (n < 200 || rarer < 30) {
      remarks.push_back(have +
                        "For more than screening, an outcome with categories needs 200 runs, 30 of them in the rarer "
                        "category (here " +
                        std::to_string(rarer) + ").");
      return stage::screening;
    }
  }
  if (n < 500) {
    remarks.push_back(have + "With fewer than 500, influences are found, but not their directions.");
    return stage::boundary;
  }
  return stage::orientation;
}

namespace {

double squared_correlation(const embedding& e, variable a, variable b) {
  if (e.groups[a].empty() || e.groups[b].empty()) return 0;
  const double whole_a = e.residual(a, {}).log_det, whole_b = e.residual(b, {}).log_det;
  const gaussian_fit ab = e.residual(a, {b}), ba = e.residual(b, {a});
  // The share of a column's variance that the other column explains. The smaller share of the two directions counts.
  const auto share = [](double whole, const gaussian_fit& left, std::size_t width) {
    if (left.rank == 0) return 1.0;
    return left.rank < width ? 0.999 : 1 - std::exp((left.log_det - whole) / static_cast<double>(width));
  };
  return std::min(share(whole_a, ab, e.groups[a].size()), share(whole_b, ba, e.groups[b].size()));
}

class work {
 public:
  work(const table& data, variable target, const analysis_options& options)
      : data_(data), target_(target), options_(options) {}

  analysis run() {
    out_.reached = stage_for(data_, target_, out_.remarks);
    out_.graph = pdag(data_.size());
    if (out_.reached == stage::refused) return std::move(out_);
    find_twins();
    out_.gate = permutation_gate(data_, target_, factors_, options_.gate);
    if (!out_.gate.open) {
      out_.remarks.push_back("No factor is related to the outcome more closely than the best of " +
                             std::to_string(factors_.size()) + " would be by chance (p = " + rounded(out_.gate.p) +
                             "), so no lever is named.");
      return std::move(out_);
    }
    if (out_.reached == stage::screening) screen();
    else structure();
    return std::move(out_);
  }

 private:
  static std::string rounded(double x) {
    char text[32];
    std::snprintf(text, sizeof text, x < 0.001 ? "%.1e" : "%.3f", x);
    return text;
  }

  void find_twins() {
    const embedding e = embed(data_);
    for (variable v : known_first()) {
      if (const double r2 = squared_correlation(e, v, target_); r2 >= options_.near_deterministic) {
        out_.restating.push_back(v);
        out_.remarks.push_back("'" + plain(data_[v].name) + "' is equivalent to the outcome and is left out.");
        continue;
      }
      bool twin = false;
      for (variable u : factors_) {
        const double r2 = squared_correlation(e, u, v);
        if (r2 < options_.near_deterministic) continue;
        out_.twins.push_back({u, v, r2});
        out_.remarks.push_back(
            "Warning: '" + plain(data_[v].name) + "' is nearly a function of '" + plain(data_[u].name) +
            "'; they count as one factor here, because the data cannot show which of the two matters.");
        twin = true;
        break;
      }
      if (!twin) factors_.push_back(v);
    }
    std::sort(factors_.begin(), factors_.end());
  }

  // All columns but the target. Of two twins the first is kept, so factors with a known edge come first.
  variables known_first() const {
    variables out;
    for (variable v = 0; v < data_.size(); ++v) {
      if (v != target_) out.push_back(v);
    }
    const auto is_known = [this](variable v) {
      const auto& edges = options_.structure.known.required;
      return std::any_of(edges.begin(), edges.end(), [v](const auto& e) { return e.first == v || e.second == v; });
    };
    std::stable_partition(out.begin(), out.end(), is_known);
    return out;
  }

  void screen() {
    for (variable v : factors_) {
      if (out_.gate.adjusted[v] > options_.gate.level) continue;
      lever l;
      l.facts.factor = v;
      l.facts.p = out_.gate.adjusted[v];
      if (is_confirmed(v)) l.grade = evidence::verified;
      l.words = advice(l);
      out_.levers.push_back(std::move(l));
    }
    std::stable_sort(out_.levers.begin(), out_.levers.end(), [this](const lever& a, const lever& b) {
      return out_.gate.single[a.facts.factor] < out_.gate.single[b.facts.factor];
    });
  }

  // The table without dropped columns. Columns get new numbers there: `kept_` and `place_` translate.
  table reduced() {
    kept_ = factors_;
    kept_.push_back(target_);
    std::sort(kept_.begin(), kept_.end());
    place_.assign(data_.size(), data_.size());
    for (std::size_t i = 0; i < kept_.size(); ++i) place_[kept_[i]] = i;
    return data_.select(kept_);
  }

  knowledge translated(const knowledge& from) const {
    knowledge out;
    const auto move = [&](const auto& edges, auto& to) {
      for (const auto& [a, b] : edges) {
        if (place_[a] < data_.size() && place_[b] < data_.size()) to.emplace_back(place_[a], place_[b]);
      }
    };
    move(from.required, out.required);
    move(from.forbidden, out.forbidden);
    if (!from.tiers.empty()) {
      for (variable v : kept_) out.tiers.push_back(from.tiers[v]);
    }
    return out;
  }

  pdag spread(const pdag& small) const {
    pdag out(data_.size());
    for (variable i = 0; i < small.size(); ++i) {
      for (variable j = 0; j < small.size(); ++j) {
        if (small.directed(i, j)) out.direct(kept_[i], kept_[j]);
        if (small.undirected(i, j)) out.connect(kept_[i], kept_[j]);
      }
    }
    return out;
  }

  void structure() {
    const table part = reduced();
    structure_options options = options_.structure;
    options.known = translated(options.known);
    const graph_average small = options_.bootstrap > 0
                                    ? bootstrap_graphs(part, options, options_.bootstrap, options_.gate.seed)
                                    : learn_graph(part, options);
    std::vector<pdag> draws;
    for (const pdag& d : small.draws()) draws.push_back(spread(d));
    out_.structure = graph_average(std::move(draws), spread(small.best()));
    out_.graph = out_.structure.graph();
    orient_by_knowledge(out_.graph, options_.structure.known);
    out_.open_edges = ambiguous_edges(out_.structure, out_.graph, target_);
    if (out_.reached != stage::orientation) undirect();
    name_boundary(part);
    variables members;
    for (const auto& group : {out_.boundary, out_.downstream}) {
      for (const member& m : group) members.push_back(m.factor);
    }
    out_.causes = explain(out_.graph, target_, members, options_.roots, options_.confirmed);
    rank_levers();
  }

  // Removes directions that come from the data alone; directions that are known beforehand stay.
  void undirect() {
    const knowledge& known = options_.structure.known;
    for (variable i = 0; i < data_.size(); ++i) {
      for (variable j = i + 1; j < data_.size(); ++j) {
        if (out_.graph.adjacent(i, j)) out_.graph.connect(i, j);
      }
    }
    for (variable i = 0; i < data_.size(); ++i) {
      for (variable j = 0; j < data_.size(); ++j) {
        if (out_.graph.undirected(i, j) && (known.requires_edge(i, j) || known.forbids(j, i))) out_.graph.direct(i, j);
      }
    }
  }

  variables members_by(const table& part) const {
    const variable y = place_[target_];
    if (options_.learner == learner::add_prune) return add_and_prune(part, y, options_.boundary).members;
    const std::unique_ptr<ci_test> test = make_default_test(part);
    return options_.learner == learner::iamb ? iamb(*test, y, options_.boundary)
                                             : hiton_mb(*test, y, options_.boundary);
  }

  void name_boundary(const table& part) {
    variables found;
    if (options_.learner == learner::averaged) {
      found = out_.structure.boundary(target_, options_.structure.membership);
    } else {
      for (variable v : members_by(part)) found.push_back(kept_[v]);
    }
    const std::unique_ptr<ci_test> test = make_degenerate_gaussian(data_);
    for (variable v : found) {
      member m = facts_of(v);
      variables rest;
      for (variable u : found) {
        if (u != v) rest.push_back(u);
      }
      m.p_given_rest = test->test(v, target_, rest).p;
      const bool may_tell = out_.reached == stage::orientation || options_.structure.known.forbids(v, target_);
      (may_tell && m.downstream > 0.5 ? out_.downstream : out_.boundary).push_back(m);
    }
  }

  member facts_of(variable v) const {
    member m;
    m.factor = v;
    m.support = out_.structure.membership(target_, v);
    m.p = out_.gate.adjusted[v];
    std::size_t above = 0, below = 0;
    for (const pdag& d : out_.structure.draws()) {
      if (ancestors(d, {target_})[v]) ++above;
      else if (descendants(d, {target_})[v]) ++below;
    }
    const auto total = static_cast<double>(out_.structure.draws().size());
    m.upstream = static_cast<double>(above) / total;
    m.downstream = static_cast<double>(below) / total;
    return m;
  }

  std::vector<double> walk_weights() const {
    const std::size_t n = data_.size();
    std::vector<double> weights(n * n, 0.0);
    for (variable i = 0; i < n; ++i) {
      for (variable j = 0; j < n; ++j) {
        if (i != j && out_.graph.mark(i, j)) weights[i * n + j] = out_.structure.adjacent(i, j);
      }
    }
    return weights;
  }

  bool is_confirmed(variable v) const {
    return std::find(options_.confirmed.begin(), options_.confirmed.end(), std::pair(v, target_)) !=
           options_.confirmed.end();
  }

  // Candidates are the members that are not downstream, then their ancestors. Each must itself pass the gate, alone or,
  // for a member, given the rest of the boundary. The second test ignores clusters, so it does not count if there are
  // any.
  void rank_levers() {
    const std::vector<double> near = walk_from(target_, walk_weights(), data_.size());
    const auto consider = [&](const member& m, bool in_boundary) {
      const double p_given_others = std::min(1.0, m.p_given_rest * static_cast<double>(factors_.size()));
      const bool holds_given_others =
          in_boundary && options_.gate.cluster.empty() && p_given_others <= options_.gate.level;
      if (m.p > options_.gate.level && !holds_given_others) return;
      lever l;
      l.facts = m;
      l.in_boundary = in_boundary;
      l.nearness = near[m.factor];
      l.direction_open = !out_.graph.directed(m.factor, target_) && !ancestors(out_.graph, {target_})[m.factor];
      l.grade = is_confirmed(m.factor) ? evidence::verified : in_boundary ? evidence::candidate : evidence::screened;
      l.words = advice(l);
      out_.levers.push_back(std::move(l));
    };
    for (const member& m : out_.boundary) consider(m, true);
    const std::vector<char> above = ancestors(out_.graph, {target_});
    for (variable v : factors_) {
      const auto is_v = [v](const member& m) { return m.factor == v; };
      const bool member_already = std::any_of(out_.boundary.begin(), out_.boundary.end(), is_v) ||
                                  std::any_of(out_.downstream.begin(), out_.downstream.end(), is_v);
      if (above[v] && !member_already) consider(facts_of(v), false);
    }
    std::stable_sort(out_.levers.begin(), out_.levers.end(),
                     [](const lever& a, const lever& b) { return a.nearness > b.nearness; });
  }

  std::string advice(const lever& l) const {
    std::string words = effect_words(data_, target_, l.facts.factor);
    if (const std::string_view hint = advice_for(data_[l.facts.factor].name); !hint.empty()) {
      words += " To try: " + std::string(hint) + '.';
    } else {
      words += " To try: change " + plain(data_[l.facts.factor].name) + " alone in paired runs.";
    }
    return words;
  }

  const table& data_;
  variable target_;
  const analysis_options& options_;
  analysis out_;
  variables factors_, kept_;
  std::vector<std::size_t> place_;  // in `kept_`
};

}  // namespace

analysis analyse(const table& data, variable target, const analysis_options& options) {
  return work(data, target, options).run();
}

std::string effect_words(const table& data, variable target, variable factor) {
  const column& x = data[factor];
  const column& y = data[target];
  const auto value = [&](std::size_t r) {
    return y.discrete ? static_cast<double>(y.codes[r] + 1u == y.levels) : y.values[r];
  };
  const std::string text =
      y.discrete ? "the share of runs with " + plain(y.name) + " = " + (y.labels.empty() ? "1" : plain(y.labels.back()))
                 : "the mean of " + plain(y.name);
  if (x.discrete) {
    std::string out = "By " + plain(x.name) + ", " + text + " is";
    for (std::size_t level = 0; level < x.levels && level < 6; ++level) {
      double sum = 0, count = 0;
      for (std::size_t r = 0; r < data.rows(); ++r) {
        if (x.codes[r] == level) sum += value(r), ++count;
      }
      if (count > 0) out += (level ? ", " : " ") + three_digits(sum / count) + " (" + plain(x.labels[level]) + ")";
    }
    return out + '.';
  }
  std::vector<std::size_t> order(data.rows());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x.values[a] < x.values[b]; });
  const std::size_t third = std::max<std::size_t>(1, data.rows() / 3);
  double low = 0, high = 0;
  for (std::size_t i = 0; i < third; ++i) {
    low += value(order[i]);
    high += value(order[data.rows() - 1 - i]);
  }
  const auto size = static_cast<double>(third);
  return "From the third of the runs with the least " + plain(x.name) + " (up to " +
         three_digits(x.values[order[third - 1]]) + ") to the third with the most (from " +
         three_digits(x.values[order[data.rows() - third]]) + "), " + text + " changes from " +
         three_digits(low / size) + " to " + three_digits(high / size) + '.';
}

}  // namespace digd::causal
