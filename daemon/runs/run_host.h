// A run in the daemon: its inbox, the connections of its sessions, its place in the archive.
//
// Thread: its run's engine thread (`vacate`: any). Lifetime: held by its registry, and by the clients that sit
// in it; it knows these by weak references. Bounds: those of the inbox, and `credits` a connection.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/entry.h"
#include "daemon/access/payload_policy.h"
#include "daemon/settings/canary.h"
#include "daemon/runs/run_client.h"
#include "ingest/protocol/inbox.h"

namespace digd::daemon {

class engine_thread;
struct config;

class run_host final : public std::enable_shared_from_this<run_host> {
 public:
  // Until `go_live`, only its inbox is used: what that brings about is neither sent nor archived.
  run_host(engine_thread& owner, const hello& first, const run_settings& settings, std::uint64_t number,
           canary_group group = canary_group::none);

  // What the archive has of the run: so many entries, so many bytes; with none, its opening is archived.
  struct stored {
    std::uint64_t n = 0, bytes = 0;
  };
  void go_live(const stored& so_far, const hello* first = nullptr);
  ingest::inbox& inbox() { return inbox_; }
  const std::string& name() const { return inbox_.name(); }
  std::uint64_t number() const { return number_; }
  bool has_connections() const;
  bool ended() const { return inbox_.run().ended(); }

  // A session's hello. Its client is answered; a refusal, a welcome.
  void join(join_request&& request);
  // `read_at`: when the frame was read from its socket.
  void receive(session_slot from, std::string_view frame, std::chrono::steady_clock::time_point read_at);
  void receive_too_large(session_slot from, std::size_t bytes);
  // The connection is gone. Any thread; gives up `host`.
  static void vacate(std::shared_ptr<run_host> host, session_slot slot);

  void advance_time();
  // Does as the operator's switch says; false: it did already, or it has ended.
  bool follow_operator(mode strongest);
  // The run is deleted: its connections are told and closed, and nothing it hears after that counts.
  void close_for_good();
  // All messages of the session up to `seq` are on disk.
  void durable(std::string_view session, std::uint64_t seq);
  // Tells every connection how the run stands: a congestion is over.
  void send_flow_state();

  // A run that was read back from an archive of an older version goes on under the current semantics.
  void adopt_semantics() { carry_out(inbox_.adopt_semantics(now())); }

  // ---- memory runs out
  bool can_degrade() const;
  std::size_t graph_size() const;  // events and activations that it knows
  void degrade();

  // When a client was last heard of here, in Unix milliseconds; 0: not since the daemon started.
  milliseconds heard_ms() const { return heard_ms_; }

  // Nobody needs it in memory: ended, all durable, no connection.
  bool is_idle_for_good() const;

  std::optional<milliseconds> due;  // in the engine thread's index; that thread's business

 private:
  struct slot {
    std::weak_ptr<run_client> who;
    engine_thread* home = nullptr;  // null: vacant
    std::uint64_t generation = 0;
    std::uint64_t handled = 0;
    std::uint64_t told_handled = 0;
    bool told_congested = false;
    bool touched = false;               // in touched_
    std::vector<std::string> outgoing;  // frames for another thread's connection
  };

  // Keeps and sends what a call of the inbox brought about. Not for a run that is read back.
  void carry_out(const ingest::effects& effects);
  void keep(const ingest::record& record);
  void send(ingest::session_index to, std::string_view frame);
  void measure_latency();
  void count(const ingest::record& record);
  void archive_joining(const hello& greeting, std::string_view frame);
  void push(archive::entry_ptr entry);
  void occupy(ingest::session_index s, join_request& request);
  void leave(session_slot slot);
  bool is_occupied(session_slot slot) const;
  flow_state flow_state_of(ingest::session_index s) const;
  void touch(ingest::session_index s);
  void after_call();
  void flush(ingest::session_index s);
  void acknowledge(ingest::session_index s);
  void note_refusal(const ingest::record& record);
  void note_degradation(const ingest::record& record);
  void keep_to_limits();
  void keep_to_run_bytes();
  void count_graph_limits();
  std::optional<limit_id> refuses_for() const;
  milliseconds now();

  engine_thread& owner_;
  const std::uint64_t number_;
  const canary_group group_;
  const std::shared_ptr<const config> granted_;  // what held when the run began here
  std::shared_ptr<const payload_policy> payloads_;
  ingest::inbox inbox_;
  std::uint64_t n_ = 0;      // entries made
  std::uint64_t bytes_ = 0;  // of JSON in the archive, about
  milliseconds heard_ms_ = 0;
  std::optional<limit_id> turned_away_for_;
  graph::graph_counters graph_seen_;  // what of the graph's own is counted already
  milliseconds last_now_ = 0;         // the wall clock never goes backwards here
  std::vector<slot> slots_;           // beside the inbox's sessions
  std::vector<ingest::session_index> touched_;
  boost::unordered_flat_map<std::string, ingest::session_index> by_name_;
  std::string ack_;
  // The frame in hand, until its verdicts are out; none: it is not to be measured.
  std::optional<std::chrono::steady_clock::time_point> read_at_;
};

}  // namespace digd::daemon
