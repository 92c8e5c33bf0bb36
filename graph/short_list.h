// A list that usually has one or two elements. It stores these in place and longer lists on the heap.
//
// A run keeps several lists for each of 100,000 events, and a vector would be larger and allocate. For trivially
// copyable types only. Not thread-safe. `data` is valid until the list changes.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

namespace digd::graph {

template <class T>
class short_list {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(T*));

 public:
  static constexpr std::size_t address_bytes = sizeof(void*);
  static constexpr std::uint32_t in_place = std::max<std::size_t>(address_bytes / sizeof(T), 1);

  short_list() = default;
  short_list(const short_list&) = delete;
  short_list& operator=(const short_list&) = delete;
  short_list(short_list&& from) noexcept { take(from); }
  short_list& operator=(short_list&& from) noexcept {
    if (this == &from) return *this;
    release();
    take(from);
    return *this;
  }
  ~short_list() { release(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return on_heap() ? heap() : std::launder(reinterpret_cast<T*>(place_)); }
  const T* data() const { return const_cast<short_list*>(this)->data(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  const T& back() const { return data()[size_ - 1]; }

  void reserve(std::size_t wanted) {
    if (wanted > room_) grow(wanted);
  }
  void push_back(T item) { insert(end(), item); }
  T* insert(T* where, T item) {
    const std::size_t at = static_cast<std::size_t>(where - data());
    if (size_ == room_) grow(std::size_t{room_} * 2);
    T* items = data();
    std::memmove(static_cast<void*>(items + at + 1), items + at, (size_ - at) * sizeof(T));
    ++size_;
    return std::construct_at(items + at, item);
  }
  template <class Done>
  void erase_if(Done done) {
    size_ = static_cast<std::uint32_t>(std::remove_if(begin(), end(), done) - begin());
  }
  void clear() { size_ = 0; }  // keeps the capacity

 private:
  static constexpr std::size_t place_bytes = std::max(address_bytes, in_place * sizeof(T));

  bool on_heap() const { return room_ > in_place; }
  T* heap() const {
    T* at;
    std::memcpy(&at, place_, address_bytes);
    return at;
  }
  void grow(std::size_t wanted) {
    assert(wanted <= UINT32_MAX);
    T* more = static_cast<T*>(::operator new(wanted * sizeof(T)));
    std::memcpy(static_cast<void*>(more), data(), size_ * sizeof(T));
    release();
    std::memcpy(place_, &more, address_bytes);
    room_ = static_cast<std::uint32_t>(wanted);
  }
  void take(short_list& from) {
    std::memcpy(place_, from.place_, place_bytes);
    size_ = from.size_;
    room_ = from.room_;
    from.size_ = 0;
    from.room_ = in_place;
  }
  void release() {
    if (on_heap()) ::operator delete(heap());
  }

  std::uint32_t size_ = 0;
  std::uint32_t room_ = in_place;
  alignas(T*) std::byte place_[place_bytes];  // the elements, or a pointer to them
};

}  // namespace digd::graph
