#include "graph/lineage.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>
#include <iterator>
#include <utility>

namespace digd::graph {

namespace {

bool earlier(const generator_ptr& a, const generator_ptr& b) { return a->ordinal < b->ordinal; }

generators too_many() {
  boost::intrusive_ptr<generator_set> set(new generator_set);
  set->overflow = true;
  return set;
}

bool includes(const generator_set& whole, const generator_set& part) {
  return std::includes(whole.members.begin(), whole.members.end(), part.members.begin(), part.members.end(), earlier);
}

}  // namespace

generators single_generator(generator_ptr generator_ptr, std::size_t limit) {
  if (limit < 1) return too_many();
  boost::intrusive_ptr<generator_set> set(new generator_set);
  set->members.push_back(std::move(generator_ptr));
  return set;
}

generators union_of(const generators& a, const generators& b, std::size_t limit) {
  if (!a || a == b) return b;
  if (!b) return a;
  if (a->overflow || b->overflow) return too_many();
  if (includes(*a, *b)) return a;
  if (includes(*b, *a)) return b;
  boost::intrusive_ptr<generator_set> set(new generator_set);
  set->members.reserve(std::min(a->members.size() + b->members.size(), limit + 1));
  std::set_union(a->members.begin(), a->members.end(), b->members.begin(), b->members.end(),
                 std::back_inserter(set->members), earlier);
  if (set->members.size() > limit) return too_many();
  return set;
}

std::size_t merge(generator_sets& parts, std::size_t limit) {
  if (parts.size() > 2) {
    boost::unordered_flat_set<const generator_set*> known;
    const auto is_known = [&](const generators& part) { return !known.insert(part.get()).second; };
    parts.erase(std::remove_if(parts.begin(), parts.end(), is_known), parts.end());
  }
  // Merges in pairs. A union that grows part by part would visit the members of the first parts again for each part.
  std::size_t visited = 0;
  while (parts.size() > 1) {
    std::size_t merged = 0;
    for (std::size_t i = 0; i < parts.size(); i += 2) {
      if (i + 1 < parts.size()) {
        visited += 1 + cost_of_union(parts[i], parts[i + 1]);
        parts[i] = union_of(parts[i], parts[i + 1], limit);
      }
      if (merged != i) parts[merged] = std::move(parts[i]);
      ++merged;
    }
    parts.resize(merged);
  }
  return visited;
}

bool disjoint(const generators& a, const generators& b) {
  if (!a || !b || a == b || a->overflow || b->overflow) return false;
  auto i = a->members.begin();
  auto j = b->members.begin();
  while (i != a->members.end() && j != b->members.end()) {
    if ((*i)->ordinal == (*j)->ordinal) return false;
    if ((*i)->ordinal < (*j)->ordinal) {
      ++i;
    } else {
      ++j;
    }
  }
  return true;
}

}  // namespace digd::graph
