// A client of a run: a WebSocket's conversation, or the span replayer. These are the calls between it and the run.
//
// Thread: each client has a home thread, on which the run's host calls it. The host has a weak reference to it. A run
// on the same thread calls it while it carries out its effects; then the client must not call the run's host.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "archive/stored.h"
#include "daemon/access/tokens.h"
#include "ingest/protocol/inbox.h"
#include "model/error.h"
#include "model/settings.h"

namespace digd::daemon {

class engine_loop;
class run_host;
class run_client;

// From this, a client's connection decides whether to read further frames.
struct flow_state {
  std::uint64_t handled = 0;      // frames that the run has received
  std::uint64_t outstanding = 0;  // messages accepted or held that are not durable
  bool congested = false;         // the engine thread's backlog is full
};

// A session's place in a run. Each connection of the session gets a new generation; frames of older ones are ignored.
struct session_slot {
  ingest::session_index session = 0;
  std::uint64_t generation = 0;
};

// A frame for a client, with the parts that clients inside the daemon need, so that none of them parses frames.
struct client_frame {
  ingest::frame_type type = ingest::frame_type::error;
  std::string_view text;         // valid during the call
  std::uint64_t acked_seq = 0;   // of an ack
  refusal code = refusal::none;  // of an error
};

struct join_request {
  hello greeting;
  std::string frame;  // as received
  grant_ptr grant;    // of the client's token; null where no tokens are configured, and for digd's own clients
  std::shared_ptr<memory_charge> memory;  // of its connection; null: not charged
  std::weak_ptr<run_client> client;
  engine_loop* home = nullptr;
};

struct join_result {
  refusal_note refused;  // if set, only `moved_to` may be set too
  std::string moved_to;  // where the run's home is, if `refused` has the code moved
  std::shared_ptr<run_host> host;
  session_slot slot;
  std::string welcome;
  std::uint64_t acked_seq = 0;  // as in the welcome
  std::uint64_t taken_seq = 0;  // the session's last message; a client that repeats no messages continues after it
  bool ended = false;           // the run has ended, and takes no more messages
  std::uint64_t message_bytes = 0;
  std::uint64_t credits = 0;
  std::optional<archive::answer_range> missed;  // answers that the client asks for again
};

class run_client {
 public:
  virtual ~run_client() = default;
  virtual void on_joined(join_result&& result) = 0;
  virtual void on_frame(const client_frame& frame) = 0;
  virtual void on_flow_state(const flow_state& now) = 0;
  virtual void on_replaced() = 0;  // by a newer connection of the same session
  virtual void on_deleted() = 0;   // an operator deleted the run
  // The run's home is another daemon now. digd's own clients cannot follow.
  virtual void on_moved(const std::string&) { on_deleted(); }
};

}  // namespace digd::daemon
