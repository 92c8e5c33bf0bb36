// A coding agent's session in the daemon: takes its hook calls in order, feeds its run as a client that follows the
// protocol, and answers each hook within the verdict deadline. The deadline begins when the call arrives, or when
// the transcripts that the call waits for are read. It ends at most `max_wait` after the arrival.
//
// Thread: its home, an engine thread; answers are called there. Lifetime: shared by the server's table and by what is
// queued; the run holds a weak reference to its link. Bounds: `max_queued` calls that wait for the run to open or for
// their transcript; `hooks::session` bounds the rest. Failure: the hook is answered with `{}`, and the agent continues.
// The session belongs to the token whose call opened its run. Calls with other tokens are answered with 403, until that
// token is revoked.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/access/tokens.h"
#include "daemon/http/request_handler.h"
#include "daemon/metrics/hook_counts.h"
#include "daemon/runs/run_client.h"
#include "ingest/hooks/dialect.h"
#include "ingest/hooks/session.h"
#include "ingest/hooks/transcript.h"
#include "net/types.h"

namespace digd::daemon {

class engine_thread;
class engine_threads;
class transcript_thread;

// A hook call on its way to its session.
struct hook_request {
  const hooks::dialect& dialect;
  digd::mode mode;  // of the session that it begins
  hooks::call call;
  grant_ptr grant;  // null where no tokens are configured
  std::chrono::steady_clock::time_point arrived;
  response_callback answer;
};

// Marks the hellos of hooks' runs, so that digd can find and end the runs that no session continues.
inline constexpr std::string_view hook_client_version = "hooks";

// Shared by all sessions.
struct hook_parts {
  const engine_threads& threads;
  transcript_thread& transcripts;
  hook_counts& counts;
};

class hook_session final : public std::enable_shared_from_this<hook_session> {
 public:
  static constexpr std::size_t max_queued = 256;
  // `digctl hook` waits 5 s for the daemon, and programs 10 s for a hook. A later answer would change nothing.
  static constexpr std::chrono::seconds max_wait{4};

  // `first`: the call that begins the session. Calls `on_end` when the session has ended, perhaps inside a function of
  // the session.
  hook_session(engine_thread& home, const hook_parts& parts, const hook_request& first, std::function<void()> on_end);

  ~hook_session();

  void take(hook_request&& request, std::chrono::milliseconds verdict_deadline);
  // Closes the session. Its run stays open; the next call of the session continues it.
  void close();
  // Ends the session's run. False: it has no run.
  bool end();
  bool has_ended() const { return ended_ && queue_.empty(); }
  // No call waits for anything.
  bool is_idle() const { return queue_.empty() && judged_.empty() && !joining_; }
  const hooks::dialect& dialect() const { return dialect_; }
  std::chrono::steady_clock::time_point last_used() const { return last_used_; }

 private:
  // The run's client. Each run has its own, so that late frames of an earlier run are not mistaken for the current
  // run's.
  class link final : public run_client {
   public:
    explicit link(std::weak_ptr<hook_session> owner) : owner_(std::move(owner)) {}
    void on_joined(join_result&& result) override;
    void on_frame(const client_frame& frame) override;
    void on_flow_state(const flow_state& now) override;
    void on_replaced() override { on_deleted(); }
    void on_deleted() override;

   private:
    std::shared_ptr<hook_session> owner();
    const std::weak_ptr<hook_session> owner_;
  };
  // A hook that has not been answered, or whose call has not been taken.
  struct waiting_hook {
    waiting_hook(hook_request&& request, std::chrono::milliseconds deadline, net::steady_timer timer)
        : call(std::move(request.call)),
          grant(std::move(request.grant)),
          arrived(request.arrived),
          deadline(deadline),
          answer(std::move(request.answer)),
          timer(std::move(timer)) {}
    hooks::call call;
    const grant_ptr grant;
    const std::chrono::steady_clock::time_point arrived;
    const std::chrono::milliseconds deadline;  // for its verdict
    response_callback answer;                  // empty: answered
    net::steady_timer timer;
    std::uint64_t judged_seq = 0;
    bool began_run = false;
    bool is_reading = false;  // its transcript is being read
    // Its transcript or that of an earlier call is being read, so its deadline has not begun.
    bool waits_for_reading = false;
  };
  using waiting_ptr = std::shared_ptr<waiting_hook>;

  bool is_foreign(const grant_ptr& caller) const;
  void read_transcript(const waiting_ptr& hook);
  void take_facts(const waiting_ptr& hook, const std::optional<hooks::transcript_facts>& facts);
  void add_late_usage(hooks::call& to);
  void set_timer(const waiting_ptr& hook, std::chrono::steady_clock::time_point deadline_begins);
  void begin_deadlines();
  void pump();
  void open_run(const hooks::call& first, std::string_view suffix = {});
  void on_joined(join_result&& result);
  void on_refused(const refusal_note& why);
  void on_frame(const client_frame& frame);
  void on_verdicts(const boost::json::object& frame);
  void on_intervention(const boost::json::object& frame);
  void on_error(const boost::json::object& frame, refusal code);
  void send_lines();
  void leave_run();
  void lose_run();
  void answer_late(const waiting_ptr& hook);
  void respond(waiting_hook& hook, const hooks::reply& reply);
  void forbid(waiting_hook& hook);
  void forbid(const response_callback& answer);
  void end_alone();
  bool is_congested() const;

  engine_thread& home_;
  const hook_parts parts_;
  hook_counts& counts_;
  const hooks::dialect& dialect_;
  hooks::session state_;
  grant_ptr session_owner_;  // null: no run was opened yet, or no token was needed
  const std::function<void()> on_end_;
  std::deque<waiting_ptr> queue_;
  std::map<std::uint64_t, waiting_ptr> judged_;  // by seq
  // By agent: usage for its next call, from transcripts that were read too late for their calls. At most `max_queued`.
  std::map<std::string, hooks::usage_totals> late_usage_;
  std::deque<std::string> outgoing_;  // lines on their way to the run; empty but while `send_lines` runs
  bool sending_ = false;
  bool pumping_ = false, joining_ = false, ended_ = false, has_gap_ = false;
  std::shared_ptr<link> link_;
  engine_thread* owner_ = nullptr;  // the run's thread
  std::shared_ptr<run_host> host_;
  session_slot slot_;
  std::uint64_t credits_ = 0, sent_ = 0;
  flow_state flow_state_;
  std::chrono::steady_clock::time_point last_used_;
};

}  // namespace digd::daemon
