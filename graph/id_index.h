// An index of nodes by id (`name_of`). It stores no ids: about a dozen bytes a node.
//
// Several hash tables share the nodes, so that a message never waits for more than one table to grow. Not thread-safe.
// While a node is in the index, its place in `Nodes` and its id must not change. Lifetime: `Nodes` outlives it.
// Failure: `find` returns `none`.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <string_view>

#include "base/keyed_hash.h"

namespace digd::graph {

// `Nodes`: a sequence of nodes with a `name_of`.
template <class Nodes, std::size_t table_count = 8>
class id_index {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  explicit id_index(const Nodes& nodes) {
    for (table& t : tables_) t = table(0, hasher{}, same{&nodes});
  }

  std::uint32_t find(std::string_view id) const {
    const wanted w = want(id);
    const table& t = tables_[w.table];
    const auto found = t.find(w);
    return found == t.end() ? none : found->node;
  }
  void insert(std::string_view id, std::uint32_t node) {
    const wanted w = want(id);
    tables_[w.table].insert(entry{node, w.hash});
    ++size_;
  }
  void erase(std::string_view id, std::uint32_t node) {
    const wanted w = want(id);
    size_ -= tables_[w.table].erase(entry{node, w.hash});
  }
  std::size_t size() const { return size_; }
  template <class Each>
  void for_each(Each each) const {
    for (const table& t : tables_) {
      for (const entry e : t) each(e.node);
    }
  }

 private:
  struct entry {
    std::uint32_t node;
    std::uint32_t hash;  // stored, so that growing does not read the ids
  };
  struct wanted {
    std::string_view id;
    std::uint32_t hash;
    std::uint32_t table;
  };
  struct hasher {
    using is_transparent = void;
    std::size_t operator()(entry e) const { return e.hash; }
    std::size_t operator()(const wanted& w) const { return w.hash; }
  };
  struct same {
    using is_transparent = void;
    const Nodes* nodes = nullptr;
    bool operator()(entry a, entry b) const { return a.node == b.node; }
    bool operator()(const wanted& w, entry e) const { return w.hash == e.hash && name_of((*nodes)[e.node]) == w.id; }
    bool operator()(entry e, const wanted& w) const { return (*this)(w, e); }
  };
  using table = boost::unordered_flat_set<entry, hasher, same>;

  static wanted want(std::string_view id) {
    const std::uint64_t hash = keyed_hash(id);
    return {id, static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>((hash >> 32) % table_count)};
  }

  std::array<table, table_count> tables_;
  std::size_t size_ = 0;
};

}  // namespace digd::graph
