#include "daemon/http/http_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>
#include <cctype>
#include <cerrno>
#include <utility>

namespace digd::daemon {

namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::chrono::seconds max_request_time{10}, max_response_time{60}, max_write_time{30}, linger_time{1},
    max_skip_time{2};
constexpr std::size_t max_drained_bytes = 16 * 1024 * 1024;  // read and dropped within `linger_time`
constexpr std::size_t max_skipped_bytes = 64 * 1024;  // of a refused body; with a larger one the connection closes
constexpr std::uint32_t max_header_bytes = 16 * 1024;
constexpr std::size_t head_read_bytes = 4 * 1024;

// Keeps a connection alive while another thread makes its response. The connection is destroyed on its own thread,
// wherever the last reference is released.
struct lent_connection {
  boost::asio::io_context& home;
  std::shared_ptr<http_connection> connection;

  lent_connection(boost::asio::io_context& on, std::shared_ptr<http_connection> lent)
      : home(on), connection(std::move(lent)) {}
  ~lent_connection() {
    boost::asio::post(home, [last = std::move(connection)] {});
  }
};

// The memory of a parsed header. Each field is a separate allocation, larger than its text.
std::size_t header_bytes(const http::fields& fields) {
  constexpr std::size_t bytes_of_a_field = 96;
  std::size_t bytes = 0;
  for (const auto& field : fields) bytes += bytes_of_a_field + field.name_string().size() + field.value().size();
  return bytes;
}

// What the client sent after the request, without waiting for the response.
std::string unread_bytes(const boost::beast::flat_buffer& buffer, net::batched_stream& stream) {
  return std::string(static_cast<const char*>(buffer.cdata().data()), buffer.size()) + stream.take_unread();
}

}  // namespace

http_connection::http_connection(const http_home& home, net::stream_socket socket, peer_ptr from,
                                 connection_ticket ticket)
    : home_(home),
      stream_(std::move(socket)),
      from_(std::move(from)),
      ticket_(std::move(ticket)),
      memory_(ticket_->memory()),
      deadline_(home.context.get_executor()) {}

http_connection::~http_connection() { home_.connections.remove(this); }

void http_connection::start() {
  home_.connections.add(shared_from_this());
  if (memory_) {
    memory_->on_close([&context = home_.context, me = weak_from_this()] {
      boost::asio::post(context, [me] {
        if (const auto self = me.lock()) self->abort();
      });
    });
  }
  if (!closed_) read_request();
}

void http_connection::abort_after(std::chrono::seconds within) {
  deadline_.expires_after(within);
  deadline_.async_wait([me = weak_from_this()](error_code ec) {
    const auto self = me.lock();
    if (!ec && self) self->abort();
  });
}

// ---- a request

void http_connection::read_request() {
  body_.reset();
  head_.emplace();
  head_->header_limit(max_header_bytes);
  head_->body_limit(boost::none);  // the handler decides before the body is read
  body_limit_ = {};
  refusal_.reset();
  abort_after(max_request_time);
  read_head(0);
}

// Waits until the header is whole, too long, or cannot be a header, and then parses it. A parsed header takes far more
// memory than its bytes, so digd does not hold a part of one while the client is slow. `searched`: bytes of the buffer
// that were searched before.
void http_connection::read_head(std::size_t searched) {
  const std::string_view received(static_cast<const char*>(buffer_.cdata().data()), buffer_.size());
  const std::size_t from = searched - std::min<std::size_t>(searched, 3);
  const bool is_whole = received.find("\r\n\r\n", from) != received.npos;
  const bool is_no_header = (!received.empty() && std::isalpha(static_cast<unsigned char>(received.front())) == 0) ||
                            received.find("\n\n", from) != received.npos;
  if (is_whole || is_no_header || received.size() >= max_header_bytes) return parse_head();
  stream_.async_read_some(buffer_.prepare(head_read_bytes),
                          [self = shared_from_this(), size = received.size()](error_code ec, std::size_t n) {
                            if (self->closed_) return;
                            if (ec) return self->abort();
                            self->buffer_.commit(n);
                            self->read_head(size);
                          });
}

void http_connection::parse_head() {
  const bool is_too_long = buffer_.size() >= max_header_bytes;
  error_code ec;
  buffer_.consume(head_->put(buffer_.cdata(), ec));
  if (ec == http::error::need_more) ec = is_too_long ? http::error::header_limit : http::error::bad_method;
  on_head(ec);
}

void http_connection::on_head(error_code ec) {
  if (ec) return on_failed_read(ec);
  header_bytes_ = header_bytes(head_->get());
  charge(header_bytes_);
  // HTTP/1.0 has no Transfer-Encoding (RFC 9112, 6.1). A proxy may take the end of such a request to be elsewhere.
  if (head_->get().version() < 11 && head_->get().count(http::field::transfer_encoding) > 0) {
    return refuse(respond_error(http::status::bad_request, "bad_request", "HTTP/1.0 has no Transfer-Encoding"));
  }
  if (head_->is_done()) return serve(head_->release(), {});
  auto limit = home_.handler.limit_body(head_->get(), from_);
  if (auto* refusal = std::get_if<http_response>(&limit)) return refuse_body(std::move(*refusal));
  body_limit_ = std::get<body_limit>(std::move(limit));
  if (body_limit_.is_allowed && memory_) memory_->allow(body_limit_.token);
  read_body();
}

// Reads and drops a small body, to find the next request behind it. Closes the connection if the body is large, late or
// may never come: a client that waits for 100 (Continue) may send none.
void http_connection::refuse_body(http_response&& refusal) {
  const auto& head = head_->get();
  const auto announced = head_->content_length();
  if (!refusal.keep_alive() || !head.keep_alive() || head.count(http::field::expect) > 0 ||
      (announced && *announced > max_skipped_bytes)) {
    return refuse(std::move(refusal));
  }
  refusal_ = std::move(refusal);
  deadline_.expires_after(max_skip_time);
  deadline_.async_wait([me = weak_from_this()](error_code ec) {
    const auto self = me.lock();
    if (ec || !self || self->closed_ || !self->refusal_) return;
    self->is_body_late_ = true;
    self->stream_.next_layer().cancel();
  });
  body_limit_ = {.max_bytes = max_skipped_bytes, .ticket = nullptr, .token = nullptr};
  read_body();
}

http_response http_connection::take_refusal() { return *std::exchange(refusal_, std::nullopt); }

void http_connection::read_body() {
  const auto announced = head_->content_length();
  if (announced && *announced > body_limit_.max_bytes) return on_failed_read(http::error::body_limit);
  body_.emplace(std::move(*head_));
  body_->body_limit(body_limit_.max_bytes);
  body_->eager(true);
  if (body_->is_done()) return on_body_part({});
  read_more_body();
}

void http_connection::read_more_body() {
  http::async_read_some(stream_, buffer_, *body_,
                        [self = shared_from_this()](error_code ec, std::size_t) { self->on_body_part(ec); });
}

void http_connection::on_body_part(error_code ec) {
  if (closed_) return;
  if (refusal_ && is_body_late_) return refuse(take_refusal());
  if (ec) return on_failed_read(ec);
  if (refusal_) body_->get().body().clear();
  charge(header_bytes_ + body_->get().body().size());
  if (!body_->is_done()) return read_more_body();
  net::upgrade_request head;
  head.base() = std::move(body_->get().base());
  charge(header_bytes(head) + body_->get().body().size());  // trailers may have been added to the header
  if (refusal_) {
    request_ = std::move(head);
    ++served_;
    write(take_refusal(), request_.keep_alive());
  } else {
    serve(std::move(head), body_->get().body());
  }
  body_.reset();
}

// Changes the charge for the current request to `bytes`. A body stays charged until the response, because other threads
// may have a copy of it.
void http_connection::charge(std::size_t bytes) {
  const std::size_t before = std::exchange(charged_, bytes);
  if (!memory_) return;
  if (bytes > before) memory_->add(bytes - before);
  if (bytes < before) memory_->remove(before - bytes);
}

// After the response: nothing needs the request's header any more.
void http_connection::forget_request() {
  request_ = {};
  charge(0);
}

void http_connection::note_unwritten(std::size_t bytes) {
  if (memory_) memory_->set_unwritten(bytes);
}

void http_connection::on_failed_read(error_code ec) {
  if (closed_) return;
  if (ec == http::error::header_limit) {
    return refuse(
        respond_error(http::status::request_header_fields_too_large, "too_large", "the header is over 16 KiB"));
  }
  if (ec == http::error::body_limit && refusal_) return refuse(take_refusal());
  if (ec == http::error::body_limit) {
    if (body_limit_.refuse_larger) return refuse(body_limit_.refuse_larger());
    return refuse(respond_error(http::status::payload_too_large, "too_large",
                                "the body is over " + std::to_string(body_limit_.max_bytes) + " bytes"));
  }
  if (ec.category() != make_error_code(http::error::bad_method).category() || ec == http::error::end_of_stream ||
      ec == http::error::partial_message) {
    return abort();
  }
  refuse(respond_error(http::status::bad_request, "bad_request", "this is not an HTTP request"));
}

void http_connection::serve(net::upgrade_request&& request, std::string_view body) {
  request_ = std::move(request);
  answered_ = false;
  ++served_;
  request_result result = home_.handler.handle(request_, body, from_, memory_.get());
  if (auto* response = std::get_if<http_response>(&result)) {
    body_limit_.ticket.reset();
    return write(std::move(*response), request_.keep_alive());
  }
  if (const auto* upgrade = std::get_if<protocol_upgrade>(&result)) return release(*upgrade);
  if (auto* chunked = std::get_if<chunked_response>(&result)) return serve_chunked(std::move(*chunked));
  serve_deferred(std::get<deferred_response>(result));
}

// Another thread makes the response. If that takes too long, the client gets 503.
void http_connection::serve_deferred(const deferred_response& deferred) {
  deadline_.expires_after(max_response_time);
  deadline_.async_wait([self = shared_from_this()](error_code ec) {
    if (ec || self->answered_ || self->closed_) return;
    self->refuse(busy("the answer takes too long; digd may still carry out the request"));
  });
  watch_client();
  place_ = deferred.place;
  deferred.start(
      [lent = std::make_shared<lent_connection>(home_.context, shared_from_this())](http_response&& response) {
        boost::asio::post(lent->home, [self = lent->connection, response = std::move(response)]() mutable {
          self->body_limit_.ticket.reset();  // now: the client may read the response slowly
          if (!self->answered_ && !self->closed_) self->write(std::move(response), self->request_.keep_alive());
        });
      });
}

// Notices a client that leaves before its response: digd then frees the connection's places at once. A client that only
// stops sending still gets its response, unless that holds a place, of which there are few. The watch ends when bytes
// of the next request come; if the client leaves after them, digd notices at the write.
void http_connection::watch_client() {
  stream_.next_layer().async_wait(
      net::stream_socket::wait_read, [self = shared_from_this(), request = served_](error_code ec) {
        if (ec || self->closed_ || self->answered_ || self->served_ != request) return;
        char next = 0;
        const ssize_t n = ::recv(self->stream_.next_layer().native_handle(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
        const bool is_gone = n < 0 && errno != EAGAIN && errno != EINTR;
        if (is_gone || (n == 0 && self->place_)) self->abort();
      });
}

// ---- a chunked response: request a piece, write it, request the next

void http_connection::serve_chunked(chunked_response&& chunked) {
  next_piece_ = std::move(chunked.next);
  piece_head_written_ = false;
  request_piece();
}

void http_connection::request_piece() {
  piece_ = {};
  note_unwritten(0);
  const std::uint64_t requested = ++requested_pieces_;
  abort_after(max_response_time);
  next_piece_(
      [lent = std::make_shared<lent_connection>(home_.context, shared_from_this()), requested](http_response&& piece) {
        boost::asio::post(lent->home, [self = lent->connection, requested, piece = std::move(piece)]() mutable {
          if (!self->closed_ && requested == self->requested_pieces_) self->take_piece(std::move(piece));
        });
      });
}

void http_connection::take_piece(http_response&& piece) {
  const bool good = piece.result() == http::status::ok;
  if (!piece_head_written_ && !good) {
    next_piece_ = nullptr;
    return write(std::move(piece), request_.keep_alive());
  }
  if (!good) return abort();  // without the last chunk, so that the client sees that the body is incomplete
  piece_ = std::move(piece.body());
  if (std::exchange(piece_head_written_, true)) return write_piece();
  write_chunked_head(std::move(piece));
}

void http_connection::write_chunked_head(http_response&& first) {
  answered_ = true;
  home_.counts.requests.add();
  const auto head = std::make_shared<http::response<http::empty_body>>();
  head->base() = std::move(first.base());
  head->erase(http::field::content_length);
  head->chunked(true);
  piece_keep_alive_ = request_.keep_alive() && served_ < max_requests && !home_.connections.is_stopping();
  head->keep_alive(piece_keep_alive_);
  forget_request();
  const auto serializer = std::make_shared<http::response_serializer<http::empty_body>>(*head);
  abort_after(max_write_time);
  http::async_write_header(stream_, *serializer,
                           [self = shared_from_this(), head, serializer](error_code ec, std::size_t) {
                             if (self->closed_) return;
                             if (ec) return self->abort();
                             self->write_piece();
                           });
}

void http_connection::write_piece() {
  note_unwritten(piece_.size());
  abort_after(max_write_time);
  if (piece_.empty()) {
    next_piece_ = nullptr;
    boost::asio::async_write(stream_, http::make_chunk_last(), [self = shared_from_this()](error_code ec, std::size_t) {
      self->on_written(ec, self->piece_keep_alive_);
    });
    return;
  }
  boost::asio::async_write(stream_, http::make_chunk(boost::asio::buffer(piece_)),
                           [self = shared_from_this()](error_code ec, std::size_t) {
                             if (self->closed_) return;
                             if (ec) return self->abort();
                             self->request_piece();
                           });
}

void http_connection::release(const protocol_upgrade& upgrade) {
  deadline_.cancel();
  closed_ = true;
  charge(0);
  memory_.reset();
  std::string unread = unread_bytes(buffer_, stream_);
  upgrade.take({.stream = std::move(stream_),
                .unread = std::move(unread),
                .request = std::move(request_),
                .ticket = std::move(ticket_)});
}

// ---- writing a response

// Answers before the whole request was read. The connection closes, because the next request cannot be found.
void http_connection::refuse(http_response&& response) {
  request_ = {};
  head_.reset();
  body_.reset();
  write(std::move(response), false);
}

void http_connection::write(http_response&& response, bool keep_alive) {
  answered_ = true;
  place_.reset();
  // A client that asked for a WebSocket and did not get one does not continue with HTTP.
  const bool keeps_open = keep_alive && response.keep_alive() && served_ < max_requests &&
                          !home_.connections.is_stopping() && request_.find(http::field::upgrade) == request_.end();
  home_.counts.requests.add();
  if (response.result_int() >= 400) home_.counts.errors.add();
  response_ = std::move(response);
  if (request_.version() == 10) response_->version(10);
  if (response_->result() != http::status::upgrade_required) response_->keep_alive(keeps_open);
  if (request_.method() == http::verb::head) response_->body().clear();  // Content-Length stays
  forget_request();
  note_unwritten(response_->body().size());
  abort_after(max_write_time);
  http::async_write(stream_, *response_, [self = shared_from_this(), keeps_open](error_code ec, std::size_t) {
    self->on_written(ec, keeps_open);
  });
}

void http_connection::on_written(error_code ec, bool keep_alive) {
  if (closed_) return;
  response_.reset();
  note_unwritten(0);
  if (!ec && keep_alive) return read_request();
  error_code ignored;
  stream_.next_layer().shutdown(boost::asio::socket_base::shutdown_send, ignored);
  if (ec || ignored) return abort();
  abort_after(linger_time);
  linger();
}

// Closing with unread bytes would reset the connection, and the client would lose the response.
void http_connection::linger() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(4'096), [self = shared_from_this()](error_code ec, std::size_t n) {
    self->drained_ += n;
    if (ec || self->drained_ > max_drained_bytes) return self->abort();
    self->linger();
  });
}

void http_connection::shut_down() { abort(); }

void http_connection::abort() {
  if (std::exchange(closed_, true)) return;
  deadline_.cancel();
  error_code ignored;
  stream_.next_layer().close(ignored);
  // Another thread may still make the response and hold this object for long. So the connection frees its places now.
  // Its memory and the place of a large body stay counted until the end, because they are in use until then.
  next_piece_ = nullptr;
  place_.reset();
  ticket_.reset();
}

}  // namespace digd::daemon
