// A connection until it becomes a WebSocket, or for good: reads HTTP requests one after another, has each routed, and
// answers it.
//
// Thread: that of its socket. Lifetime: held by its pending operations, and while an answer is being made elsewhere.
// Bounds: 10 s for a request, from its first byte or the answer before; 30 s for an answer to be taken; 60 s for one to
// be made, or a piece of one; 16 KiB of header, of body what routes.h has room for; `most_requests` a connection.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/http/responses.h"
#include "daemon/http/connection.h"
#include "daemon/api/routes.h"
#include "net/websocket_session.h"

namespace digd::daemon {

class engine_thread;

class http_connection final : public connection, public std::enable_shared_from_this<http_connection> {
 public:
  static constexpr std::size_t most_requests = 1'000;

  http_connection(engine_thread& home, net::stream_socket socket, connection_ticket ticket);
  ~http_connection() override;
  void start();

  void shut_down() override;
  void abort() override;

 private:
  using head_parser = boost::beast::http::request_parser<boost::beast::http::empty_body>;
  using body_parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void read_request();
  void on_head(boost::system::error_code ec);
  void read_body();
  void on_body(boost::system::error_code ec);
  void on_failed_read(boost::system::error_code ec);
  void serve(net::upgrade_request&& request, std::string_view body);
  void serve_later(later&& later);
  void serve_pieces(in_pieces&& in_pieces);
  void ask_for_piece();
  void take_piece(http_response&& piece);
  void write_head_of_pieces(http_response&& first);
  void write_piece();
  void open_ingest(to_ingest&& to);
  void open_feed(feed_request&& asked);
  void refuse(http_response&& response);
  void write(http_response&& response, bool keep_alive);
  void on_written(boost::system::error_code ec, bool keep_alive);
  void linger();
  void abort_after(std::chrono::seconds within);

  engine_thread& home_;
  net::batched_stream stream_;
  connection_ticket ticket_;
  net::steady_timer deadline_;
  boost::beast::flat_buffer buffer_;
  std::optional<head_parser> head_;
  std::optional<body_parser> body_;
  std::size_t body_room_ = most_body_bytes;
  connection_ticket large_body_;  // while the one in hand is large
  net::upgrade_request request_;
  std::optional<http_response> response_;
  std::function<void(later::answer)> next_piece_;
  std::uint64_t pieces_ = 0;  // asked for, of the answer in hand
  std::string piece_;         // being written
  bool piece_head_written_ = false, piece_keep_alive_ = false;
  std::size_t served_ = 0;
  std::size_t drained_ = 0;  // bytes read and dropped after the last answer
  bool answered_ = false;    // the request in hand
  bool closed_ = false;
};

}  // namespace digd::daemon
