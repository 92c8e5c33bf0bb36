#include "analysis/shapley/twin.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/shapley/clones.h"
#include "analysis/shapley/volatility.h"

namespace digd::shapley {

namespace {

using lane_values = double[lanes];

// One stock and day with orders. The close depends only on the set of users whose orders are kept, so with few users
// the closes of all sets are computed in advance.
struct session {
  static constexpr std::size_t max_users_in_table = 10;
  std::size_t stock = 0;
  std::vector<limit_order> orders;  // by price
  std::vector<player_index> users;  // by slot
  std::vector<std::int32_t> close;  // by set of slots; empty: too many users

  bool in_table() const { return !close.empty(); }
  std::int32_t run(std::uint64_t set) const {
    return auction(orders, [set](const limit_order& o) { return (set >> o.slot & 1) != 0; });
  }
};

struct day {
  std::vector<session> sessions;  // by stock
};

struct index_sums {
  alignas(64) lane_values traded_weight, traded, ordered_weight, ordered, total;
};

// Adds a stock's closes to the day's sums. `last` is the close where nothing trades.
DIGD_CLONES
void add_stock(const std::int32_t* close, const std::int32_t* has_orders, double weight, double* last, index_sums& to) {
  for (std::size_t l = 0; l < lanes; ++l) {
    const bool trades = close[l] > 0;
    const double price = trades ? static_cast<double>(close[l]) : last[l];
    last[l] = price;
    const double value = weight * price;
    to.total[l] += value;
    to.ordered_weight[l] += has_orders[l] ? weight : 0;
    to.ordered[l] += has_orders[l] ? value : 0;
    to.traded_weight[l] += trades ? weight : 0;
    to.traded[l] += trades ? value : 0;
  }
}

// Sets `bit` in out[l] where `mask` has bit l.
DIGD_CLONES
void add_slot(lane_mask mask, std::uint16_t bit, std::uint16_t* out) {
  for (std::size_t l = 0; l < lanes; ++l) {
    out[l] = static_cast<std::uint16_t>(out[l] | (static_cast<std::uint16_t>(mask >> l & 1) * bit));
  }
}

class twin_game final : public game {
 public:
  explicit twin_game(twin_trajectory t) : t_(std::move(t)), days_(t_.steps) {
    threshold_ = t_.threshold;
    synthetic_ = t_.synthetic;
    players_.steps = t_.steps;
    for (std::size_t i = 0; i < t_.agents; ++i) players_.agent_names.push_back("trader " + std::to_string(i + 1));
    for (const char* name : stock_names) players_.behaviour_names.push_back(name);
    for (const double w : stock_weights) all_weight_ += w;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<const twin_order*>> by_player;
    for (const twin_order& o : t_.orders) by_player[{o.day, o.user}].push_back(&o);
    for (const auto& [day_and_user, orders] : by_player) add_player(day_and_user.first, day_and_user.second, orders);
    for (day& d : days_) {
      for (session& s : d.sessions) complete(s);
      std::sort(d.sessions.begin(), d.sessions.end(),
                [](const session& a, const session& b) { return a.stock < b.stock; });
    }
  }

  std::string_view kind() const override { return "twinmarket"; }
  std::string title() const override {
    return "twinmarket, " + std::to_string(t_.agents) + " users, " + std::to_string(t_.steps) + " days";
  }
  std::unique_ptr<evaluator> make_evaluator() const override;
  void add_content(digest& to) const override {
    to.add(std::string_view("twinmarket"));
    to.add(static_cast<std::uint64_t>(t_.agents));
    to.add(static_cast<std::uint64_t>(t_.steps));
    to.add(std::span<const std::int32_t>(t_.first_cents));
    for (const twin_order& o : t_.orders) {
      to.add(std::uint64_t{o.day} << 32 | std::uint64_t{o.user} << 16 | std::uint64_t{o.stock} << 1 | o.sell);
      to.add(static_cast<std::uint64_t>(o.cents) << 32 | static_cast<std::uint32_t>(o.lots));
    }
  }
  std::vector<double> risk_curve() const override;

  const twin_trajectory& recorded() const { return t_; }
  const day& on(std::size_t d) const { return days_[d]; }
  double all_weight() const { return all_weight_; }

 private:
  void add_player(std::uint32_t on_day, std::uint32_t user, const std::vector<const twin_order*>& orders) {
    const player_index p = static_cast<player_index>(players_.size());
    std::vector<std::uint16_t> traded;
    for (const twin_order* o : orders) {
      if (std::find(traded.begin(), traded.end(), o->stock) == traded.end()) traded.push_back(o->stock);
      std::vector<session>& sessions = days_[on_day].sessions;
      auto at = std::find_if(sessions.begin(), sessions.end(), [&](const session& s) { return s.stock == o->stock; });
      if (at == sessions.end()) at = sessions.insert(sessions.end(), session{.stock = o->stock});
      if (at->users.empty() || at->users.back() != p) at->users.push_back(p);
      at->orders.push_back({o->cents, o->lots, o->sell, static_cast<std::uint8_t>(at->users.size() - 1)});
    }
    std::sort(traded.begin(), traded.end());
    players_.add(user, on_day, traded, on_day + 1 == t_.steps);
  }
  static void complete(session& s) {
    std::stable_sort(s.orders.begin(), s.orders.end(),
                     [](const limit_order& a, const limit_order& b) { return a.cents < b.cents; });
    if (s.users.size() > session::max_users_in_table) return;
    s.close.resize(std::size_t{1} << s.users.size());
    for (std::size_t set = 0; set < s.close.size(); ++set) s.close[set] = s.run(set);
  }

  twin_trajectory t_;
  std::vector<day> days_;
  double all_weight_ = 0;
};

class twin_evaluator final : public evaluator {
 public:
  explicit twin_evaluator(const twin_game& g) : g_(g) {}

  bool values(std::span<const lane_mask> kept, std::size_t count, double* out) override {
    alignas(64) lane_values before, change = {}, error = {}, risk = {};
    begin();
    for (std::size_t t = 0; t + 1 < g_.recorded().steps; ++t) {
      alignas(64) lane_values price;
      trade(t, kept, price);
      for (std::size_t l = 0; t > 0 && l < count; ++l) {
        const double pi = price[l] == before[l] ? 0 : std::log(price[l] / before[l]);
        const double e = pi - change[l];
        if (t == 2) risk[l] = e * e;
        if (t > 2) risk[l] = decay * risk[l] + (1 - decay) * error[l] * error[l];
        change[l] = pi;
        error[l] = e;
      }
      std::copy_n(price, lanes, before);
    }
    for (std::size_t l = 0; l < count; ++l) out[l] = decay * risk[l] + (1 - decay) * error[l] * error[l];
    return true;
  }

  void begin() {
    for (std::size_t s = 0; s < stock_count; ++s) std::fill_n(last_[s], lanes, g_.recorded().first_cents[s]);
  }

  // One day: the index price of each lane, weighted over the stocks that trade; if none, over those with orders; if
  // none, over all.
  void trade(std::size_t t, std::span<const lane_mask> kept, double* price) {
    static constexpr std::int32_t nothing[lanes] = {};
    index_sums sums{};
    auto next = g_.on(t).sessions.begin();
    for (std::size_t stock = 0; stock < stock_count; ++stock) {
      if (next == g_.on(t).sessions.end() || next->stock != stock) {
        add_stock(nothing, nothing, stock_weights[stock], last_[stock], sums);
        continue;
      }
      std::int32_t close[lanes], has_orders[lanes];
      closes(*next++, kept, close, has_orders);
      add_stock(close, has_orders, stock_weights[stock], last_[stock], sums);
    }
    for (std::size_t l = 0; l < lanes; ++l) {
      price[l] = sums.traded_weight[l] > 0    ? sums.traded[l] / sums.traded_weight[l]
                 : sums.ordered_weight[l] > 0 ? sums.ordered[l] / sums.ordered_weight[l]
                                              : sums.total[l] / g_.all_weight();
    }
  }

 private:
  static void closes(const session& s, std::span<const lane_mask> kept, std::int32_t* close, std::int32_t* has_orders) {
    if (s.in_table()) {
      alignas(64) std::uint16_t set[lanes] = {};
      for (std::size_t j = 0; j < s.users.size(); ++j) {
        if (const lane_mask m = kept[s.users[j]]; m != 0) add_slot(m, static_cast<std::uint16_t>(1u << j), set);
      }
      for (std::size_t l = 0; l < lanes; ++l) {
        close[l] = s.close[set[l]];
        has_orders[l] = set[l] != 0;
      }
      return;
    }
    for (std::size_t l = 0; l < lanes; ++l) {
      has_orders[l] = 0;
      bool same = l > 0;
      for (const player_index p : s.users) {
        has_orders[l] |= kept[p] >> l & 1;
        same = same && (kept[p] >> l & 1) == (kept[p] >> (l - 1) & 1);
      }
      close[l] = same ? close[l - 1]
                      : auction(s.orders, [&](const limit_order& o) { return (kept[s.users[o.slot]] >> l & 1) != 0; });
    }
  }

  const twin_game& g_;
  alignas(64) double last_[stock_count][lanes];
};

std::unique_ptr<evaluator> twin_game::make_evaluator() const { return std::make_unique<twin_evaluator>(*this); }

std::vector<double> twin_game::risk_curve() const {
  twin_evaluator replay(*this);
  const std::vector<lane_mask> kept(size(), 1);  // lane 0: all, lane 1: none
  std::vector<double> with(t_.steps), without(t_.steps);
  replay.begin();
  for (std::size_t t = 0; t < t_.steps; ++t) {
    alignas(64) lane_values price;
    replay.trade(t, kept, price);
    with[t] = price[0];
    without[t] = price[1];
  }
  std::vector<double> curve = volatility_curve(with);
  const std::vector<double> safe = volatility_curve(without);
  for (std::size_t t = 0; t < t_.steps; ++t) curve[t] -= safe[t];
  return curve;
}

}  // namespace

std::string twin_trajectory::fault() const {
  if (agents == 0 || agents > 250) return "agents: 1 to 250";
  if (steps < min_steps || steps > 10'000) return "steps: 4 to 10000";
  for (const std::int32_t p : first_cents) {
    if (p <= 0) return "first_cents: ten prices, positive";
  }
  if (orders.size() > 10'000'000) return "orders: at most 10^7";
  std::size_t before = 0;
  for (const twin_order& o : orders) {
    if (o.day >= steps || o.day < before) return "orders: by day, days 1 to steps";
    if (o.user >= agents) return "orders: a user is one of the agents";
    if (o.stock >= stock_count) return "orders: a stock is one of ten";
    if (o.sell > 1 || o.cents <= 0 || o.lots <= 0) return "orders: buy or sell, price and volume positive";
    before = o.day;
  }
  return {};
}

std::unique_ptr<game> make_twin_game(twin_trajectory t) { return std::make_unique<twin_game>(std::move(t)); }

}  // namespace digd::shapley
