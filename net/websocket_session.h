// One WebSocket connection of a server: frames in, frames out. Its listener interprets them.
//
//   read the available bytes → each frame → listener (→ inbox) → send → queue → write the whole queue at once
//
// Beast makes the handshake. websocket_frames parses the frames: all frames of one read are handled in one turn, and
// their answers written at once.
//
// Thread: that of its socket; every call but the constructor is made there. Lifetime: its pending operations hold it,
// and it holds itself while it is paused; it owns its listener. Failure: every way of ending calls `on_closed` once.
//
// Bounds:
//   a message     over `message_bytes` the session drops it; over 16 times that, it closes with 1009
//   the queue     `queue_frames` and `queue_bytes` of frames to write, pongs included; beyond that it closes with 4408.
//                 Frames over `large_frame_bytes` count on their own, up to `max_large_bytes`
//   pings         over `max_pings_per_s` it stops reading until the second ends
//   time          for the handshake, without a frame, while the client reads nothing, and for closing
//   a turn        at most `buffer_bytes` are read before others on the thread get their turn
#pragma once

#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/batched_stream.h"
#include "net/close_code.h"
#include "net/types.h"
#include "net/upgrade_request.h"
#include "net/websocket_frames.h"

namespace digd::net {

class websocket_session : public std::enable_shared_from_this<websocket_session> {
 public:
  static constexpr std::size_t large_frame_bytes = 64u << 10;
  static constexpr std::size_t max_large_bytes = 128u << 20;
  static constexpr std::size_t memory_step = 16u << 10;

  struct options {
    std::string subprotocol;
    std::chrono::milliseconds handshake{10'000};
    std::chrono::milliseconds idle{300'000};
    std::chrono::milliseconds closing{5'000};  // then the socket is closed, whatever the client does
    std::size_t message_bytes = 1 << 20;       // until `limit_messages`
    std::size_t queue_frames = 16'384;
    std::size_t queue_bytes = 16 << 20;
    std::size_t max_pings_per_s = 100;
  };

  // Each `on_…` that returns bool handles one frame and returns whether to continue reading. After false, the session
  // reads again once `resume` is called. `read_at`: when the frame was read from the socket; the same for all frames of
  // one read.
  class listener {
   public:
    using time_point = std::chrono::steady_clock::time_point;
    virtual ~listener() = default;
    virtual void on_open() = 0;
    virtual bool on_text(std::string_view frame, time_point read_at) = 0;  // valid UTF-8; a view until it returns
    virtual bool on_binary(time_point read_at) = 0;
    virtual bool on_too_large(std::size_t bytes, time_point read_at) = 0;
    virtual void on_turn_end() {}  // after the frames of one read, unless the session has closed meanwhile
    virtual void on_drained() {}   // everything is written; may be called while handling a frame
    // Called when one of these changes, rounded down to `memory_step`: the bytes of an incomplete message, and of
    // frames to write.
    virtual void on_memory([[maybe_unused]] std::size_t partial, [[maybe_unused]] std::size_t unwritten) {}
    virtual void on_too_many_pings() = 0;                 // the session stops reading for up to a second; for counting
    virtual void on_closed(std::string_view reason) = 0;  // once, after everything else
  };

  websocket_session(batched_stream stream, options options, std::shared_ptr<listener> to);
  ~websocket_session();

  void accept(const upgrade_request& request);
  void send(std::string_view frame);
  std::size_t unwritten() const { return out_bytes_ + large_bytes_; }
  // Writes the queue, then closes with a code and a reason. With too_slow, it drops the queue.
  void close(close_code code, std::string_view reason);
  // Drops the queue and the incomplete message at once, then closes with a code and a reason.
  void close_and_drop(close_code code, std::string_view reason);
  void resume();
  void abort();  // closes the socket at once
  void limit_messages(std::size_t bytes);

 private:
  struct handshake;  // Beast's stream
  struct batch {
    std::string bytes;  // whole frames
    std::size_t frames = 0;
    bool is_large = false;  // one large frame
  };

  void on_accept(boost::system::error_code ec);
  void read();
  void on_read(boost::system::error_code ec, std::size_t bytes);
  void take_frames();
  bool take(const websocket_event& event);
  bool tell_listener(const websocket_event& event);
  bool answer_ping(std::string_view payload);
  void wait_for_next_second();
  bool has_room_for(std::size_t bytes) const;
  void on_peer_close(const websocket_event& event);
  void on_broken(const websocket_event& event);
  void drop_input(std::string reason);
  void append(websocket_opcode opcode, std::string_view payload);
  void flush_soon();
  void flush();
  void hang_up();
  bool has_unbegun_batches() const;
  void drop_unwritten();
  void report_memory();
  void send_close();
  void watch_idleness();
  void close_within();
  void finish(std::string_view reason);

  const options options_;
  std::shared_ptr<listener> listener_;
  steady_timer closing_timer_, idle_timer_, ping_timer_;
  std::unique_ptr<handshake> handshake_;  // until the handshake is done
  std::optional<stream_socket> socket_;   // after the handshake
  std::string ahead_;                     // bytes that came with the handshake

  websocket_reader reader_;
  std::deque<batch> out_;
  std::size_t out_bytes_ = 0, out_frames_ = 0, written_ = 0;  // written: of the first batch
  std::size_t large_bytes_ = 0;                               // of large frames; out_bytes_ leaves them out
  std::size_t reported_partial_ = 0, reported_unwritten_ = 0;
  std::string close_payload_;  // the payload of our close frame

  std::shared_ptr<websocket_session> paused_;  // itself, while no read is pending
  // Why the connection ends. Set when the client has closed, its frames are broken, or `close_and_drop` was called;
  // from then on input is dropped.
  std::string end_reason_;
  bool open_ = false;
  bool in_turn_ = false;  // while the frames of one read are handled: their answers are written together
  bool flush_posted_ = false;
  bool waiting_ = false;  // for room to write
  listener::time_point read_at_{};
  listener::time_point ping_second_{};                              // when the second began for which `pings_` counts
  std::size_t pings_ = 0;                                           // in that second
  bool too_many_pings_ = false;                                     // reading is paused until that second ends
  bool received_since_check_ = false, pinged_since_check_ = false;  // since the idle timer's last check
  bool wrote_ = false, stuck_ = false;                              // likewise
  bool closing_ = false;     // by either side: frames are neither sent nor handled
  bool close_sent_ = false;  // our close frame is in the queue, or written
  bool finished_ = false;
};

}  // namespace digd::net
