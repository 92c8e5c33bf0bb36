#include "ingest/otlp/span_tree.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>
#include <tuple>

namespace digd::otlp {

namespace {

bool comes_before(const span* a, const span* b) {
  const auto key = [](const span& s) { return std::tie(s.start_ns, s.end_ns, s.trace, s.id, s.name); };
  return key(*a) < key(*b);
}

}  // namespace

span_tree::span_tree(std::span<const span> spans) {
  std::vector<const span*> sorted;
  for (const span& span : spans) sorted.push_back(&span);
  std::sort(sorted.begin(), sorted.end(), comes_before);
  // A span's id becomes the id of an activation, so two traces must not share one.
  boost::unordered_flat_set<std::string_view> ids;
  for (const span* span : sorted) {
    if (!ids.insert(span->id).second) continue;
    by_id_.emplace(key{span->trace, span->id}, spans_.size());
    spans_.push_back(span);
  }
  for (const span* span : spans_) parent_.push_back(span->parent.empty() ? none : find(span->trace, span->parent));
  put_in_order();
}

std::size_t span_tree::find(std::string_view trace, std::string_view id) const {
  const auto found = by_id_.find(key{trace, id});
  return found == by_id_.end() ? none : found->second;
}

void span_tree::put_in_order() {
  std::vector<std::vector<std::size_t>> children(spans_.size());
  std::vector<char> placed(spans_.size(), 0);
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    if (parent_[i] != none) children[parent_[i]].push_back(i);
  }
  const auto place_from = [&](std::size_t root) {
    placed[root] = 1;
    order_.push_back(root);
    for (std::size_t next = order_.size() - 1; next < order_.size(); ++next) {
      for (const std::size_t child : children[order_[next]]) {
        if (placed[child]) continue;
        placed[child] = 1;
        order_.push_back(child);
      }
    }
  };
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    if (parent_[i] == none) place_from(i);
  }
  // No root leads to the other spans: they are in a cycle of parents, or below one. The first one becomes a root.
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    if (placed[i]) continue;
    parent_[i] = none;
    place_from(i);
  }
}

}  // namespace digd::otlp
