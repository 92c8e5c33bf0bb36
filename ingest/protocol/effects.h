// The effects of a call of the inbox, in order: items for the run's record and frames for clients.
//
//   for (const effect& e : inbox.receive(session, frame, now)) …
//
// Ownership and lifetime: as for `record`. Thread: that of the inbox. Bounds: the effects of one message, and of each
// held frame that it releases. It reuses memory: a small message allocates nothing here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/protocol/record.h"

namespace digd::ingest {

using session_index = std::size_t;

// The inbox makes no `ack`: the code that makes messages durable does.
enum class frame_type : std::uint8_t { verdicts, intervention, error, ack, notice };

struct effect {
  enum class action : std::uint8_t {
    keep,         // `item` belongs into the record
    send,         // `frame` goes to `session`
    acknowledge,  // `session` repeated a frame: send it an ack
  } action = action::keep;
  const record* item = nullptr;
  session_index session = 0;
  frame_type type = frame_type::error;
  std::string_view frame;
  refusal code = refusal::none;  // of an error
};

class effects {
 public:
  std::vector<effect>::const_iterator begin() const { return list_.begin(); }
  std::vector<effect>::const_iterator end() const { return list_.end(); }
  bool empty() const { return list_.empty(); }

  // ---- for the inbox
  void clear();
  // Returns the next item, cleared. It becomes an effect only when it is passed to `keep`.
  record& draft();
  void keep(record& drafted);
  // `frame` must live as long as the effects.
  void send(session_index to, frame_type type, std::string_view frame, refusal code = refusal::none);
  void acknowledge(session_index session);
  // Keeps a text as long as the effects live.
  std::string& own(std::string&& text) { return texts_.emplace_back(std::move(text)); }

 private:
  static constexpr std::size_t max_spare_items = 4;

  std::vector<effect> list_;
  std::vector<std::unique_ptr<record>> items_;  // behind pointers: effects refer to them
  std::size_t used_ = 0;                        // of items_
  std::deque<std::string> texts_;               // a deque does not move its elements when it grows
};

}  // namespace digd::ingest
