// A run in the daemon: its inbox, the clients of its sessions, and its entries for the archive.
//
// Thread: the run's engine thread; `release_slot` any. Lifetime: its registry and its clients hold it; it has weak
// references to the clients. Bounds: those of the inbox, and `credits` for each client.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/entry.h"
#include "daemon/access/payload_policy.h"
#include "daemon/runs/due_index.h"
#include "daemon/runs/run_client.h"
#include "daemon/settings/canary.h"
#include "ingest/protocol/inbox.h"

namespace digd::daemon {

class engine_loop;
class home_keeper;
class run_host;
struct config;

// Holds a run in memory: its registry. The run calls it on its thread.
class run_holder {
 public:
  virtual void ended(run_host& host, run_outcome outcome) = 0;
  // Drops the run if it can retire.
  virtual void retire_if_idle(run_host& host) = 0;

 protected:
  ~run_holder() = default;
};

// Passes the result to the request's client, on its thread. If the client has gone, releases its slot.
void answer(const join_request& request, join_result&& result);

// The reason for refusing a hello that names too many agents.
std::string too_many_agents(std::uint64_t limit);

class run_host final : public due_run {
 public:
  // Until `go_live`, recovery uses only its inbox: effects are neither sent nor archived.
  run_host(engine_loop& owner, run_holder& holder, const hello& first, const run_settings& settings,
           std::uint64_t number, canary_group group = canary_group::none);

  // What the archive already has of the run.
  struct stored {
    std::uint64_t entries = 0, bytes = 0;
  };
  // `first`: the hello of a new run, for its opening entry. Called once, by the thread that built the run.
  void go_live(const stored& existing, const hello* first = nullptr);
  // Called once, by the run's thread, before it uses the run. Later calls come from this thread too.
  void start_clock();
  // Tells the thread when the run's next window or hold is due.
  void watch_due();
  ingest::inbox& inbox() { return inbox_; }
  const std::string& name() const { return inbox_.name(); }
  std::uint64_t number() const { return number_; }
  bool has_connections() const;
  bool ended() const { return inbox_.run().ended(); }

  // A session's hello. The client gets a welcome or a refusal.
  void join(join_request&& request);
  // `read_at`: when the frame was read from its socket.
  void receive(session_slot from, std::string_view frame, std::chrono::steady_clock::time_point read_at);
  void receive_too_large(session_slot from, std::size_t bytes);
  // The client is disconnected. Any thread; releases `host` on the run's thread.
  static void release_slot(std::shared_ptr<run_host> host, session_slot slot);
  // digd closes the client's connection to free memory: drops its waiting frames. Any thread.
  static void drop_held(const std::shared_ptr<run_host>& host, session_slot slot);
  const account_ptr& memory() const { return memory_; }  // of the run's connections

  // Ends the run in the name of its first session, because no client will. Does nothing while a client is connected.
  void end_abandoned();

  void advance_time() override;
  // Applies the operator's switch. False: nothing changed, or the run has ended.
  bool follow_operator(mode strongest);
  // A person's decision on a hold (inbox::decide).
  refusal_note decide(const ingest::own_line& decision);
  // The run is deleted: notifies its clients, and ignores their later frames.
  void close_deleted();
  // All messages of the session up to `seq` are durable.
  void durable(std::string_view session, std::uint64_t seq);
  // ---- in a fleet with homes (daemon/fleet/home_keeper.h)
  // The run's home is here, with the lease of this generation; 0: it is not known yet, and the run is not judged.
  // A pinned run (on_lost_stream = "local") stays here: this daemon judges it even without a lease.
  void set_home(std::uint64_t generation, bool pinned);
  std::uint64_t home_generation() const { return home_generation_; }
  // Whether this daemon may judge the run now.
  bool holds_home() const;
  // Checks whether this daemon may still judge the run, and stops or resumes judging. While it may, it also
  // acknowledges the messages that the stream has.
  void check_home();
  // The stream has all messages of the session up to `seq`. They are acknowledged while the home is here.
  void streamed(std::string_view session, std::uint64_t seq);
  // The home is elsewhere: sends the clients there, and ignores their later frames.
  void close_moved(const std::string& to);

  // Sends every client its flow state: the thread is no longer congested.
  void send_flow_state();

  // Continues a run that was archived under older semantics under the current ones.
  void adopt_semantics() { carry_out(inbox_.adopt_semantics(now())); }

  // Notes the token that opened the run. `counted` counts the run for that token until it ends. Call it before
  // `go_live`.
  void opened_by(std::string token, ticket_ptr counted) {
    opener_ = std::move(token);
    open_run_ = std::move(counted);
  }
  const std::string& opener() const { return opener_; }
  // Notes the token of a session's first hello; the session belongs to it. Called while the run is read back.
  void note_owner(const std::string& session, const std::string& token);

  // ---- memory runs out
  bool can_degrade() const;
  std::size_t graph_size() const;  // events, open activations and agents in memory
  // The approximate memory of the graph, of answers that clients may need again, and of held frames.
  std::size_t memory_bytes() const;
  void degrade();
  // Memory suffices again: whether judging can resume, and the call that resumes it.
  bool can_resume() const;
  void resume_judging();

  // When the last hello or message arrived, in Unix milliseconds; 0: none since the daemon started.
  milliseconds last_heard_ms() const { return last_heard_ms_; }

  // The run may leave memory: it has ended, all is durable, and no client is connected.
  bool can_retire() const;

  std::shared_ptr<run_host> shared_from_this() {
    return std::static_pointer_cast<run_host>(due_run::shared_from_this());
  }

 private:
  std::string_view with_cost(std::string_view frame);
  struct posted_frame {
    client_frame head;  // without its text, which may move
    std::string text;
  };
  struct slot {
    std::weak_ptr<run_client> client;
    engine_loop* home = nullptr;  // null: released
    std::uint64_t generation = 0;
    std::uint64_t handled = 0;
    std::uint64_t reported_handled = 0;
    std::uint64_t unreported_bytes = 0;  // of the frames handled since `reported_handled`
    bool reported_congested = false;
    bool touched = false;                   // in touched_
    std::shared_ptr<memory_charge> memory;  // of the latest connection, which pays for the held frames
    std::size_t charged_held = 0;
    std::uint64_t streamed_seq = 0;      // the stream has the messages up to it
    std::vector<posted_frame> outgoing;  // for another thread's connection
  };

  // Archives and sends the effects of a call of the inbox. Not for a run that is read back.
  void carry_out(const ingest::effects& effects);
  void keep(const ingest::record& record);
  void send(ingest::session_index to, const client_frame& frame);
  void measure_latency(ingest::session_index s);
  void count(const ingest::record& record);
  bool refuse_session(const join_request& request);
  void add_slot(ingest::session_index s, const join_request& request);
  join_result welcome(ingest::session_index joined, std::optional<std::uint64_t> answered);
  void archive_joining(const join_request& request);
  bool has_room_for(const hello& greeting) const;
  // Whether the session belongs to another token than this client's.
  bool is_foreign(const join_request& request) const;
  void push(archive::entry_ptr entry);
  template <class Entry>
  void number(Entry& entry);
  void occupy(ingest::session_index s, join_request& request);
  void leave(session_slot slot);
  bool is_occupied(session_slot slot) const;
  flow_state flow_state_of(ingest::session_index s) const;
  void touch(ingest::session_index s);
  void after_call();
  void flush(ingest::session_index s);
  void charge_held();
  void charge_held(ingest::session_index s);
  void acknowledge(ingest::session_index s);
  // At level info, within the log's rate limit.
  void log_detections(const ingest::record& record);
  void note_refusal(const ingest::record& record);
  void note_degradation(const ingest::record& record);
  void update_refusals();
  void limit_run_bytes();
  void count_graph_limits();
  std::optional<limit_id> refusing_limit();
  bool is_opener_full();
  milliseconds now();
  void acknowledge_streamed();
  void close(const std::function<void(run_client&)>& notify);

  engine_loop& owner_;
  run_holder& holder_;
  home_keeper* const homes_;  // null: runs have no homes
  std::uint64_t home_generation_ = 0;
  bool is_pinned_ = false;
  bool has_streamed_ = false;  // some slot's `streamed_seq` may be ahead of what was acknowledged
  const std::uint64_t number_;
  const canary_group group_;
  const std::shared_ptr<const config> granted_;  // the settings in effect when this object was made
  std::shared_ptr<const payload_policy> payloads_;
  std::string priced_;  // the latest message to which digd added a cost
  ingest::inbox inbox_;
  std::uint64_t entries_ = 0;  // archived, or on their way
  std::uint64_t bytes_ = 0;    // of their JSON
  milliseconds last_heard_ms_ = 0;
  std::optional<limit_id> last_refusing_limit_;
  std::uint64_t seen_full_changes_ = 0;  // overload_state::full_changes when `is_opener_full_` was set
  bool is_opener_full_ = false;
  graph::graph_counters counted_graph_limits_;  // the graph's counters as already added to the thread's counts
  // A run that was read back may be ahead of the thread's clock, if the clock was set back while digd was stopped.
  milliseconds ahead_ms_ = 0;
  std::vector<slot> slots_;  // parallel to the inbox's sessions
  std::vector<ingest::session_index> touched_;
  std::string opener_;   // the name of the token that opened the run; empty: none was needed
  ticket_ptr open_run_;  // counts the run for that token, until it ends
  const account_ptr memory_ = std::make_shared<memory_account>(inbox_.name());
  bool has_charged_held_ = false;
  boost::unordered_flat_map<std::string, std::string> owners_;  // tokens by session; sessions without one are missing
  boost::unordered_flat_map<std::string, ingest::session_index> by_name_;
  std::string ack_;
  struct frame_read {
    ingest::session_index session;
    std::chrono::steady_clock::time_point at;
  };
  std::optional<frame_read> read_at_;  // when the current frame was read; none: its latency is not recorded
};

}  // namespace digd::daemon
