#include "healing/holds.h"

#include <charconv>
#include <utility>

namespace digd {

void holds::open(open_hold hold, std::string_view event_id) {
  ++opened_;
  if (reserved_ > 0) --reserved_;
  due_.emplace(std::make_pair(hold.due_ms, opened_), opened_);
  events_.emplace_back(event_id);
  by_event_.emplace(hold.event, opened_);
  open_.emplace(opened_, std::move(hold));
  forget_ended();
}

// The bound is not constant: it rises with each open hold and falls when a hold ends.
void holds::forget_ended() {
  while (events_.size() > max_remembered + open_.size()) events_.pop_front();
}

open_hold holds::close(std::uint64_t number) {
  const auto found = open_.find(number);
  open_hold hold = std::move(found->second);
  due_.erase({hold.due_ms, number});
  by_event_.erase({hold.event, number});
  open_.erase(found);
  forget_ended();
  return hold;
}

const open_hold* holds::find(std::uint64_t number) const {
  const auto found = open_.find(number);
  return found == open_.end() ? nullptr : &found->second;
}

std::vector<std::uint64_t> holds::on(graph::event_index e) const {
  std::vector<std::uint64_t> numbers;
  for (auto at = by_event_.lower_bound({e, 0}); at != by_event_.end() && at->first == e; ++at)
    numbers.push_back(at->second);
  return numbers;
}

std::optional<std::pair<milliseconds, std::uint64_t>> holds::next() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

std::string_view holds::event_of(std::uint64_t number) const {
  if (!was_opened(number) || opened_ - number >= events_.size()) return {};
  return events_[events_.size() - 1 - (opened_ - number)];
}

std::optional<std::uint64_t> number_in(std::string_view id, std::string_view prefix) {
  if (!id.starts_with(prefix)) return std::nullopt;
  id.remove_prefix(prefix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  if (error != std::errc{} || end != id.data() + id.size() || id.starts_with('0')) return std::nullopt;
  return number;
}

}  // namespace digd
