// Spans by id and by parent, in an order in which parents come first.
//
// Thread: any; a tree is constant. Lifetime: the spans outlive it. Bounds: one entry for each span.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "ingest/otlp/span.h"

namespace digd::otlp {

// Views into the spans it was made from. If several spans have the same id, also in different traces, it keeps the
// first in order of times, ids and names, whichever arrived first. It removes the parents of spans that are each
// other's ancestors.
class span_tree {
 public:
  explicit span_tree(std::span<const span> spans);

  std::size_t size() const { return spans_.size(); }
  const span& at(std::size_t i) const { return *spans_[i]; }
  std::size_t parent(std::size_t i) const { return parent_[i]; }  // `none`: it has none here
  bool lacks_parent(std::size_t i) const { return !spans_[i]->parent.empty() && parent_[i] == none; }
  std::size_t find(std::string_view trace, std::string_view id) const;
  const std::vector<std::size_t>& parents_first() const { return order_; }

 private:
  struct key {
    std::string_view trace, id;
    bool operator==(const key&) const = default;
    friend std::size_t hash_value(const key& k) { return boost::hash_range(k.id.begin(), k.id.end()) ^ k.trace.size(); }
  };
  void put_in_order();

  std::vector<const span*> spans_;
  std::vector<std::size_t> parent_, order_;
  boost::unordered_flat_map<key, std::size_t> by_id_;
};

}  // namespace digd::otlp
