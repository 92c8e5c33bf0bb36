// An HTTP connection, until it ends or becomes a WebSocket. Reads one request after another, has the handler answer it,
// and writes the response.
//
// Thread: that of its socket. Lifetime: its pending operations hold it, and so do responses in progress on other
// threads. Bounds: 10 s to receive a request; 60 s to make a response, or a piece of one; 30 s for the client to take
// it; 16 KiB of header; the handler's limit of the body; 64 KiB and 2 s of a refused body; `max_requests` a connection.
// Its memory is charged (daemon/access/memory_budget.h): a request until its response; a response only where digd
// selects the connections to close.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/ticket.h"
#include "daemon/http/connection.h"
#include "daemon/http/request_handler.h"
#include "daemon/metrics/thread_counts.h"
#include "net/batched_stream.h"
#include "net/types.h"
#include "net/upgrade_request.h"

namespace digd::daemon {

// The thread of a connection, and the handler of its requests. Both outlive the connection.
struct http_home {
  boost::asio::io_context& context;
  connection_set& connections;
  http_counts& counts;
  request_handler& handler;
};

class http_connection final : public connection, public std::enable_shared_from_this<http_connection> {
 public:
  static constexpr std::size_t max_requests = 1'000;
  static constexpr std::size_t max_buffer_bytes = 32 * 1024;

  http_connection(const http_home& home, net::stream_socket socket, peer_ptr from, connection_ticket ticket);
  ~http_connection() override;
  void start();

  void shut_down() override;
  void abort() override;

 private:
  using head_parser = boost::beast::http::request_parser<boost::beast::http::empty_body>;
  using body_parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void read_request();
  void read_head(std::size_t searched);
  void parse_head();
  void on_head(boost::system::error_code ec);
  void refuse_body(http_response&& refusal);
  http_response take_refusal();
  void read_body();
  void read_more_body();
  void on_body_part(boost::system::error_code ec);
  void charge(std::size_t bytes);
  void forget_request();
  void note_unwritten(std::size_t bytes);
  void on_failed_read(boost::system::error_code ec);
  void serve(net::upgrade_request&& request, std::string_view body);
  void serve_deferred(const deferred_response& deferred);
  void watch_client();
  void serve_chunked(chunked_response&& chunked);
  void request_piece();
  void take_piece(http_response&& piece);
  void write_chunked_head(http_response&& first);
  void write_piece();
  void release(const protocol_upgrade& upgrade);
  void refuse(http_response&& response);
  void write(http_response&& response, bool keep_alive);
  void on_written(boost::system::error_code ec, bool keep_alive);
  void linger();
  void abort_after(std::chrono::seconds within);

  const http_home home_;
  net::batched_stream stream_;
  const peer_ptr from_;
  connection_ticket ticket_;               // null once the connection is closed or has become a WebSocket
  std::shared_ptr<memory_charge> memory_;  // the ticket's; null: the connection is not charged
  net::steady_timer deadline_;
  boost::beast::flat_buffer buffer_{max_buffer_bytes};  // also bounds the head of a chunk, and trailers
  std::optional<head_parser> head_;
  std::optional<body_parser> body_;
  body_limit body_limit_;
  std::optional<http_response> refusal_;  // while a refused body is read and dropped
  bool is_body_late_ = false;             // the refused body did not come in time
  std::size_t header_bytes_ = 0;          // of the current request, in memory
  std::size_t charged_ = 0;               // bytes of the request that the connection is charged for
  net::upgrade_request request_;
  std::optional<http_response> response_;
  std::function<void(response_callback)> next_piece_;
  ticket_ptr place_;                    // of the deferred response; null: it has none
  std::uint64_t requested_pieces_ = 0;  // over all responses: identifies the current one
  std::string piece_;                   // being written
  bool piece_head_written_ = false, piece_keep_alive_ = false;
  std::size_t served_ = 0;
  std::size_t drained_ = 0;  // bytes read and dropped after the last response
  bool answered_ = false;    // the current request
  bool closed_ = false;
};

}  // namespace digd::daemon
