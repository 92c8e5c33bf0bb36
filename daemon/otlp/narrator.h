// Tells a run what was made of its spans, as a client that keeps to the protocol would: hello, messages up to the
// credits, and from what is not acknowledged on after a restart.
//
// Thread: its run's engine thread, but construction, `open`, `say` and `close`, which are for any. It calls back from
// there; who is called does not wait. Lifetime: shared; the run knows it by a weak reference. Bounds: what it holds is
// bounded by who speaks through it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/run_client.h"
#include "ingest/websocket_session.h"

namespace digd::daemon {

class narrator final : public run_client, public std::enable_shared_from_this<narrator> {
 public:
  struct listener {
    std::function<void(std::uint64_t seq)> durable;  // all up to it is in the archive
    std::function<void(std::string why)> gone;       // the run takes no more; said once
  };
  static constexpr std::size_t most_at_once = 64;  // messages before others have their turn on the thread
  static constexpr int most_tries = 600;           // to join, a second apart, while the daemon has too many runs

  narrator(engine_thread& owner, listener to);

  // `said`: the messages that were told before a restart, from seq 1 on; the run is told those it does not have.
  void open(std::string hello, std::vector<std::string> said);
  void say(std::vector<std::string> lines);
  void close();

  void on_joined(join_result&& result) override;
  void on_frame(std::string_view frame) override;
  void on_standing(const standing& now) override;
  void on_replaced() override;
  void on_deleted() override;

 private:
  void join();
  void join_later();
  void pump_soon();
  void pump();
  void give_up(std::string why);

  engine_thread& owner_;
  const listener to_;
  ingest::steady_timer again_;
  std::string hello_;
  int tries_ = 0;
  std::shared_ptr<run_host> host_;
  seat_number seat_;
  std::deque<std::string> lines_;  // not handed over yet
  std::uint64_t said_ = 0;         // lines ever given to it
  std::uint64_t handed_over_ = 0;
  std::uint64_t credits_ = 0, acked_ = 0;
  standing standing_;
  bool pumping_ = false, over_ = false;
};

}  // namespace digd::daemon
