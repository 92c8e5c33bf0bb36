// One client's connection once it is a WebSocket: hello, welcome, then its frames to the run and the run's to it.
//
// Thread: that of its socket (`home`), which need not be its run's: frames for a run elsewhere are posted there, and
// replies posted back. Lifetime: held by its websocket_session; the run knows it by a weak reference. Bounds: it reads
// on only while no more than `credits` of its messages are handed over, held or not durable, and its token's rate
// allows.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ticket.h"
#include "daemon/access/tokens.h"
#include "daemon/http/connection.h"
#include "daemon/runs/run_client.h"
#include "ingest/protocol/inbox.h"
#include "model/error.h"
#include "model/settings.h"
#include "net/websocket_session.h"

namespace digd::daemon {

class conversation final : public net::websocket_session::listener,
                           public connection,
                           public run_client,
                           public std::enable_shared_from_this<conversation> {
 public:
  // `placed_for`: the run that `?run=` named. `with`: its token's rights; null where no tokens are configured.
  conversation(engine_thread& home, std::optional<std::string> placed_for, grant_ptr with, ticket_ptr ticket);
  ~conversation() override;
  // Call once, before the WebSocket opens.
  void attach(std::weak_ptr<net::websocket_session> session) { session_ = std::move(session); }

  // What the socket tells.
  void on_open() override;
  bool on_text(std::string_view frame, time_point read_at) override;
  bool on_binary(time_point read_at) override;
  bool on_too_large(std::size_t bytes, time_point read_at) override;
  void on_closed(std::string_view why) override;

  // What the run tells.
  void on_joined(join_result&& result) override;
  void on_frame(std::string_view frame) override;
  void on_flow_state(const flow_state& now) override;
  void on_replaced() override;
  void on_deleted() override;

  void shut_down() override;
  void abort() override;

 private:
  enum class state : std::uint8_t { greeting, joining, joined, closed };

  bool greet(std::string_view frame);
  void refuse(const refusal_note& note);
  bool may_read() const;
  bool is_unauthorized();
  bool waits_for_its_rate();
  bool goes_on();
  std::uint64_t credits() const;
  void watch_for_quiet();
  void leave();

  engine_thread& home_;
  const std::optional<std::string> placed_for_;
  const grant_ptr with_;
  const ticket_ptr ticket_;
  std::uint64_t credits_ = 0;
  std::weak_ptr<net::websocket_session> session_;
  net::steady_timer hello_deadline_;
  net::steady_timer pace_;  // while its token sends faster than it may
  bool is_paced_ = false;
  net::steady_timer quiet_;  // since it last sent a message
  std::chrono::milliseconds quiet_most_{0};
  std::chrono::steady_clock::time_point heard_{};
  state state_ = state::greeting;
  std::shared_ptr<run_host> host_;
  engine_thread* owner_ = nullptr;  // the run's
  session_slot slot_;
  std::string who_;  // run and session, for the log
  std::uint64_t handed_over_ = 0;
  flow_state flow_state_;
  bool counted_ = false;  // among the sessions
};

}  // namespace digd::daemon
