// Seeded synthetic trajectories that reach an extreme event. No language model acted in them.
//
// Agents follow simple rules with a disturbance towards the end. Attempts are repeated until the observed risk is
// highest at the last step by a margin. The threshold ρ lies between that risk and the highest risk before, so that T
// is the first step at which the risk exceeds ρ (section 3.1). The same arguments give the same trajectory.
#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/shapley/econ.h"
#include "analysis/shapley/purposes.h"
#include "analysis/shapley/social.h"
#include "analysis/shapley/twin.h"

namespace digd::shapley {

namespace {

constexpr std::uint64_t max_attempts = 20'000;

// The threshold ρ; none if the risk at the last step does not stand out.
std::optional<double> threshold_of(const std::vector<double>& curve) {
  const double last = curve.back();
  const double before = std::max(0.0, *std::max_element(curve.begin(), curve.end() - 1));
  if (!(last > 0) || last < 1.05 * before) return {};
  return (last + before) / 2;
}

// The first attempt that reaches an event. If none does, the last attempt, with its final risk as ρ.
template <class Trajectory, class Play, class Make>
Trajectory first_event(std::uint64_t seed, Play play, Make make) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    random_stream draw(seed, purpose::generator, attempt);
    Trajectory t = play(draw);
    t.synthetic = true;
    t.seed = seed;
    const std::vector<double> curve = make(t)->risk_curve();
    const std::optional<double> rho = threshold_of(curve);
    t.threshold = rho.value_or(curve.back());
    if (rho || attempt + 1 == max_attempts) return t;
  }
}

std::uint8_t to_rate(double share) { return static_cast<std::uint8_t>(std::lround(50 * std::clamp(share, 0.0, 1.0))); }

econ_trajectory play_econ(std::size_t agents, std::size_t steps, random_stream& draw) {
  econ_trajectory t;
  t.agents = agents;
  t.steps = steps;
  // Skills: means of the order statistics over 1,000 draws of min(950, 949·Pareto(8) + 1), a Lomax variable.
  t.skill.assign(agents, 0);
  std::vector<double> sample(agents);
  for (int k = 0; k < 1000; ++k) {
    for (double& s : sample) s = std::min(950.0, 949 * (std::pow(1 - draw.uniform(), -1.0 / 8) - 1) + 1);
    std::sort(sample.begin(), sample.end());
    for (std::size_t i = 0; i < agents; ++i) t.skill[i] += sample[i] / 1000;
  }
  const std::size_t shock =
      steps - std::max<std::size_t>(2, static_cast<std::size_t>(draw.uniform(0.1, 0.5) * static_cast<double>(steps)));
  std::vector<double> diligence(agents), thrift(agents), nerves(agents);
  for (std::size_t i = 0; i < agents; ++i) {
    diligence[i] = draw.uniform(0.8, 1.0);
    thrift[i] = draw.uniform(0.25, 0.9);
    nerves[i] = draw.chance(0.4) ? draw.uniform(0.5, 1.0) : draw.uniform(0.0, 0.2);
  }
  std::vector<std::uint16_t> order(agents);
  for (std::size_t i = 0; i < agents; ++i) order[i] = static_cast<std::uint16_t>(i);
  for (std::size_t s = 0; s < steps; ++s) {
    const bool rush = (s + steps) % 2 == 0;  // hoarding and spending alternate, more strongly towards the end
    const double strength =
        s < shock ? 0.15 : 0.4 + 0.6 * static_cast<double>(s - shock + 1) / static_cast<double>(steps - shock);
    for (std::size_t i = 0; i < agents; ++i) {
      const bool panics = draw.chance(nerves[i] * strength);
      const double share =
          panics ? (rush ? draw.uniform(0.8, 1.0) : draw.uniform(0.0, 0.15)) : thrift[i] + 0.08 * draw.normal();
      t.works.push_back(draw.chance(panics ? 0.35 : diligence[i]) ? 1 : 0);
      t.rate.push_back(to_rate(share));
      t.skill_draw.push_back(draw.uniform());
    }
    draw.shuffle(std::span(order));
    t.order.insert(t.order.end(), order.begin(), order.end());
    t.price_draw.push_back(draw.uniform());
  }
  return t;
}

social_trajectory play_social(std::size_t agents, std::size_t steps, std::size_t views, random_stream& draw) {
  social_trajectory t;
  t.agents = agents;
  t.steps = steps;
  for (std::size_t i = 0; i < agents; ++i) t.belief.push_back(draw.uniform(-0.5, 0.5));
  std::vector<double> b = t.belief;
  t.view_begin.push_back(0);
  std::vector<std::uint32_t> authors;
  std::vector<int> seen(agents), net(agents);
  for (std::size_t s = 0; s < steps; ++s) {
    authors.clear();
    std::fill(seen.begin(), seen.end(), 0);
    std::fill(net.begin(), net.end(), 0);
    const std::vector<double> values = b;
    for (std::size_t i = 0; i < agents; ++i) {
      const bool posts = draw.chance(0.5 + 0.5 * std::abs(b[i]));  // eq. 31
      t.posts.push_back(posts);
      t.post_belief.push_back(posts ? values[i] : 0);
      if (posts) authors.push_back(static_cast<std::uint32_t>(i));
    }
    for (std::size_t i = 0; i < agents; ++i) {
      const std::size_t first = t.views.size();
      for (std::size_t k = 0; k < views && !authors.empty(); ++k) {
        const std::uint32_t author = authors[draw.below(static_cast<std::uint32_t>(authors.size()))];
        const auto same = [&](const social_view& v) { return v.author == author; };
        if (author == i || std::any_of(t.views.begin() + static_cast<std::ptrdiff_t>(first), t.views.end(), same))
          continue;
        const double p = values[author];
        reacts reaction = reacts::none;
        if (draw.chance(0.4 + 0.3 * std::abs(b[i]))) {  // eq. 32
          const bool kin = p * b[i] > 0 || std::abs(p - b[i]) < 0.25;
          reaction = draw.chance(kin ? 0.9 : 0.2) ? reacts::like : reacts::dislike;
        }
        t.views.push_back({author, reaction});
        ++seen[author];
        if (reaction == reacts::none) continue;
        net[author] += reaction == reacts::like ? 1 : -1;
        b[i] = move_belief(b[i], p, reaction == reacts::like ? 1 : -1);
      }
      t.view_begin.push_back(static_cast<std::uint32_t>(t.views.size()));
    }
    for (const std::uint32_t a : authors) b[a] = clamp_belief(b[a] * feedback(net[a], seen[a]));
  }
  return t;
}

twin_trajectory play_twin(std::size_t agents, std::size_t steps, random_stream& draw) {
  twin_trajectory t;
  t.agents = agents;
  t.steps = steps;
  std::array<double, stock_count> price{};
  for (std::size_t s = 0; s < stock_count; ++s) {
    t.first_cents[s] = static_cast<std::int32_t>(draw.uniform(950, 1050));
    price[s] = t.first_cents[s];
  }
  std::vector<double> activity(agents), nerves(agents);
  for (std::size_t i = 0; i < agents; ++i) {
    activity[i] = draw.uniform(0.5, 0.95);
    nerves[i] = draw.chance(0.4) ? draw.uniform(0.5, 1.0) : draw.uniform(0.0, 0.3);
  }
  const std::size_t crash = steps - 2 - draw.below(static_cast<std::uint32_t>(std::max<std::size_t>(1, steps / 8)));
  std::vector<limit_order> book[stock_count];
  for (std::size_t d = 0; d < steps; ++d) {
    for (auto& b : book) b.clear();
    for (std::size_t i = 0; i < agents; ++i) {
      if (!draw.chance(activity[i])) continue;
      const bool panics = d >= crash && draw.chance(nerves[i]);
      const std::size_t stocks = 1 + draw.below(panics ? 5 : 3);
      for (std::size_t k = 0; k < stocks; ++k) {
        const std::uint8_t stock = static_cast<std::uint8_t>(draw.below(stock_count));
        const bool sell = draw.chance(panics ? 0.85 : 0.5);
        const double edge =
            panics ? (sell ? draw.uniform(-0.12, -0.04) : draw.uniform(-0.12, -0.02)) : 0.012 * draw.normal();
        const std::int32_t cents = std::max(1, static_cast<std::int32_t>(std::lround(price[stock] * (1 + edge))));
        const std::int32_t lots = 1 + static_cast<std::int32_t>(draw.below(panics ? 60 : 20));
        t.orders.push_back({static_cast<std::uint16_t>(d), static_cast<std::uint16_t>(i), stock,
                            static_cast<std::uint8_t>(sell), cents, lots});
        book[stock].push_back({cents, lots, static_cast<std::uint8_t>(sell), 0});
      }
    }
    for (std::size_t s = 0; s < stock_count; ++s) {
      std::sort(book[s].begin(), book[s].end(), [](const auto& a, const auto& b) { return a.cents < b.cents; });
      const std::int32_t close = auction(book[s], [](const limit_order&) { return true; });
      if (close > 0) price[s] = close;
    }
  }
  return t;
}

}  // namespace

econ_trajectory generate_econ(std::size_t agents, std::size_t steps, std::uint64_t seed) {
  return first_event<econ_trajectory>(
      seed, [&](random_stream& d) { return play_econ(agents, steps, d); }, make_econ_game);
}

social_trajectory generate_social(std::size_t agents, std::size_t steps, std::size_t views, std::uint64_t seed) {
  return first_event<social_trajectory>(
      seed, [&](random_stream& d) { return play_social(agents, steps, views, d); }, make_social_game);
}

twin_trajectory generate_twin(std::size_t agents, std::size_t steps, std::uint64_t seed) {
  return first_event<twin_trajectory>(
      seed, [&](random_stream& d) { return play_twin(agents, steps, d); }, make_twin_game);
}

}  // namespace digd::shapley
