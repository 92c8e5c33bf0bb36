// One WebSocket connection: frames in, frames out. What they mean is its listener's business.
//
//   read what is there → each frame → listener (→ inbox) → send → queue → write what there is to say, at once
//
// Beast makes the handshake; the frames are taken from websocket_frames, as many as one read brought, and answered with
// one write.
//
// Thread: that of its socket; every call but the constructor is made there. Lifetime: held by its own pending
// operations, by itself while it is told not to read, and gone when the last of these is; it owns its listener.
// Bounds: messages (over `message_bytes` they are read and dropped, over 16 times that closed with 1009), the queue of
// frames to write (a client that does not read is closed with 4408), time (handshake, idle, closing), `buffer_bytes`
// read before others on the thread get their turn. Failure: whatever happens ends in one `on_closed`.
#pragma once

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/batched_stream.h"
#include "net/websocket_frames.h"

namespace digd::net {

using upgrade_request = boost::beast::http::request<boost::beast::http::empty_body>;
using steady_timer = asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>,
                                                asio::io_context::executor_type>;

// Why we close a connection; beyond RFC 6455's own.
inline constexpr std::string_view slow_client_words = "the client does not read what it is sent";
inline constexpr std::string_view idle_words = "nothing was heard of the client, not even an answer to a ping";

enum class close_code : std::uint16_t {
  going_away = 1001,
  fatal_error = 4400,  // after an `error` with "fatal":true
  too_slow = 4408,     // does not read, or does not say hello
  replaced = 4409,     // by a newer connection of the same session
  quiet = 4410,        // sent no message for long
};

class websocket_session : public std::enable_shared_from_this<websocket_session> {
 public:
  struct options {
    std::string subprotocol;
    std::chrono::milliseconds handshake{10'000};
    std::chrono::milliseconds idle{300'000};
    std::chrono::milliseconds closing{5'000};  // then the socket is closed, whatever the client does
    std::size_t message_bytes = 1 << 20;       // until `limit_messages`
    std::size_t queue_frames = 16'384;
    std::size_t queue_bytes = 16 << 20;
  };

  // What it tells. Each `on_…` for a frame returns whether to go on reading; if not, `resume` does. `read_at`: when the
  // frame came out of the socket; the same for all that came at once.
  class listener {
   public:
    using time_point = std::chrono::steady_clock::time_point;
    virtual ~listener() = default;
    virtual void on_open() = 0;
    virtual bool on_text(std::string_view frame, time_point read_at) = 0;  // valid UTF-8; a view until it returns
    virtual bool on_binary(time_point read_at) = 0;
    virtual bool on_too_large(std::size_t bytes, time_point read_at) = 0;
    virtual void on_closed(std::string_view why) = 0;  // once, after everything else
  };

  websocket_session(batched_stream stream, options options, std::shared_ptr<listener> to);

  void accept(const upgrade_request& request);
  void send(std::string_view frame);
  // Closes with a code and a reason after writing what is queued (too_slow: without).
  void close(close_code code, std::string_view reason);
  void resume();
  void abort();  // closes the socket at once
  void limit_messages(std::size_t bytes);

 private:
  using handshake = boost::beast::websocket::stream<batched_stream, false>;
  struct batch {
    std::string bytes;  // whole frames
    std::size_t frames = 0;
  };

  void on_accept(boost::system::error_code ec);
  void read();
  void on_read(boost::system::error_code ec, std::size_t bytes);
  void take_frames();
  bool take(const websocket_event& event);
  bool tell_listener(const websocket_event& event);
  void on_peer_close(const websocket_event& event);
  void on_broken(const websocket_event& event);
  void part(std::string why);
  void append(websocket_opcode opcode, std::string_view payload);
  void flush_soon();
  void flush();
  void hang_up();
  void drop_unwritten();
  void say_goodbye();
  void watch_idleness();
  void close_within();
  void finish(std::string_view why);

  const options options_;
  std::shared_ptr<listener> listener_;
  steady_timer closing_timer_, idle_timer_;
  std::optional<handshake> handshake_;   // until it is made
  std::optional<stream_socket> socket_;  // from then on
  std::string ahead_;                    // what came with the handshake

  websocket_reader reader_;
  std::deque<batch> out_;
  std::size_t out_bytes_ = 0, out_frames_ = 0, written_ = 0;  // written: of the first batch
  std::string goodbye_;                                       // the payload of our close

  std::shared_ptr<websocket_session> paused_;  // itself, while no read is pending
  std::string parting_;  // why, once both have said goodbye or it is broken: what still comes is dropped
  bool open_ = false;
  bool in_turn_ = false;  // the frames of one read are being looked at: what they are answered goes together
  bool flush_posted_ = false;
  bool waiting_ = false;  // for room to write
  listener::time_point read_at_{};
  bool heard_ = false, pinged_ = false;  // since the idle timer last looked
  bool closing_ = false;                 // `close` was called
  bool close_sent_ = false;              // it is in the queue
  bool finished_ = false;
};

}  // namespace digd::net
