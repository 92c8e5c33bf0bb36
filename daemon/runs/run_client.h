// A client of a run: a WebSocket's conversation, or the replayer of spans. The calls between it and the run.
//
// Thread: each client has a home thread, on which the run's host calls it. The run knows it by a weak reference.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ingest/protocol/inbox.h"
#include "model/error.h"
#include "model/settings.h"

namespace digd::daemon {

class engine_thread;
class run_host;
class run_client;

// How far the run is with a connection's frames; what bounds its reading.
struct flow_state {
  std::uint64_t handled = 0;      // frames that the run has looked at
  std::uint64_t outstanding = 0;  // messages taken or held, and not durable
  bool congested = false;         // the engine thread has no room for more
};

// A seat in a run: the session, and which of its connections this is.
struct session_slot {
  ingest::session_index session = 0;
  std::uint64_t generation = 0;  // frames of an older connection are not listened to
};

struct join_request {
  hello greeting;
  std::string frame;  // as received
  std::weak_ptr<run_client> who;
  engine_thread* home = nullptr;
};

struct join_result {
  refusal_note refused;  // then nothing else is set
  std::shared_ptr<run_host> host;
  session_slot slot;
  std::string welcome;
  std::uint64_t message_bytes = 0;
  std::uint64_t credits = 0;
};

// Tells the client of `request`, on its thread. If it is gone by then, its seat is given up.
void answer(const join_request& request, join_result&& result);

class run_client {
 public:
  virtual ~run_client() = default;
  virtual void on_joined(join_result&& result) = 0;
  virtual void on_frame(std::string_view frame) = 0;  // until it returns
  virtual void on_flow_state(const flow_state& now) = 0;
  virtual void on_replaced() = 0;  // by a newer connection of the same session
  virtual void on_deleted() = 0;   // the run, by the operator
};

}  // namespace digd::daemon
