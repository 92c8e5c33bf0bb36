#include "archive/parcel.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

namespace digd::archive {

namespace {

// The texts of a packed entry, in their order behind its head.
constexpr std::string_view plain_entry::*texts[] = {&plain_entry::session, &plain_entry::type,     &plain_entry::frame,
                                                    &plain_entry::code,    &plain_entry::verdicts, &plain_entry::ended,
                                                    &plain_entry::answered};

struct packed_head {
  entry_kind kind;
  bool has_used, only_deliveries;
  std::uint32_t sizes[std::size(texts)];  // of the texts; a frame has at most limits.message_bytes
  std::uint64_t run_number, seq, n;
  std::int64_t ts, arrived_ms;
};
static_assert(std::is_trivially_copyable_v<packed_head> && std::is_trivially_copyable_v<usage_amounts>);

}  // namespace

void parcel::add(const plain_entry& added) {
  packed_head head{.kind = added.kind,
                   .has_used = added.used.has_value(),
                   .only_deliveries = added.only_deliveries,
                   .sizes = {},
                   .run_number = added.run_number,
                   .seq = added.seq,
                   .n = added.n,
                   .ts = added.ts,
                   .arrived_ms = added.arrived_ms};
  std::size_t sum = sizeof head + (added.used ? sizeof *added.used : 0);
  for (std::size_t i = 0; i < std::size(texts); ++i) {
    const std::size_t size = (added.*texts[i]).size();
    head.sizes[i] = static_cast<std::uint32_t>(size);
    sum += size;
  }
  char* at = room_for(sum);
  const auto append = [&at](const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(at, from, bytes);
    at += bytes;
  };
  append(&head, sizeof head);
  if (added.used) append(&*added.used, sizeof *added.used);
  for (const auto text : texts) append((added.*text).data(), (added.*text).size());
  size_ += sum;
  ++entries_;
  entry_bytes_ += added.bytes();
}

void parcel::add(entry_ptr added) {
  ++entries_;
  entry_bytes_ += added->bytes();
  whole_ = std::move(added);
}

entry_ptr parcel::take_whole() {
  entry_ptr taken = std::move(whole_);
  empty();
  return taken;
}

char* parcel::room_for(std::size_t bytes) {
  if (const std::size_t wanted = size_ + bytes; wanted > capacity_) {
    const std::size_t capacity = std::max({wanted, 2 * capacity_, min_bytes});
    std::unique_ptr<char[]> larger(new char[capacity]);
    if (size_ > 0) std::memcpy(larger.get(), packed_.get(), size_);
    packed_ = std::move(larger);
    capacity_ = capacity;
  }
  return packed_.get() + size_;
}

void parcel::unpack(std::vector<entry_ptr>& into, spare_entries& spare) {
  const char* at = packed_.get();
  const auto read = [&at](void* to, std::size_t bytes) {
    std::memcpy(to, at, bytes);
    at += bytes;
  };
  for (const char* const end = at + size_; at < end;) {
    packed_head head;
    read(&head, sizeof head);
    plain_entry unpacked{.kind = head.kind,
                         .only_deliveries = head.only_deliveries,
                         .run_number = head.run_number,
                         .seq = head.seq,
                         .n = head.n,
                         .ts = head.ts,
                         .arrived_ms = head.arrived_ms};
    if (head.has_used) read(&unpacked.used.emplace(), sizeof(usage_amounts));
    for (std::size_t i = 0; i < std::size(texts); ++i) {
      unpacked.*texts[i] = {at, head.sizes[i]};
      at += head.sizes[i];
    }
    into.push_back(spare.take());
    into.back()->assign(unpacked);
  }
  if (whole_) into.push_back(std::move(whole_));
  empty();
}

void parcel::empty() {
  size_ = entries_ = entry_bytes_ = 0;
  if (capacity_ <= max_spare_bytes) return;
  packed_.reset();
  capacity_ = 0;
}

}  // namespace digd::archive
