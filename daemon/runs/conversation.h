// One client's WebSocket: hello, welcome, then frames between the client and its run.
//
// Thread: that of its socket (`home`), which may differ from its run's; then frames are posted from one to the other.
// Lifetime: its websocket_session holds it; the run has a weak reference. Bounds: it reads only while at most `credits`
// of its messages are posted, held or not durable, and at most `max_waiting_bytes` posted or held; while its token's
// rate allows it, and while it reads its answers.
// Answers that it missed are read from the archive and sent in parts, each when the client has read the part before.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ticket.h"
#include "daemon/access/peers.h"
#include "daemon/access/tokens.h"
#include "daemon/http/connection.h"
#include "daemon/runs/run_client.h"
#include "ingest/protocol/inbox.h"
#include "model/error.h"
#include "model/settings.h"
#include "net/websocket_session.h"

namespace digd::daemon {

class engine_thread;
class engine_threads;

class conversation final : public net::websocket_session::listener,
                           public connection,
                           public run_client,
                           public std::enable_shared_from_this<conversation> {
 public:
  // `expected_run`: the run that `?run=` named. `grant`: its token's rights; null where no tokens are configured.
  // `of_token` counts the connection for its token; `ticket` counts it among all connections and charges its memory.
  conversation(engine_thread& home, const engine_threads& threads, std::optional<std::string> expected_run,
               grant_ptr grant, ticket_ptr of_token, connection_ticket ticket);
  ~conversation() override;
  // Call once, before the WebSocket opens.
  void attach(std::weak_ptr<net::websocket_session> session) { session_ = std::move(session); }

  // ---- from the socket
  void on_open() override;
  bool on_text(std::string_view frame, time_point read_at) override;
  bool on_binary(time_point read_at) override;
  bool on_too_large(std::size_t bytes, time_point read_at) override;
  void on_too_many_pings() override;
  void on_memory(std::size_t partial, std::size_t unwritten) override;
  void on_closed(std::string_view reason) override;
  void on_turn_end() override;
  void on_drained() override;

  // ---- from the run
  void on_joined(join_result&& result) override;
  void on_frame(const client_frame& frame) override;
  void on_flow_state(const flow_state& now) override;
  void on_replaced() override;
  void on_deleted() override;
  void on_moved(const std::string& to) override;

  void shut_down() override;
  void abort() override;

 private:
  enum class state : std::uint8_t { greeting, joining, joined, closed };

  bool greet(std::string_view frame);
  void refuse(const refusal_note& note);
  void send_elsewhere(const std::string& to);
  bool may_read() const;
  bool is_unauthorized();
  bool exceeds_rate(std::size_t bytes);
  bool may_read_more(std::size_t bytes);
  void read_missed_answers();
  void on_missed_answers(archive::answer_range read, const std::vector<std::string>& frames);
  std::uint64_t credits() const;
  void watch_memory();
  void charge(std::size_t& before, std::size_t bytes);
  void close_for_memory();
  void withdraw_hello();
  void post(std::string&& frame, time_point read_at);
  void watch_hello();
  void watch_quiet();
  void leave();

  engine_thread& home_;
  const engine_threads& threads_;
  const std::optional<std::string> expected_run_;
  const grant_ptr grant_;
  const ticket_ptr of_token_;
  const connection_ticket ticket_;
  std::size_t charged_partial_ = 0, charged_hello_ = 0;
  std::uint64_t credits_ = 0;
  std::weak_ptr<net::websocket_session> session_;
  net::steady_timer hello_deadline_;
  net::steady_timer rate_timer_;  // while its token sends too fast
  bool is_rate_limited_ = false;
  net::steady_timer quiet_timer_;
  std::chrono::milliseconds max_quiet_{0};
  std::chrono::steady_clock::time_point last_message_{};
  state state_ = state::greeting;
  std::shared_ptr<run_host> host_;
  engine_thread* owner_ = nullptr;  // the run's
  std::string run_;                 // as the hello names it
  session_slot slot_;
  std::string log_name_;      // run and session
  std::uint64_t posted_ = 0;  // frames passed to the run
  flow_state flow_state_;
  bool counted_ = false;  // as an open session
  // While answers are sent again: the part that is not read yet. The client's messages wait meanwhile.
  std::optional<archive::answer_range> missed_;
  bool reading_missed_ = false;
};

}  // namespace digd::daemon
