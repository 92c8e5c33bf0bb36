// Which elements of the array a result counts, and how often: sorted ranges that do not touch with the same count.
#pragma once

#include <cstdint>
#include <vector>

namespace digd::bench {

struct range {
  std::int64_t begin = 0, end = 0;  // of positions: begin … end-1
  std::int64_t size() const { return end - begin; }
  bool operator==(const range&) const = default;
};

class cover {
 public:
  struct piece {
    range where;
    int times;
    bool operator==(const piece&) const = default;
  };
  cover() = default;
  explicit cover(range once);

  void add(const cover& other);  // counts add up
  const std::vector<piece>& pieces() const { return pieces_; }
  bool empty() const { return pieces_.empty(); }

  std::int64_t distinct() const;  // positions counted at least once
  std::int64_t counted() const;   // positions, each as often as it is counted
  bool repeats() const { return counted() > distinct(); }
  bool is_exactly(range whole) const;           // each once and nothing else
  bool holds_all_of(const cover& other) const;  // of its positions
  bool overlaps(const cover& other) const;
  std::vector<range> missing_in(range whole) const;
  bool same_places(const cover& other) const { return holds_all_of(other) && other.holds_all_of(*this); }

 private:
  std::vector<piece> pieces_;
};

}  // namespace digd::bench
