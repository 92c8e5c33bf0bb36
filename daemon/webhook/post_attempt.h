// One attempt to POST a callback: looks the host up, connects, sends, reads the answer and closes. The answer's status
// decides; its body is read and dropped.
//
// Thread: that of its io_context. Lifetime: held by its webhook and by its pending operations. Bounds: `timeout_ms` for
// the whole attempt; 16 KiB of header and 64 KiB of body. Failure: `on_done` is called once, never after `cancel`. It
// gets digd's or the system's words, never the receiver's.
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
#include "net/types.h"

namespace digd::daemon {

struct post_result {
  unsigned status = 0;                        // 0: no answer
  std::string why;                            // the failure; empty if delivered
  std::optional<std::int64_t> retry_after_s;  // the receiver's Retry-After
  bool is_delivered() const { return status >= 200 && status < 300; }
};

class post_attempt final : public std::enable_shared_from_this<post_attempt> {
 public:
  using callback = std::function<void(const post_result&)>;

  post_attempt(boost::asio::io_context& context, std::shared_ptr<host_lookup> lookup,
               std::shared_ptr<const target> receiver, std::string body, callback on_done);
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
  void fail(const std::string& step, const boost::system::error_code& ec);
  void finish(post_result result);
  void close();
  void make_request();

  const std::shared_ptr<const target> receiver_;
  callback on_done_;  // empty once finished or cancelled
  net::steady_timer deadline_;
  const std::shared_ptr<host_lookup> lookup_;
  socket socket_;
  std::optional<boost::asio::ssl::stream<socket&>> tls_;
  boost::beast::http::request<boost::beast::http::string_body> request_;
  boost::beast::flat_buffer buffer_;
  boost::beast::http::response_parser<boost::beast::http::string_body> parser_;
};

}  // namespace digd::daemon
