// A client's WebSocket connection to a daemon: for `digctl send` and `digctl tail`, and for clients/cpp.
//
// It sends and receives only while the io_context runs; its calls that wait run the io_context up to a deadline.
// Several clients may share one io_context.
//
// Thread: the one that runs the io_context. Lifetime: shared; pending operations hold it. Bounds: frames of at most
// `max_frame_bytes`. It does not limit its queues: the caller limits what it sends (`unwritten`) and takes what
// arrived.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/server_address.h"

namespace digd::net {

// Path and query for a session of the run.
std::string ingest_target(std::string_view run);

// The message in a daemon's refusal, a body `{"error":{"code":…,"message":…}}`; empty if there is none.
std::string error_message(std::string_view body);

class websocket_client : public std::enable_shared_from_this<websocket_client> {
 public:
  static constexpr std::size_t max_frame_bytes = 64u << 20;

  static std::shared_ptr<websocket_client> make(boost::asio::io_context& io, std::string_view subprotocol = "digd.v1");
  virtual ~websocket_client() = default;

  // Connects and upgrades. Returns an empty string, or a sentence that says what to do.
  virtual std::string open(const server_address& to, std::string_view target, std::string_view token,
                           std::chrono::milliseconds within) = 0;
  virtual bool is_open() const = 0;
  virtual void send(std::string_view frame) = 0;  // ignored once closed
  virtual std::size_t unwritten() const = 0;      // bytes
  virtual std::optional<std::string> take() = 0;  // the next frame received, even after the connection was closed
  // Why the connection is no longer open: the peer's close code (0: none received), and a text.
  virtual std::uint16_t close_code() const = 0;
  virtual const std::string& close_reason() const = 0;
  // For a feed: the entry after which the feed begins, as the daemon's answer to the upgrade says; empty: none.
  virtual const std::string& feed_seq() const = 0;
  virtual void close() = 0;  // sends a close frame, without waiting for the answer
  virtual void abort() = 0;  // closes the socket at once
};

}  // namespace digd::net
