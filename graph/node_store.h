// A growing array of nodes in blocks: a node keeps its address, and growing copies nothing.
//
// Not thread-safe. Nodes are never removed; the graph reuses emptied ones. Bounds: none of its own; the caller limits
// the nodes.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace digd::graph {

template <class Node>
class node_store {
 public:
  std::size_t size() const { return size_; }
  Node& operator[](std::size_t i) { return (*blocks_[i / block_size])[i % block_size]; }
  const Node& operator[](std::size_t i) const { return (*blocks_[i / block_size])[i % block_size]; }

  // Appends an empty node.
  Node& add() {
    if (size_ == blocks_.size() * block_size) grow();
    return (*this)[size_++];
  }

 private:
  static constexpr std::size_t block_size = 8;
  static constexpr std::size_t large = 32, blocks_at_once = 32;
  using block = std::array<Node, block_size>;

  // A large store allocates many blocks at once: for each small one, malloc would ask the kernel for a page.
  void grow() {
    const std::size_t count = blocks_.size() < large ? 1 : blocks_at_once;
    allocated_.push_back(std::make_unique<block[]>(count));
    for (std::size_t i = 0; i < count; ++i) blocks_.push_back(&allocated_.back()[i]);
  }

  std::vector<std::unique_ptr<block[]>> allocated_;
  std::vector<block*> blocks_;
  std::size_t size_ = 0;
};

}  // namespace digd::graph
