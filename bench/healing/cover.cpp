#include "bench/healing/cover.h"

#include <algorithm>

namespace digd::bench {

cover::cover(range once) {
  if (once.size() > 0) pieces_.push_back({once, 1});
}

void cover::add(const cover& other) {
  struct edge {
    std::int64_t at;
    int change;
  };
  std::vector<edge> edges;
  for (const cover* part : {static_cast<const cover*>(this), &other}) {
    for (const piece& p : part->pieces_) {
      edges.push_back({p.where.begin, p.times});
      edges.push_back({p.where.end, -p.times});
    }
  }
  std::sort(edges.begin(), edges.end(), [](const edge& a, const edge& b) { return a.at < b.at; });
  std::vector<piece> sum;
  int times = 0;
  for (std::size_t i = 0; i < edges.size();) {
    const std::int64_t at = edges[i].at;
    for (; i < edges.size() && edges[i].at == at; ++i) times += edges[i].change;
    if (times == 0 || i == edges.size()) continue;
    const range here{at, edges[i].at};
    if (!sum.empty() && sum.back().times == times && sum.back().where.end == at) {
      sum.back().where.end = here.end;
    } else {
      sum.push_back({here, times});
    }
  }
  pieces_ = std::move(sum);
}

std::int64_t cover::distinct() const {
  std::int64_t n = 0;
  for (const piece& p : pieces_) n += p.where.size();
  return n;
}

std::int64_t cover::counted() const {
  std::int64_t n = 0;
  for (const piece& p : pieces_) n += p.where.size() * p.times;
  return n;
}

bool cover::is_exactly(range whole) const { return pieces_.size() == 1 && pieces_[0] == piece{whole, 1}; }

bool cover::holds_all_of(const cover& other) const {
  return std::all_of(other.pieces_.begin(), other.pieces_.end(),
                     [this](const piece& p) { return missing_in(p.where).empty(); });
}

bool cover::overlaps(const cover& other) const {
  for (const piece& a : pieces_) {
    for (const piece& b : other.pieces_) {
      if (a.where.begin < b.where.end && b.where.begin < a.where.end) return true;
    }
  }
  return false;
}

std::vector<range> cover::missing_in(range whole) const {
  std::vector<range> gaps;
  std::int64_t at = whole.begin;
  for (const piece& p : pieces_) {
    if (p.where.end <= at) continue;
    if (p.where.begin >= whole.end) break;
    if (p.where.begin > at) gaps.push_back({at, p.where.begin});
    at = p.where.end;
  }
  if (at < whole.end) gaps.push_back({at, whole.end});
  return gaps;
}

}  // namespace digd::bench
