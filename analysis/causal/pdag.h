// Partially directed graphs over variables: equivalence classes, separation, Markov boundaries.
//
// `pdag` is a matrix of marks: i → j if mark(i, j) and not mark(j, i), i — j if both. A DAG has no undirected edge and
// no cycle. Meant for up to a few hundred variables: memory is size², operations are polynomial in the size. Thread:
// one at a time while a graph changes; the functions keep no state. Failure: `extend` returns false.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/causal/factors/table.h"

namespace digd::causal {

class pdag {
 public:
  pdag() = default;
  explicit pdag(std::size_t size) : size_(size), marks_(size * size, 0) {}

  std::size_t size() const { return size_; }
  bool mark(variable i, variable j) const { return marks_[i * size_ + j] != 0; }
  bool adjacent(variable i, variable j) const { return mark(i, j) || mark(j, i); }
  bool directed(variable i, variable j) const { return mark(i, j) && !mark(j, i); }   // i → j
  bool undirected(variable i, variable j) const { return mark(i, j) && mark(j, i); }  // i — j
  variables parents(variable v) const;                                                // along directed edges
  variables children(variable v) const;                                               // along directed edges
  variables neighbours(variable v) const;                                             // by any edge
  std::size_t edges() const;

  void direct(variable i, variable j) { set(i, j, 1), set(j, i, 0); }
  void connect(variable i, variable j) { set(i, j, 1), set(j, i, 1); }
  void remove(variable i, variable j) { set(i, j, 0), set(j, i, 0); }

  bool operator==(const pdag&) const = default;

 private:
  void set(variable i, variable j, char on) { marks_[i * size_ + j] = on; }
  std::size_t size_ = 0;
  std::vector<char> marks_;
};

// Constraints known beforehand. A variable cannot cause a variable of an earlier tier; tier −1 means none.
struct knowledge {
  std::vector<std::pair<variable, variable>> required;   // from → to
  std::vector<std::pair<variable, variable>> forbidden;  // from → to
  std::vector<int> tiers;                                // by variable; empty: no tiers

  bool forbids(variable from, variable to) const;
  bool requires_edge(variable from, variable to) const;
  bool empty() const { return required.empty() && forbidden.empty() && tiers.empty(); }
};

// Meek's rules 1 to 4, until nothing changes.
void orient_by_meek(pdag& g);
// Directs existing edges as the knowledge demands, then applies Meek's rules.
void orient_by_knowledge(pdag& g, const knowledge& known);

// The equivalence class of a DAG (CPDAG): an edge is directed where all members of the class agree.
pdag completed(const pdag& dag);
// Finds a DAG of the class (Dor and Tarsi 1992). False if the class has none; `dag` is then a DAG for which a greedy
// search reversed few edges.
bool extend(const pdag& from, pdag& dag);
bool is_acyclic(const pdag& dag);  // considers directed edges only
variables topological_order(const pdag& dag);

// The number of pairs of variables whose marks differ: an edge more, an edge less, or another direction.
std::size_t structural_hamming_distance(const pdag& a, const pdag& b);

// Parents, children, and the children's other parents, in order of index.
variables markov_boundary(const pdag& dag, variable target);

// Whether z separates x from y in the DAG.
bool d_separated(const pdag& dag, variable x, variable y, const variables& z);

// By variable: 1 if it can be reached from the sources along directed edges. Includes the sources.
std::vector<char> descendants(const pdag& g, const variables& sources);
// By variable: 1 if it reaches one of the sinks along directed edges. Includes the sinks.
std::vector<char> ancestors(const pdag& g, const variables& sinks);

}  // namespace digd::causal
