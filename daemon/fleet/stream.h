// The stream of a fleet: where a daemon publishes what it has archived. The implementation for NATS JetStream
// (nats_stream.cpp) is compiled where CMake finds the C client of NATS; elsewhere no_stream.cpp takes its place.
//
// Thread: one at a time. Failure: a sentence for people; nothing throws.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "daemon/fleet/fleet_settings.h"

namespace digd::daemon {

struct stream_message {
  std::string id;  // the stream stores one message of each id, within its duplicate window
  std::string_view body;
};

// The sequence numbers of the oldest and the latest message that a stream has. An empty stream: `first` is `last` + 1.
struct stream_bounds {
  std::uint64_t first = 1, last = 0;
};

class stream {
 public:
  static constexpr std::chrono::milliseconds max_publish_time{10'000};

  virtual ~stream() = default;
  // The connection has ended permanently, and no call will succeed.
  virtual bool is_closed() const = 0;
  // Publishes the messages and waits until the stream has stored them. A problem means that any of them may be missing:
  // publish all of them again. `stopping` ends the wait early.
  virtual std::string publish(std::span<const stream_message> messages, const std::function<bool()>& stopping) = 0;
  // Publishes one message. `sequence`: its number in the stream, also if the stream had it already.
  virtual std::string publish_marker(const stream_message& message, std::uint64_t& sequence) = 0;
  virtual std::string read_bounds(stream_bounds& bounds) = 0;
  // Reads the tenant's messages from sequence number `from` to `upto`, in order. `upto` must be the number of a message
  // of the tenant. `each` gets the id and the body of each message, and returns false to stop.
  using scan_handler = std::function<bool(std::string_view id, std::string_view body)>;
  virtual std::string scan(std::uint64_t from, std::uint64_t upto, const scan_handler& each) = 0;
  // The largest body of a message.
  virtual std::size_t max_message_bytes() const = 0;
  // Publishes a record about this daemon. It does not wait for an answer, and the record may be lost. `flushes`: waits
  // a moment until the record is sent.
  virtual void announce(std::string_view body, bool flushes) = 0;
};

// Connects, and creates the stream `digd` if the server has none. Null: `problem` has the reason.
std::unique_ptr<stream> connect_stream(const fleet_settings& settings, std::string& problem);

// The subject of a host's messages: digd.archive.TENANT.HOST.
std::string subject_of(const fleet_settings& settings);
// The subject of a host's records about itself: digd.host.TENANT.HOST.
std::string host_subject_of(const fleet_settings& settings);

}  // namespace digd::daemon
