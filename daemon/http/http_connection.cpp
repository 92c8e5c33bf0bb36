#include "daemon/http/http_connection.h"

#include <unistd.h>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>
#include <type_traits>
#include <utility>

#include "daemon/runs/conversation.h"
#include "daemon/runs/engine_thread.h"
#include "daemon/feed/feed_server.h"
#include "daemon/shared_state.h"

namespace digd::daemon {

namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::chrono::seconds request_within{10}, made_within{60}, taken_within{30}, lingers{1};
constexpr std::size_t most_drained_bytes = 256 * 1024;
constexpr std::uint32_t most_header_bytes = 16 * 1024;

// A socket on its way from one thread to another.
class loose_socket {
 public:
  explicit loose_socket(net::stream_socket& from) {
    error_code ec;
    protocol_ = from.local_endpoint(ec).protocol();
    const int fd = ec ? -1 : from.release(ec);
    if (!ec) fd_ = fd;
  }
  loose_socket(loose_socket&& other) noexcept : protocol_(other.protocol_), fd_(std::exchange(other.fd_, -1)) {}
  ~loose_socket() {
    if (fd_ >= 0) ::close(fd_);
  }

  std::optional<net::stream_socket> settle(boost::asio::io_context& on) {
    net::stream_socket socket(on.get_executor());
    error_code ec;
    socket.assign(protocol_, fd_, ec);
    if (ec) return std::nullopt;
    fd_ = -1;
    return socket;
  }

 private:
  boost::asio::generic::stream_protocol protocol_{AF_INET, 0};
  int fd_ = -1;
};

// A connection that another thread holds: wherever that lets go of it, it ends on its own thread.
struct lent_out {
  boost::asio::io_context& home;
  std::shared_ptr<http_connection> who;

  lent_out(boost::asio::io_context& on, std::shared_ptr<http_connection> of) : home(on), who(std::move(of)) {}
  ~lent_out() {
    boost::asio::post(home, [last = std::move(who)] {});
  }
};

net::websocket_session::options session_options(const config& settings) {
  return {.subprotocol = std::string(ingest_subprotocol),
          .idle = std::chrono::milliseconds(settings.connections.idle_ms),
          .message_bytes = settings.policy.defaults.limits.message_bytes,
          .queue_frames = settings.connections.queue_frames,
          .queue_bytes = settings.connections.queue_bytes};
}

void begin_conversation(engine_thread& home, net::batched_stream stream, const net::upgrade_request& request,
                        to_ingest to, connection_ticket ticket) {
  const auto talk = std::make_shared<conversation>(home, std::move(to.run), std::move(to.with), std::move(ticket));
  const auto session =
      std::make_shared<net::websocket_session>(std::move(stream), session_options(*home.shared().live.now()), talk);
  talk->speak_through(session);
  session->accept(request);
  home.remember(talk);
}

// What came after the request, if the client did not wait for our answer.
std::string rest_of(const boost::beast::flat_buffer& buffer, net::batched_stream& stream) {
  return std::string(static_cast<const char*>(buffer.cdata().data()), buffer.size()) + stream.take_unread();
}

}  // namespace

http_connection::http_connection(engine_thread& home, net::stream_socket socket, connection_ticket ticket)
    : home_(home), stream_(std::move(socket)), ticket_(std::move(ticket)), deadline_(home.context().get_executor()) {}

http_connection::~http_connection() { home_.forget(this); }

void http_connection::start() {
  home_.remember(shared_from_this());
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
  head_->header_limit(most_header_bytes);
  head_->body_limit(boost::none);  // not read before there is room for it
  large_body_.reset();
  abort_after(request_within);
  http::async_read_header(stream_, buffer_, *head_,
                          [self = shared_from_this()](error_code ec, std::size_t) { self->on_head(ec); });
}

void http_connection::on_head(error_code ec) {
  if (ec) return on_failed_read(ec);
  if (head_->is_done()) return serve(head_->release(), {});
  auto room = room_for_body(head_->get(), home_.shared());
  if (auto* no = std::get_if<http_response>(&room)) return refuse(std::move(*no));
  const auto [bytes, large] = std::get<body_room>(room);
  body_room_ = bytes;
  if (large) large_body_ = std::make_shared<ticket_counter>(home_.shared().bodies);
  read_body();
}

void http_connection::read_body() {
  const auto announced = head_->content_length();
  if (announced && *announced > body_room_) return on_failed_read(http::error::body_limit);
  body_.emplace(std::move(*head_));
  body_->body_limit(body_room_);
  http::async_read(stream_, buffer_, *body_,
                   [self = shared_from_this()](error_code failed, std::size_t) { self->on_body(failed); });
}

void http_connection::on_body(error_code ec) {
  if (ec) return on_failed_read(ec);
  net::upgrade_request head;
  head.base() = body_->get().base();
  serve(std::move(head), body_->get().body());
  body_.reset();
}

void http_connection::on_failed_read(error_code ec) {
  if (ec == http::error::header_limit) {
    return refuse(
        respond_error(http::status::request_header_fields_too_large, "too_large", "the header is over 16 KiB"));
  }
  if (ec == http::error::body_limit) {
    return refuse(respond_error(http::status::payload_too_large, "too_large",
                                "the body is over " + std::to_string(body_room_) + " bytes"));
  }
  if (ec.category() != make_error_code(http::error::bad_method).category() || ec == http::error::end_of_stream ||
      ec == http::error::partial_message) {
    return abort();
  }
  refuse(respond_error(http::status::bad_request, "bad_request", "this is no HTTP request"));
}

void http_connection::serve(net::upgrade_request&& request, std::string_view body) {
  request_ = std::move(request);
  answered_ = false;
  ++served_;
  routed to = route(request_, body, home_.shared());
  std::visit(
      [&]<class To>(To& target) {
        if constexpr (std::is_same_v<To, http_response>) {
          write(std::move(target), request_.keep_alive());
        } else if constexpr (std::is_same_v<To, to_ingest>) {
          deadline_.cancel();
          open_ingest(std::move(target));
        } else if constexpr (std::is_same_v<To, to_feed>) {
          deadline_.cancel();
          open_feed(std::move(target.asked));
        } else if constexpr (std::is_same_v<To, in_pieces>) {
          serve_pieces(std::move(target));
        } else {
          serve_later(std::move(target));
        }
      },
      to);
}

// The answer comes from another thread, at whatever time; who has not heard by then is not kept waiting.
void http_connection::serve_later(later&& later) {
  deadline_.expires_after(made_within);
  deadline_.async_wait([self = shared_from_this()](error_code ec) {
    if (ec || self->answered_ || self->closed_) return;
    self->refuse(busy("the answer takes too long; what was asked for may still happen"));
  });
  later.start([lent = std::make_shared<lent_out>(home_.context(), shared_from_this())](http_response&& response) {
    boost::asio::post(lent->home, [self = lent->who, response = std::move(response)]() mutable {
      if (!self->answered_ && !self->closed_) self->write(std::move(response), self->request_.keep_alive());
    });
  });
}

// ---- an answer in pieces: one is asked for, written, and the next asked for

void http_connection::serve_pieces(in_pieces&& in_pieces) {
  next_piece_ = std::move(in_pieces.next);
  piece_head_written_ = false;
  ask_for_piece();
}

void http_connection::ask_for_piece() {
  const std::uint64_t asked = ++pieces_;
  abort_after(made_within);
  next_piece_([lent = std::make_shared<lent_out>(home_.context(), shared_from_this()), asked](http_response&& piece) {
    boost::asio::post(lent->home, [self = lent->who, asked, piece = std::move(piece)]() mutable {
      if (!self->closed_ && asked == self->pieces_) self->take_piece(std::move(piece));
    });
  });
}

void http_connection::take_piece(http_response&& piece) {
  const bool good = piece.result() == http::status::ok;
  if (!piece_head_written_ && !good) {
    next_piece_ = nullptr;
    return write(std::move(piece), request_.keep_alive());
  }
  if (!good) return abort();  // without the last chunk: the client sees that it is not whole
  piece_ = std::move(piece.body());
  if (std::exchange(piece_head_written_, true)) return write_piece();
  write_head_of_pieces(std::move(piece));
}

void http_connection::write_head_of_pieces(http_response&& first) {
  answered_ = true;
  home_.counts().http_requests.add();
  const auto head = std::make_shared<http::response<http::empty_body>>();
  head->base() = std::move(first.base());
  head->erase(http::field::content_length);
  head->chunked(true);
  piece_keep_alive_ = request_.keep_alive() && served_ < most_requests && !home_.is_stopping();
  head->keep_alive(piece_keep_alive_);
  const auto serializer = std::make_shared<http::response_serializer<http::empty_body>>(*head);
  abort_after(taken_within);
  http::async_write_header(stream_, *serializer,
                           [self = shared_from_this(), head, serializer](error_code ec, std::size_t) {
                             if (self->closed_) return;
                             if (ec) return self->abort();
                             self->write_piece();
                           });
}

void http_connection::write_piece() {
  abort_after(taken_within);
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
                             self->ask_for_piece();
                           });
}

// ---- WebSockets

// The socket goes to its run's thread first, where the request named the run.
void http_connection::open_ingest(to_ingest&& to) {
  engine_thread& owner = to.run ? home_.shared().owner_of(*to.run) : home_;
  closed_ = true;
  if (&owner == &home_) {
    stream_.put_back(rest_of(buffer_, stream_));
    return begin_conversation(home_, std::move(stream_), request_, std::move(to), std::move(ticket_));
  }
  boost::asio::post(owner.context(), [&owner, loose = loose_socket(stream_.next_layer()), to = std::move(to),
                                      request = std::move(request_), ahead = rest_of(buffer_, stream_),
                                      ticket = std::move(ticket_)]() mutable {
    auto socket = loose.settle(owner.context());
    if (!socket) return;
    net::batched_stream stream(std::move(*socket));
    stream.put_back(ahead);
    begin_conversation(owner, std::move(stream), request, std::move(to), std::move(ticket));
  });
}

void http_connection::open_feed(feed_request&& asked) {
  feed_server& feed = *home_.shared().feed;
  closed_ = true;
  boost::asio::post(feed.context(), [&feed, loose = loose_socket(stream_.next_layer()), asked = std::move(asked),
                                     request = std::move(request_), ahead = rest_of(buffer_, stream_),
                                     ticket = std::move(ticket_)]() mutable {
    auto socket = loose.settle(feed.context());
    if (!socket) return;
    net::batched_stream stream(std::move(*socket));
    stream.put_back(ahead);
    feed.admit(std::move(stream), request, std::move(asked), std::move(ticket));
  });
}

// ---- the answer

// Before a whole request was read: what follows cannot be told apart.
void http_connection::refuse(http_response&& response) {
  request_ = {};
  write(std::move(response), false);
}

void http_connection::write(http_response&& response, bool keep_alive) {
  answered_ = true;
  // Who wanted a WebSocket and gets none is done.
  const bool goes_on = keep_alive && served_ < most_requests && !home_.is_stopping() &&
                       request_.find(http::field::upgrade) == request_.end() &&
                       response.result() != http::status::upgrade_required;
  thread_counts& counts = home_.counts();
  counts.http_requests.add();
  if (response.result_int() >= 400) counts.http_errors.add();
  response_ = std::move(response);
  if (request_.version() == 10) response_->version(10);
  if (response_->result() != http::status::upgrade_required) response_->keep_alive(goes_on);
  if (request_.method() == http::verb::head) response_->body().clear();  // its length stays in the header
  abort_after(taken_within);
  http::async_write(stream_, *response_, [self = shared_from_this(), goes_on](error_code ec, std::size_t) {
    self->on_written(ec, goes_on);
  });
}

void http_connection::on_written(error_code ec, bool keep_alive) {
  if (closed_) return;
  if (!ec && keep_alive) return read_request();
  error_code ignored;
  stream_.next_layer().shutdown(boost::asio::socket_base::shutdown_send, ignored);
  if (ec || ignored) return abort();
  abort_after(lingers);
  linger();
}

// Closed with bytes unread, the socket would be reset, and the answer lost with it.
void http_connection::linger() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(4'096), [self = shared_from_this()](error_code ec, std::size_t n) {
    self->drained_ += n;
    if (ec || self->drained_ > most_drained_bytes) return self->abort();
    self->linger();
  });
}

void http_connection::shut_down() { abort(); }

void http_connection::abort() {
  if (std::exchange(closed_, true)) return;
  deadline_.cancel();
  error_code ignored;
  stream_.next_layer().close(ignored);
}

}  // namespace digd::daemon
