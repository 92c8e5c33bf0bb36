// One POST of a callback: look the host up, connect, TLS, write, read the answer, close. What counts is the answer's
// status; its body is read, up to a bound, and dropped.
//
// Thread: that of its io_context. Lifetime: held by who began it, and by its pending operations. Bounds: `timeout_ms`
// for all of it; 16 KiB of header, 64 KiB of body. Failure: told to `done`, once, in our own or the system's words,
// never the receiver's; not called after `cancel`.
#pragma once

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/webhook/host_lookup.h"
#include "daemon/webhook/target.h"
#include "net/websocket_session.h"

namespace digd::daemon {

struct post_result {
  unsigned status = 0;                        // 0: no answer
  std::string why;                            // of a failure
  std::optional<std::int64_t> retry_after_s;  // as the receiver asked
  bool is_delivered() const { return status >= 200 && status < 300; }
};

class post_attempt final : public std::enable_shared_from_this<post_attempt> {
 public:
  using done = std::function<void(const post_result&)>;

  post_attempt(boost::asio::io_context& on, std::shared_ptr<host_lookup> names, std::shared_ptr<const target> to,
               std::string body, done then);
  void start();
  void cancel();

 private:
  using executor = boost::asio::io_context::executor_type;
  using socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, executor>;

  void resolve();
  void connect(const host_lookup::results& found);
  void shake_hands();
  void write();
  void read();
  template <class Stream>
  void write_to(Stream& stream);
  template <class Stream>
  void read_from(Stream& stream);
  void on_read(boost::system::error_code ec);
  void fail(const std::string& doing, const boost::system::error_code& ec);
  void finish(post_result result);
  void close();
  void make_request();

  const std::shared_ptr<const target> to_;
  done then_;
  net::steady_timer deadline_;
  const std::shared_ptr<host_lookup> names_;
  socket socket_;
  std::optional<boost::asio::ssl::stream<socket&>> tls_;
  boost::beast::http::request<boost::beast::http::string_body> request_;
  boost::beast::flat_buffer buffer_;
  boost::beast::http::response_parser<boost::beast::http::string_body> parser_;
};

}  // namespace digd::daemon
