#include "analysis/causal/pdag.h"

#include <algorithm>
#include <deque>

namespace digd::causal {

variables pdag::parents(variable v) const {
  variables out;
  for (variable i = 0; i < size_; ++i) {
    if (directed(i, v)) out.push_back(i);
  }
  return out;
}

variables pdag::children(variable v) const {
  variables out;
  for (variable i = 0; i < size_; ++i) {
    if (directed(v, i)) out.push_back(i);
  }
  return out;
}

variables pdag::neighbours(variable v) const {
  variables out;
  for (variable i = 0; i < size_; ++i) {
    if (adjacent(v, i)) out.push_back(i);
  }
  return out;
}

std::size_t pdag::edges() const {
  std::size_t count = 0;
  for (variable i = 0; i < size_; ++i) {
    for (variable j = i + 1; j < size_; ++j) count += adjacent(i, j);
  }
  return count;
}

bool knowledge::forbids(variable from, variable to) const {
  if (!tiers.empty() && tiers[from] >= 0 && tiers[to] >= 0 && tiers[from] > tiers[to]) return true;
  const std::pair edge(from, to), back(to, from);
  return std::find(forbidden.begin(), forbidden.end(), edge) != forbidden.end() ||
         std::find(required.begin(), required.end(), back) != required.end();
}

bool knowledge::requires_edge(variable from, variable to) const {
  return std::find(required.begin(), required.end(), std::pair(from, to)) != required.end();
}

namespace {

// Whether one of Meek's four rules directs i — j as i → j.
bool meek_directs(const pdag& g, variable i, variable j) {
  const std::size_t n = g.size();
  for (variable k = 0; k < n; ++k) {
    if (k == i || k == j) continue;
    if (g.directed(k, i) && !g.adjacent(k, j)) return true;  // 1: i ← j would make a new collider
    if (g.directed(i, k) && g.directed(k, j)) return true;   // 2: i ← j would make a cycle
    if (!g.undirected(i, k)) continue;
    for (variable l = 0; l < n; ++l) {
      if (l == i || l == j || l == k) continue;
      if (g.undirected(i, l) && g.directed(k, j) && g.directed(l, j) && !g.adjacent(k, l)) return true;  // 3
      if (g.directed(k, l) && g.directed(l, j) && g.adjacent(i, l) && !g.adjacent(k, j)) return true;    // 4
    }
  }
  return false;
}

}  // namespace

void orient_by_meek(pdag& g) {
  for (bool changed = true; changed;) {
    changed = false;
    for (variable i = 0; i < g.size(); ++i) {
      for (variable j = 0; j < g.size(); ++j) {
        if (i == j || !g.undirected(i, j) || !meek_directs(g, i, j)) continue;
        g.direct(i, j);
        changed = true;
      }
    }
  }
}

void orient_by_knowledge(pdag& g, const knowledge& known) {
  for (variable i = 0; i < g.size(); ++i) {
    for (variable j = 0; j < g.size(); ++j) {
      if (i == j || !g.adjacent(i, j)) continue;
      if (known.requires_edge(i, j) || (g.undirected(i, j) && known.forbids(j, i) && !known.forbids(i, j)))
        g.direct(i, j);
    }
  }
  orient_by_meek(g);
}

// The skeleton with its colliders, closed under Meek's rules, is the completed graph (Meek 1995).
pdag completed(const pdag& dag) {
  const std::size_t n = dag.size();
  pdag out(n);
  for (variable i = 0; i < n; ++i) {
    for (variable j = 0; j < n; ++j) {
      if (dag.directed(i, j)) out.connect(i, j);
    }
  }
  for (variable v = 0; v < n; ++v) {
    const variables in = dag.parents(v);
    for (std::size_t a = 0; a < in.size(); ++a) {
      for (std::size_t b = a + 1; b < in.size(); ++b) {
        if (!dag.adjacent(in[a], in[b])) out.direct(in[a], v), out.direct(in[b], v);
      }
    }
  }
  orient_by_meek(out);
  return out;
}

namespace {

// Whether v can be a sink of the rest: no edge leaves it, and each undirected neighbour is adjacent to all its others.
bool is_possible_sink(const pdag& g, const std::vector<char>& gone, variable v) {
  const std::size_t n = g.size();
  for (variable u = 0; u < n; ++u) {
    if (gone[u] || u == v || !g.adjacent(u, v)) continue;
    if (g.directed(v, u)) return false;
    if (!g.undirected(u, v)) continue;
    for (variable w = 0; w < n; ++w) {
      if (!gone[w] && w != u && w != v && g.adjacent(w, v) && !g.adjacent(w, u)) return false;
    }
  }
  return true;
}

}  // namespace

bool extend(const pdag& from, pdag& dag) {
  const std::size_t n = from.size();
  dag = from;
  std::vector<char> gone(n, 0);
  bool consistent = true;
  for (std::size_t left = n; left > 0; --left) {
    variable sink = n;
    for (variable v = 0; v < n && sink == n; ++v) {
      if (!gone[v] && is_possible_sink(from, gone, v)) sink = v;
    }
    if (sink == n) {  // no extension: take the variable with the fewest outgoing edges and reverse these
      consistent = false;
      std::size_t fewest_out = n + 1;
      for (variable v = 0; v < n; ++v) {
        if (gone[v]) continue;
        std::size_t out = 0;
        for (variable u = 0; u < n; ++u) out += !gone[u] && from.directed(v, u);
        if (out < fewest_out) fewest_out = out, sink = v;
      }
    }
    for (variable u = 0; u < n; ++u) {
      if (!gone[u] && u != sink && from.adjacent(u, sink)) dag.direct(u, sink);
    }
    gone[sink] = 1;
  }
  return consistent;
}

variables topological_order(const pdag& dag) {
  const std::size_t n = dag.size();
  std::vector<std::size_t> waits(n, 0);
  for (variable v = 0; v < n; ++v) waits[v] = dag.parents(v).size();
  variables order;
  std::vector<char> taken(n, 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (variable v = 0; v < n; ++v) {
      if (taken[v] || waits[v] != 0) continue;
      taken[v] = 1;
      moved = true;
      order.push_back(v);
      for (variable c : dag.children(v)) --waits[c];
    }
  }
  return order;
}

bool is_acyclic(const pdag& dag) { return topological_order(dag).size() == dag.size(); }

std::size_t structural_hamming_distance(const pdag& a, const pdag& b) {
  std::size_t distance = 0;
  for (variable i = 0; i < a.size(); ++i) {
    for (variable j = i + 1; j < a.size(); ++j) {
      distance += a.mark(i, j) != b.mark(i, j) || a.mark(j, i) != b.mark(j, i);
    }
  }
  return distance;
}

variables markov_boundary(const pdag& dag, variable target) {
  std::vector<char> in(dag.size(), 0);
  for (variable p : dag.parents(target)) in[p] = 1;
  for (variable c : dag.children(target)) {
    in[c] = 1;
    for (variable p : dag.parents(c)) in[p] = 1;
  }
  in[target] = 0;
  variables out;
  for (variable v = 0; v < dag.size(); ++v) {
    if (in[v]) out.push_back(v);
  }
  return out;
}

// Koller and Friedman 2009, algorithm 3.1: follows active trails and remembers the direction of arrival.
bool d_separated(const pdag& dag, variable x, variable y, const variables& z) {
  const std::size_t n = dag.size();
  std::vector<char> given(n, 0);
  for (variable v : z) given[v] = 1;
  const std::vector<char> above = ancestors(dag, z);
  enum : char { up = 1, down = 2 };  // came from a child; came from a parent
  std::vector<char> seen(n, 0);
  std::deque<std::pair<variable, char>> todo{{x, up}};
  while (!todo.empty()) {
    const auto [v, way] = todo.front();
    todo.pop_front();
    if (seen[v] & way) continue;
    seen[v] |= way;
    if (v == y && !given[v]) return false;
    const bool goes_up = way == up ? !given[v] : above[v];
    for (variable u = 0; u < n; ++u) {
      if (goes_up && dag.directed(u, v)) todo.emplace_back(u, up);
      if (!given[v] && dag.directed(v, u)) todo.emplace_back(u, down);
    }
  }
  return true;
}

namespace {

std::vector<char> reach(const pdag& g, const variables& from, bool forwards) {
  std::vector<char> in(g.size(), 0);
  variables todo;
  for (variable v : from) {
    if (!in[v]) todo.push_back(v);
    in[v] = 1;
  }
  while (!todo.empty()) {
    const variable v = todo.back();
    todo.pop_back();
    for (variable u = 0; u < g.size(); ++u) {
      if (in[u] || !(forwards ? g.directed(v, u) : g.directed(u, v))) continue;
      in[u] = 1;
      todo.push_back(u);
    }
  }
  return in;
}

}  // namespace

std::vector<char> descendants(const pdag& g, const variables& sources) { return reach(g, sources, true); }
std::vector<char> ancestors(const pdag& g, const variables& sinks) { return reach(g, sinks, false); }

}  // namespace digd::causal
