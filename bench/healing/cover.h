// The elements of the array that a result counts, and how often: sorted ranges, where neighbours that touch differ in
// count.
//
// Thread: one at a time. Bounds: one piece for each change of the count.
#pragma once

#include <cstdint>
#include <vector>

namespace digd::bench {

struct range {
  std::int64_t begin = 0, end = 0;  // positions begin … end - 1
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

  void add(const cover& other);  // adds the counts
  const std::vector<piece>& pieces() const { return pieces_; }
  bool empty() const { return pieces_.empty(); }

  std::int64_t distinct() const;  // positions counted at least once
  std::int64_t counted() const;   // positions, each as often as it is counted
  bool repeats() const { return counted() > distinct(); }
  bool is_exactly(range whole) const;           // each position once and nothing else
  bool holds_all_of(const cover& other) const;  // every position of `other`
  bool overlaps(const cover& other) const;
  std::vector<range> missing_in(range whole) const;

 private:
  std::vector<piece> pieces_;
};

}  // namespace digd::bench
