// Helpers shared by the files that call the C client of NATS. Only daemon/fleet/nats_*.cpp include it.
#pragma once

#include <nats/nats.h>

#include <cstdint>
#include <memory>
#include <string>

#include "daemon/fleet/fleet_settings.h"

namespace digd::daemon {

template <class T, void (*destroy)(T*)>
struct nats_destroyer {
  void operator()(T* handle) const { destroy(handle); }
};
template <class T, void (*destroy)(T*)>
using nats_handle = std::unique_ptr<T, nats_destroyer<T, destroy>>;

inline constexpr const char* fleet_stream_name = "digd";
inline constexpr std::int64_t nats_request_ms = 5'000;
inline constexpr std::int64_t nats_ping_ms = 20'000;  // two unanswered pings end a connection whose server is silent
inline constexpr std::int64_t nats_duplicate_window_ns = 120'000'000'000;

// A connection, and its JetStream context, which is destroyed first. `request_ms` limits each request.
struct nats_client {
  nats_handle<natsConnection, natsConnection_Destroy> connection;
  nats_handle<jsCtx, jsCtx_Destroy> context;

  // Empty, or a problem in words.
  std::string open(const fleet_settings& settings, std::int64_t request_ms, jsPubAckErrHandler on_failure = nullptr);
  // The library reconnects by itself, except after a server refused this daemon twice for the same reason.
  bool is_closed() const { return natsConnection_IsClosed(connection.get()); }

 private:
  natsStatus connect(const fleet_settings& settings, std::int64_t request_ms, jsPubAckErrHandler on_failure);
};

// The sentence of the last error on this thread.
std::string words_of(natsStatus status);

}  // namespace digd::daemon
