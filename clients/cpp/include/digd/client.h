// The C++ client, for multi-agent systems. The program reports to a digd daemon what its agents do, and asks before it
// delivers an event.
//
//   digd::client::run run({.agents = {{"planner", "coder"}}});
//   digd::client::verdict task = run.announce({.recipients = {"planner"}, .payload = R"({"text":"…"})"});
//   for (const std::string& agent : task.recipients) …           // digd may have changed them
//   std::string p1 = run.start("planner", {task.event});
//   auto verdicts = run.end(p1, {{.recipients = {"coder"}}});
//   run.finish(digd::client::outcome::success);
//
// It fails open: without a daemon, or without a verdict within the daemon's deadline, events are delivered unchanged,
// and `verdict::as_is` says why. docs/clients-cpp.md has the whole behaviour.
//
// Ownership: a `run` owns its connection and two threads, one for the socket and one for the intervention handler.
// Thread: all functions may be called from any thread, even from the handler.
// Bounds: the daemon's credits and `max_buffer_bytes` limit the unacknowledged messages. Beyond them messages are
//   dropped, and a `gap` reports how many. At most 1,024 interventions wait for the handler.
// Errors: the constructor throws std::invalid_argument for an address or a mode that does not exist, so that a typing
// error cannot leave a run unmonitored. Afterwards no call throws because of the daemon or the network. Stability:
// while the version is 0.x, this header stays source compatible between patch releases.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace digd::client {

enum class action : std::uint8_t { deliver, inject, reroute, create };
enum class outcome : std::uint8_t { success, failure, aborted };

// A report that a rule fired.
struct detection {
  std::string rule;
  std::string severity;
  std::string reason;
  std::string event;  // empty: it is about the run
  std::string agent;  // empty: none
  std::vector<std::string> evidence;
  bool healed = false;
  std::string healing;  // the action that heals, or would heal in mode `enforce`; empty: none
  std::string cause;    // why digd did not heal; empty if it did
};

// How to deliver an event: to `recipients`, with the text `inject` added if it is not empty.
struct verdict {
  std::string event;
  client::action action = action::deliver;
  std::vector<std::string> recipients;
  std::string inject;
  std::vector<detection> detections;
  // Empty if the daemon decided. Otherwise why the event goes out unchanged: `timeout`, `disconnected`, `credits`,
  // `error:CODE`, `off`, `unheld`, `max_added_ms` or `healing_failed` (docs/clients-cpp.md).
  std::string as_is;
  bool submit = false;

  // Whether this answer was submitted too early and returns to its author as work.
  bool given_back() const { return submit && action == action::reroute; }
};

// Healing without a held event: `create` the event `id` for the recipients, or `reroute` `event` to them.
struct intervention {
  std::string id;
  client::action action = action::create;
  std::string event;  // of a reroute
  std::vector<std::string> recipients;
  std::string inject;
  std::vector<detection> detections;
};

// Returns whether the program carried the intervention out. An exception counts as a failure. Calls come one after the
// other; a handler that never returns keeps the destructor of the run from returning.
using intervention_handler = std::function<bool(const intervention&)>;

// Redacts a text before it leaves the process. It gets a payload or metrics (JSON, and it returns JSON), or the text of
// an error, and returns the text to send. The program's own thread calls it. If it throws, the client sends a text that
// names the failure.
enum class reported_part : std::uint8_t { payload, metrics, error };
using redaction = std::function<std::string(reported_part part, std::string_view text)>;

struct options {
  std::string run;                                 // empty: a new id. An id belongs to one run
  std::optional<std::vector<std::string>> agents;  // none: every name can receive
  std::string session = "main";                    // names this process, if several report to the run
  std::string url;    // HOST:PORT, ws://HOST:PORT, wss://HOST:PORT or unix:/PATH; empty: DIGD_URL, then 127.0.0.1:7344
  std::string token;  // empty: DIGD_TOKEN
  std::string ca_file;  // with wss://: the authority of the daemon's certificate, PEM; empty: the system's
  std::string mode;     // off, observe, shadow, enforce; empty: DIGD_MODE, then the daemon's default. `off`: no traffic
  std::vector<std::pair<std::string, std::string>> labels;
  std::string rules;                     // JSON, as in `hello`: {"deadlock":{"window_ms":4000}}; empty: the daemon's
  intervention_handler on_intervention;  // none: digd reports such a failure, and does not heal it
  bool can_inject = true;                // the program can add a text to an event
  bool can_reroute = true;               // the program can change an event's recipients
  bool hold = true;                      // false: wait for no verdict
  // How long messages may be held in this run in total; messages held at the same time count once. Beyond that, the run
  // holds nothing. None: no limit.
  std::optional<std::chrono::milliseconds> max_added_ms;
  // How long a submit event waits for its verdict, even without a connection. 0: as long as other events.
  std::chrono::milliseconds fail_closed_ms{0};
  redaction redact;  // none: everything goes out as reported
  std::size_t max_buffer_bytes = 16u << 20;
  std::chrono::milliseconds linger{2000};  // how long the destructor waits for the last ack
  // Lines for the program's log: connected, no daemon, refused. Called from the client's threads; must not throw.
  // Empty: standard error.
  std::function<void(std::string_view)> log;
};

struct event {
  std::string id;  // empty: the client makes one; the verdict has it
  std::vector<std::string> recipients;
  std::string payload;  // JSON; empty: none. digd archives it, and no rule reads it
  std::string kind;
  bool submit = false;  // the final answer
  bool fyi = false;     // asks nothing of its recipients
};

// What an ended activation did with an input. An input without a reaction counts as consumed.
struct reaction {
  enum class kind : std::uint8_t { consume, wait, discard, reroute };
  std::string input;
  reaction::kind did = kind::consume;
  std::vector<std::string> recipients;  // of a reroute
};

struct counters {
  std::uint64_t connections = 0;
  std::uint64_t messages = 0;  // reported by the program
  std::uint64_t dropped = 0;   // of these, dropped for lack of room
  std::uint64_t timeouts = 0;  // verdicts that did not come in time
  std::uint64_t as_is = 0;     // messages whose events went out without a verdict
  std::uint64_t errors = 0;    // frames that the daemon refused
};

class run {
 public:
  // Begins to connect in the background.
  explicit run(options options);
  // Reports the outcome `aborted` unless the run was finished, and waits for the last ack, `linger` at most.
  ~run();
  run(const run&) = delete;
  run& operator=(const run&) = delete;

  const std::string& id() const;

  // Reports an event and waits for its verdict. Without `activation` it is a root event; with the id of an open
  // activation it is an output of it.
  verdict announce(event announced, std::string_view activation = {});

  // Reports that an agent begins to act on these events. Returns the activation's id, a new one if `id` is empty.
  std::string start(std::string_view agent, const std::vector<std::string>& inputs, std::string id = {});
  // Reports that an activation has ended, and waits for the verdicts: rerouted inputs first, then the outputs, each in
  // the order given.
  std::vector<verdict> end(std::string_view activation, std::vector<event> outputs = {},
                           const std::vector<reaction>& reactions = {});
  // Reports that an activation failed. Its inputs stay pending.
  void fail(std::string_view activation, std::string_view error);

  // Reports that a verdict was carried out or, with a reason, that the event went out unchanged. It sends nothing for
  // verdicts that change nothing. After three healings that were not carried out, the run follows no more verdicts.
  void applied(const verdict& carried_out, std::string_view as_is_reason = {});

  void agent_joined(std::string_view agent);
  void agent_left(std::string_view agent);

  // Reports the end of the run. Later messages are not reported. `metrics`: a JSON object, or empty.
  void finish(outcome reached, std::string_view metrics = {});

  // Waits until every message is acknowledged as durable. Returns whether it is.
  bool flush(std::chrono::milliseconds within = std::chrono::seconds(5));

  bool connected() const;
  // The effective mode, from the daemon's welcome; empty before it.
  std::string mode() const;
  client::counters counters() const;

 private:
  class connection;
  std::unique_ptr<connection> connection_;
};

}  // namespace digd::client
