// One WebSocket connection: frames in, frames out. What they mean is its listener's business.
//
//   read a frame → listener (→ inbox) → send → queue → write
//
// Thread: that of its socket; every call but the constructor is made there. Lifetime: held by its own pending
// operations, by itself while it is told not to read, and gone when the last of these is; it owns its listener.
// Bounds: messages (over `message_bytes` they are read and dropped, over 16 times that closed with 1009), the queue of
// frames to write (a client that does not read is closed with 4408), time (handshake, idle, closing). Failure:
// whatever happens ends in one `on_closed`.
#pragma once

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "ingest/batched_stream.h"

namespace digd::ingest {

using upgrade_request = boost::beast::http::request<boost::beast::http::empty_body>;
using steady_timer = net::basic_waitable_timer<std::chrono::steady_clock, net::wait_traits<std::chrono::steady_clock>,
                                               net::io_context::executor_type>;

// Why we close a connection; beyond RFC 6455's own.
inline constexpr std::string_view slow_client_words = "the client does not read what it is sent";

enum class close_code : std::uint16_t {
  going_away = 1001,
  fatal_error = 4400,   // after an `error` with "fatal":true
  too_slow = 4408,      // does not read, or does not say hello
  replaced = 4409,      // by a newer connection of the same session
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

  // What it tells. Each `on_…` for a frame returns whether to go on reading; if not, `resume` does.
  class listener {
   public:
    virtual ~listener() = default;
    virtual void on_open() = 0;
    virtual bool on_text(std::string_view frame) = 0;  // valid UTF-8; a view until it returns
    virtual bool on_binary() = 0;
    virtual bool on_too_large(std::size_t bytes) = 0;
    virtual void on_closed(std::string_view why) = 0;  // once, after everything else
  };

  websocket_session(batched_stream stream, options how, std::shared_ptr<listener> to);

  void accept(const upgrade_request& request);
  void send(std::string frame);
  // Closes with a code and a reason after writing what is queued (too_slow: without).
  void close(close_code code, std::string_view reason);
  void resume();
  void abort();  // closes the socket at once
  void limit_messages(std::size_t bytes);

  static constexpr std::size_t too_large_factor = 16;  // beyond so many times the limit: 1009

 private:
  void on_accept(boost::system::error_code ec);
  void read();
  void on_read(boost::system::error_code ec);
  bool deliver();
  void write();
  void on_written(boost::system::error_code ec);
  void start_closing();
  void pause() { paused_ = shared_from_this(); }
  void finish(std::string_view why);

  boost::beast::websocket::stream<batched_stream, false> ws_;
  const options how_;
  std::shared_ptr<listener> listener_;
  steady_timer closing_timer_;

  boost::beast::flat_buffer in_;
  std::size_t skipped_ = 0;  // bytes of the present frame that were dropped: it is too large
  std::size_t message_bytes_;

  std::deque<std::string> out_;  // the first is being written while `writing_`
  std::size_t out_bytes_ = 0;

  boost::beast::websocket::close_reason reason_;
  bool open_ = false;
  bool writing_ = false;
  std::shared_ptr<websocket_session> paused_;  // itself, while no read is pending
  bool closing_ = false;     // `close` was called
  bool close_sent_ = false;  // Beast is at it
  bool finished_ = false;
};

}  // namespace digd::ingest
