// The answers of a session that its client may ask for again, oldest first.
//
// Memory: all frames share one text, because a text for each would be allocated and freed for every message. The text
// is at most about twice as long as the kept frames, and a session without kept answers has `max_spare_bytes` for it.
// The caller bounds the number of answers (`credits`). Thread: one at a time.
#pragma once

#include <boost/container/deque.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ingest/protocol/effects.h"
#include "model/error.h"

namespace digd::ingest {

class reply_log {
 public:
  struct reply {
    std::uint64_t seq = 0;
    frame_type type{};
    std::string_view frame;  // empty: the message had no answer. Valid until the next change of the log
    refusal code = refusal::none;
  };
  static constexpr std::size_t max_spare_bytes = 256;  // the most memory that the text keeps when there are no answers
  // Removed bytes that may stay at the front of the text. More may stay while they are less than half of the text.
  static constexpr std::size_t max_removed_bytes = 4'096;

  bool empty() const { return replies_.empty(); }
  std::size_t size() const { return replies_.size(); }
  std::size_t bytes() const { return text_.size() - begin_; }  // of frames
  std::uint64_t first_seq() const { return replies_.front().seq; }

  void add(const reply& added) {
    replies_.push_back({added.seq, added.type, added.code, added.frame.size()});
    text_ += added.frame;
  }

  void remove_first() {
    begin_ += replies_.front().bytes;
    replies_.pop_front();
    const bool few_removed = begin_ < max_removed_bytes || begin_ * 2 < text_.size();
    if (few_removed && !replies_.empty()) return;
    text_.erase(0, begin_);
    begin_ = 0;
    if (text_.empty() && text_.capacity() > max_spare_bytes) text_.shrink_to_fit();
  }

  template <class Visit>
  void each(Visit&& visit) const {
    std::size_t at = begin_;
    for (const kept& each : replies_) {
      visit(reply{each.seq, each.type, std::string_view(text_).substr(at, each.bytes), each.code});
      at += each.bytes;
    }
  }

 private:
  struct kept {
    std::uint64_t seq;
    frame_type type;
    refusal code;
    std::size_t bytes;
  };

  boost::container::deque<kept> replies_;
  std::string text_;
  std::size_t begin_ = 0;  // of the first reply in `text_`
};

}  // namespace digd::ingest
