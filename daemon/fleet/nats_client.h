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
inline constexpr std::int64_t nats_duplicate_window_ns = 120'000'000'000;

// A connection, and its JetStream context, which is destroyed first. `request_ms` limits each request.
struct nats_client {
  nats_handle<natsConnection, natsConnection_Destroy> connection;
  nats_handle<jsCtx, jsCtx_Destroy> context;

  natsStatus open(const fleet_settings& settings, std::int64_t request_ms, jsPubAckErrHandler on_failure = nullptr);
};

// The sentence of the last error on this thread.
std::string words_of(natsStatus status);

}  // namespace digd::daemon
