// One reader of the feed: a WebSocket that digd writes to. It ignores what the reader sends.
//
// Thread: the feed's. Lifetime: held by its pending operations, and by the server's list until it is closed. Bounds:
// `max_bytes` and one piece of the archive wait to be written. Failure: the server closes a reader with 4408 if it does
// not take a frame within `max_take_time`, or falls behind the shared tail (feed_server.h).
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/ticket.h"
#include "daemon/access/peers.h"
#include "daemon/access/tokens.h"
#include "net/close_code.h"
#include "net/types.h"
#include "net/upgrade_request.h"
#include "net/websocket_session.h"
#include "net/websocket_teardown.h"

namespace digd::daemon {

inline constexpr std::string_view feed_subprotocol = "digd.feed.v1";

struct feed_request {
  std::optional<std::string> run;     // none: all runs
  std::optional<std::int64_t> since;  // none: entries from now on
  bool payloads = false;
  bool batch = false;  // send the waiting frames as one array
  grant_ptr grant;     // null where no tokens are configured
  ticket_ptr counted;  // counts the connection for its token
  ticket_ptr place;    // counts it among the readers of its client
};

class feed_reader;

// What a reader reports to the server that feeds it, on the feed's thread.
class feed_listener {
 public:
  virtual void opened(feed_reader& reader) = 0;
  virtual void wants_more() = 0;
  virtual void drop(feed_reader& reader) = 0;    // it is too slow
  virtual void closed(feed_reader& reader) = 0;  // permanently

 protected:
  ~feed_listener() = default;
};

class feed_reader final : public std::enable_shared_from_this<feed_reader> {
 public:
  static constexpr std::size_t max_bytes = 1u << 20;
  static constexpr std::size_t max_batch_bytes = 1u << 16;  // a batch of this size takes no more frames
  static constexpr std::chrono::seconds max_take_time{10};

  // On the feed's thread, with a socket of `context`. `feed` outlives the reader.
  feed_reader(feed_listener& feed, boost::asio::io_context& context, net::batched_stream stream, feed_request asked,
              connection_ticket ticket);

  void watch_memory();
  void accept(const net::upgrade_request& request);
  const feed_request& asked() const { return asked_; }
  bool has_room() const { return open_ && !closing_ && out_bytes_ < max_bytes; }
  bool is_open() const { return open_ && !closing_; }
  void send(std::shared_ptr<const std::string> frame);
  // Discards the frames that wait.
  void close(net::close_code code, std::string_view reason);
  void abort();

  // The server keeps the reader's position here.
  std::int64_t at = 0;           // the last entry that it got
  std::uint64_t run_number = 0;  // 0: all runs, or not known yet
  bool live = false;             // it has reached the end of the tail once

 private:
  void read();
  void write();
  boost::asio::const_buffer next_message();
  void on_written(boost::system::error_code ec);
  void watch(std::chrono::milliseconds within);
  void start_closing();
  void finish();

  feed_listener& feed_;
  boost::beast::websocket::stream<net::batched_stream, false> ws_;
  feed_request asked_;
  connection_ticket ticket_;
  boost::beast::flat_buffer in_;
  std::deque<std::shared_ptr<const std::string>> out_;  // the first `writing_` frames are being written
  std::string batch_;                                   // the frames being written, as one message
  std::size_t out_bytes_ = 0;
  net::steady_timer deadline_;
  boost::beast::websocket::close_reason reason_;
  std::size_t writing_ = 0;
  bool open_ = false, closing_ = false, close_sent_ = false, finished_ = false;
};

}  // namespace digd::daemon
