#include "analysis/shapley/social_replay.h"

#include <algorithm>
#include <bit>

namespace digd::shapley {

namespace {
constexpr std::size_t few_agents = 48;  // with at most so many agents a plain sum is faster than the tree
}

social_graph::social_graph(const social_trajectory& t) : agents(t.agents), steps(t.steps), belief(t.belief) {
  const std::size_t cells = agents * steps;
  posts.assign(cells, 0);
  view_begin.assign(cells + 1, 0);
  move_begin.assign(cells + 1, 0);
  reader_begin.assign(cells + 1, 0);
  const auto views_of = [&](std::size_t i, std::size_t s) {
    const std::size_t at = s * agents + i;
    return std::span(t.views).subspan(t.view_begin[at], t.view_begin[at + 1] - t.view_begin[at]);
  };
  for (std::size_t i = 0; i < agents; ++i) {
    for (std::size_t s = 0; s < steps; ++s) {
      const std::uint32_t cell = static_cast<std::uint32_t>(i * steps + s);
      posts[cell] = t.posts[s * agents + i];
      for (const social_view& v : views_of(i, s)) {
        const std::uint32_t author = static_cast<std::uint32_t>(v.author * steps + s);
        std::uint32_t move = none;
        if (v.reacts != reacts::none) {
          move = static_cast<std::uint32_t>(moves.size());
          moves.push_back({t.post_belief[s * agents + v.author], v.reacts == reacts::like ? 1.0 : -1.0, author});
        }
        views.push_back({author, move,
                         static_cast<std::int8_t>(v.reacts == reacts::like      ? 1
                                                  : v.reacts == reacts::dislike ? -1
                                                                                : 0)});
        ++reader_begin[author + 1];
      }
      view_begin[cell + 1] = static_cast<std::uint32_t>(views.size());
      move_begin[cell + 1] = static_cast<std::uint32_t>(moves.size());
    }
  }
  for (std::size_t c = 0; c < cells; ++c) reader_begin[c + 1] += reader_begin[c];
  readers.resize(views.size());
  std::vector<std::uint32_t> at(reader_begin.begin(), reader_begin.end() - 1);
  for (std::uint32_t cell = 0; cell < cells; ++cell) {
    for (std::uint32_t v = view_begin[cell]; v < view_begin[cell + 1]; ++v) {
      readers[at[views[v].other]++] = {cell, views[v].move, views[v].net};
    }
  }
}

social_state::social_state(const social_graph& g)
    : g_(g),
      kept_(g.posts.size(), 0),
      active_(g.moves.size(), 0),
      views_(g.posts.size(), 0),
      net_(g.posts.size(), 0),
      after_(g.posts.size(), 0.0),
      is_marked_(g.agents, 0),
      leaves_(g.agents <= few_agents ? 0 : std::bit_ceil(g.agents)),
      sum_(2 * leaves_, 0.0),
      square_(2 * leaves_, 0.0) {}

void social_state::load(std::span<const std::uint8_t> set) {
  std::copy(set.begin(), set.end(), kept_.begin());
  std::fill(views_.begin(), views_.end(), 0);
  std::fill(net_.begin(), net_.end(), 0);
  std::fill(active_.begin(), active_.end(), 0);
  for (std::uint32_t cell = 0; cell < kept_.size(); ++cell) {
    if (!kept_[cell]) continue;
    for (std::uint32_t v = g_.view_begin[cell]; v < g_.view_begin[cell + 1]; ++v) {
      const social_graph::link& view = g_.views[v];
      if (!kept_[view.other]) continue;
      count_view(view.other, view.net, 1);
      if (view.move != social_graph::none) active_[view.move] = 1;
    }
  }
  for (std::size_t i = 0; i < g_.agents; ++i) {
    double b = g_.belief[i];
    for (std::size_t cell = i * g_.steps; cell < (i + 1) * g_.steps; ++cell) {
      after_[cell] = b = advance(b, static_cast<std::uint32_t>(cell));
    }
    if (leaves_ > 0) {
      sum_[leaves_ + i] = b;
      square_[leaves_ + i] = b * b;
    }
  }
  for (std::size_t k = leaves_; k-- > 1;) {
    sum_[k] = sum_[2 * k] + sum_[2 * k + 1];
    square_[k] = square_[2 * k] + square_[2 * k + 1];
  }
}

void social_state::count_view(std::uint32_t author, std::int8_t net, int by) {
  views_[author] += by;
  net_[author] += by * net;
}

void social_state::mark(std::uint32_t cell) {
  const std::uint32_t agent = cell / static_cast<std::uint32_t>(g_.steps);
  if (is_marked_[agent]) return;
  is_marked_[agent] = 1;
  marked_.push_back(agent);
}

void social_state::toggle(std::uint32_t cell) {
  const bool on = kept_[cell] == 0;
  const int by = on ? 1 : -1;
  kept_[cell] = on;
  mark(cell);
  for (std::uint32_t v = g_.view_begin[cell]; v < g_.view_begin[cell + 1]; ++v) {
    const social_graph::link& view = g_.views[v];
    if (!kept_[view.other]) continue;
    const int net = net_[view.other];
    count_view(view.other, view.net, by);
    if (net != 0 || net_[view.other] != 0) mark(view.other);
    if (view.move != social_graph::none) active_[view.move] = on;
  }
  for (std::uint32_t r = g_.reader_begin[cell]; r < g_.reader_begin[cell + 1]; ++r) {
    const social_graph::link& reader = g_.readers[r];
    if (!kept_[reader.other]) continue;
    count_view(cell, reader.net, by);
    if (reader.move == social_graph::none) continue;
    active_[reader.move] = on;
    mark(reader.other);
  }
  const std::size_t step = cell % g_.steps;
  for (const std::uint32_t agent : marked_) {
    is_marked_[agent] = 0;
    replay(agent, step);
  }
  marked_.clear();
}

double social_state::advance(double b, std::uint32_t cell) const {
  for (std::uint32_t m = g_.move_begin[cell]; m < g_.move_begin[cell + 1]; ++m) {
    if (active_[m]) b = move_belief(b, g_.moves[m].post, g_.moves[m].sign);
  }
  if (net_[cell] != 0) b = clamp_belief(b * feedback(net_[cell], views_[cell]));
  return b;
}

void social_state::replay(std::size_t agent, std::size_t from) {
  const std::size_t first = agent * g_.steps;
  double b = from == 0 ? g_.belief[agent] : after_[first + from - 1];
  for (std::size_t cell = first + from; cell < first + g_.steps; ++cell) {
    b = advance(b, static_cast<std::uint32_t>(cell));
    if (b == after_[cell]) return;
    after_[cell] = b;
  }
  if (leaves_ > 0) set_leaf(agent, b);
}

void social_state::set_leaf(std::size_t agent, double b) {
  std::size_t k = leaves_ + agent;
  sum_[k] = b;
  square_[k] = b * b;
  while ((k /= 2) >= 1) {
    sum_[k] = sum_[2 * k] + sum_[2 * k + 1];
    square_[k] = square_[2 * k] + square_[2 * k + 1];
  }
}

double social_state::risk() const {
  if (leaves_ == 0) return risk_after(g_.steps - 1);
  const double share = 1.0 / static_cast<double>(g_.agents), mean = sum_[1] * share;
  return square_[1] * share - mean * mean;
}

double social_state::risk_after(std::size_t step) const {
  const double share = 1.0 / static_cast<double>(g_.agents);
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < g_.agents; ++i) sum += after_[i * g_.steps + step];
  for (std::size_t i = 0; i < g_.agents; ++i) {
    const double d = after_[i * g_.steps + step] - sum * share;
    squares += d * d;
  }
  return squares * share;
}

}  // namespace digd::shapley
