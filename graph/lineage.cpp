#include "graph/lineage.h"

#include <algorithm>
#include <utility>

namespace digd::graph {

namespace {

bool earlier(const std::shared_ptr<const generator>& a, const std::shared_ptr<const generator>& b) {
  return a->ordinal < b->ordinal;
}

generators too_many() {
  static const auto set = std::make_shared<const generator_set>(generator_set{{}, true});
  return set;
}

bool includes(const generator_set& whole, const generator_set& part) {
  return std::includes(whole.members.begin(), whole.members.end(), part.members.begin(), part.members.end(),
                       earlier);
}

}  // namespace

generators single_generator(std::shared_ptr<const generator> one, std::size_t limit) {
  if (limit < 1) return too_many();
  auto set = std::make_shared<generator_set>();
  set->members.push_back(std::move(one));
  return set;
}

generators united(const generators& a, const generators& b, std::size_t limit) {
  if (!a || a == b) return b;
  if (!b) return a;
  if (a->overflow || b->overflow) return too_many();
  if (includes(*a, *b)) return a;
  if (includes(*b, *a)) return b;
  auto set = std::make_shared<generator_set>();
  set->members.reserve(std::min(a->members.size() + b->members.size(), limit + 1));
  std::set_union(a->members.begin(), a->members.end(), b->members.begin(), b->members.end(),
                 std::back_inserter(set->members), earlier);
  if (set->members.size() > limit) return too_many();
  return set;
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
