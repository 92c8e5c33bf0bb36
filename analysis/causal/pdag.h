// Graphs over variables: directed, undirected and mixed edges; equivalence classes, separation, boundaries.
//
// `pdag` is a matrix of marks: i → j if mark(i, j) and not mark(j, i), i — j if both. A DAG is one without undirected
// edges and cycles. Sizes: up to a few hundred variables; operations are polynomial in that.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/causal/table.h"

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
  variables parents(variable v) const;                                                // of directed edges
  variables children(variable v) const;                                               // likewise
  variables neighbours(variable v) const;                                             // of any edge
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

// What is known beforehand. Tiers: a variable cannot cause one of an earlier tier; −1 is no tier.
struct knowledge {
  std::vector<std::pair<variable, variable>> required;   // from → to
  std::vector<std::pair<variable, variable>> forbidden;  // from → to
  std::vector<int> tiers;                                // by variable; empty: none

  bool forbids(variable from, variable to) const;
  bool requires_edge(variable from, variable to) const;
  bool empty() const { return required.empty() && forbidden.empty() && tiers.empty(); }
};

// Meek's rules 1 to 4, until nothing changes.
void orient_by_meek(pdag& g);
// Directs what the knowledge decides about the edges that are there, then Meek's rules.
void orient_by_knowledge(pdag& g, const knowledge& known);

// The completed graph of a DAG's equivalence class: directed where all its members agree.
pdag completed(const pdag& dag);
// Some DAG of the class (Dor and Tarsi 1992). False if there is none; `dag` is then the best that was reached.
bool extend(const pdag& from, pdag& dag);
bool is_acyclic(const pdag& dag);  // of its directed edges
variables topological_order(const pdag& dag);

// The pairs of variables on which the two graphs differ: an edge too many, too few, or another way.
std::size_t structural_hamming_distance(const pdag& a, const pdag& b);

// Parents, children, and the children's other parents, in order of index.
variables markov_boundary(const pdag& dag, variable target);

// Whether z separates x from y in the DAG (reachability along active paths).
bool d_separated(const pdag& dag, variable x, variable y, const variables& z);

// Everything that can be reached from the sources along directed edges, sources included.
std::vector<char> descendants(const pdag& g, const variables& sources);
// Everything that reaches one of the sinks along directed edges, sinks included.
std::vector<char> ancestors(const pdag& g, const variables& sinks);

}  // namespace digd::causal
