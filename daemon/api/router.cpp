#include "daemon/api/router.h"

#include <unistd.h>

#include <boost/asio/post.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "daemon/feed/feed_server.h"
#include "daemon/runs/conversation.h"

namespace digd::daemon {

namespace {

using boost::system::error_code;

// A socket on its way from one thread to another. Closes it if it never arrives.
class moving_socket {
 public:
  explicit moving_socket(net::stream_socket& from) {
    error_code ec;
    protocol_ = from.local_endpoint(ec).protocol();
    const int fd = ec ? -1 : from.release(ec);
    if (!ec) fd_ = fd;
  }
  moving_socket(moving_socket&& other) noexcept : protocol_(other.protocol_), fd_(std::exchange(other.fd_, -1)) {}
  ~moving_socket() {
    if (fd_ >= 0) ::close(fd_);
  }

  // Nothing: the socket failed.
  std::optional<net::stream_socket> attach(boost::asio::io_context& to) {
    net::stream_socket socket(to.get_executor());
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

// A connection on its way from one thread to another.
struct moving_connection {
  explicit moving_connection(released_connection&& from)
      : socket(from.stream.next_layer()),
        unread(std::move(from.unread)),
        request(std::move(from.request)),
        ticket(std::move(from.ticket)) {}

  // Nothing: the socket failed.
  std::optional<net::batched_stream> attach(boost::asio::io_context& to) {
    auto attached = socket.attach(to);
    if (!attached) return std::nullopt;
    net::batched_stream stream(std::move(*attached));
    stream.put_back(unread);
    return stream;
  }

  moving_socket socket;
  std::string unread;
  net::upgrade_request request;
  connection_ticket ticket;
};

net::websocket_session::options session_options(const config& settings) {
  return {.subprotocol = std::string(ingest_subprotocol),
          .idle = std::chrono::milliseconds(settings.connections.idle_ms),
          .message_bytes = settings.policy.defaults.limits.message_bytes,
          .queue_frames = settings.connections.queue_frames,
          .queue_bytes = settings.connections.queue_bytes};
}

void begin_conversation(engine_thread& home, const engine_threads& threads, net::batched_stream stream,
                        const net::upgrade_request& request, const to_ingest& to, connection_ticket ticket) {
  const auto client = std::make_shared<conversation>(home, threads, to.run, to.grant, to.counted, std::move(ticket));
  const auto session = std::make_shared<net::websocket_session>(
      std::move(stream), session_options(*home.services().conditions.settings.now()), client);
  client->attach(session);
  session->accept(request);
  home.connections().add(client);
}

}  // namespace

std::variant<body_limit, http_response> router::limit_body(const net::upgrade_request& head, const peer_ptr& from) {
  return daemon::limit_body(head, from, services_);
}

request_result router::handle(const net::upgrade_request& request, std::string_view body, const peer_ptr& from,
                              memory_charge* memory) {
  routed result = route(request, body, from, services_, memory);
  if (auto* response = std::get_if<http_response>(&result)) return std::move(*response);
  if (auto* deferred = std::get_if<deferred_response>(&result)) return std::move(*deferred);
  if (auto* chunked = std::get_if<chunked_response>(&result)) return std::move(*chunked);
  if (auto* feed = std::get_if<to_feed>(&result)) {
    return protocol_upgrade{
        [this, to = std::move(*feed)](released_connection&& from) { open_feed(to, std::move(from)); }};
  }
  return protocol_upgrade{[this, to = std::get<to_ingest>(std::move(result))](released_connection&& from) {
    open_ingest(to, std::move(from));
  }};
}

// If the request named its run, the socket moves to the run's thread.
void router::open_ingest(const to_ingest& to, released_connection&& from) {
  const engine_threads& threads = services_.runs.threads;
  engine_thread& owner = to.run ? threads.owner_of(*to.run) : home_;
  if (&owner == &home_) {
    from.stream.put_back(from.unread);
    return begin_conversation(home_, threads, std::move(from.stream), from.request, to, std::move(from.ticket));
  }
  boost::asio::post(owner.context(), [&owner, &threads, to, moving = moving_connection(std::move(from))]() mutable {
    auto stream = moving.attach(owner.context());
    if (stream) begin_conversation(owner, threads, std::move(*stream), moving.request, to, std::move(moving.ticket));
  });
}

void router::open_feed(const to_feed& to, released_connection&& from) {
  feed_server& feed = *services_.feed;
  boost::asio::post(feed.context(),
                    [&feed, request = to.request, moving = moving_connection(std::move(from))]() mutable {
                      auto stream = moving.attach(feed.context());
                      if (stream)
                        feed.admit(std::move(*stream), moving.request, std::move(request), std::move(moving.ticket));
                    });
}

}  // namespace digd::daemon
