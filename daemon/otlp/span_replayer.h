// Sends a run the messages made from its spans, as a client that follows the protocol: first the hello, then messages
// as far as the credits allow. After a restart it continues after the last acknowledged message.
//
// Thread: its run's engine thread; construction, `open`, `send` and `close` are for any. It calls its listener on the
// engine thread, and the listener must not wait. Lifetime: shared; the run holds a weak reference. Bounds: its owner
// bounds the lines that it holds. Failure: `gone`, with a reason.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/runs/run_client.h"
#include "net/types.h"

namespace digd::daemon {

class engine_thread;

class span_replayer final : public run_client, public std::enable_shared_from_this<span_replayer> {
 public:
  struct listener {
    std::function<void(std::uint64_t seq)> durable;  // the archive has all messages up to this one
    std::function<void(std::string problem)> gone;   // the run takes no more messages; called once
  };
  static constexpr std::size_t max_batch = 64;  // messages in a row, before other work on the thread gets its turn
  static constexpr int max_tries = 600;         // attempts to join, one a second, while the daemon has too many runs

  span_replayer(engine_thread& owner, listener to);

  // `lines`: the messages so far, from seq 1 on. It sends those that the run lacks.
  void open(std::string hello, std::vector<std::string> lines);
  void send(std::vector<std::string> lines);
  void close();

  void on_joined(join_result&& result) override;
  void on_frame(const client_frame& frame) override;
  void on_flow_state(const flow_state& now) override;
  void on_replaced() override;
  void on_deleted() override;

 private:
  void join();
  void join_later();
  void pump_soon();
  void pump();
  void give_up(std::string problem);

  engine_thread& owner_;
  const listener to_;
  net::steady_timer again_;
  std::string hello_;
  int tries_ = 0;
  std::shared_ptr<run_host> host_;
  session_slot slot_;
  std::deque<std::string> lines_;     // not sent to the run yet
  std::uint64_t received_lines_ = 0;  // all lines that its owner sent
  std::uint64_t handed_over_ = 0;
  std::uint64_t credits_ = 0, acked_ = 0;
  flow_state flow_state_;
  bool pumping_ = false, over_ = false;
};

}  // namespace digd::daemon
