// Writes the messages of a run, numbered, as lines of JSON (docs/protocol.md).
//
// Ids come from the message's seq (`e5`, `v6`), so that a session that continues a run after a restart repeats none.
// Thread: its owner's. Bounds: none of its own; the owner takes the lines after each call. Failure: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "ingest/hooks/call.h"

namespace digd::hooks {

struct new_event {
  std::vector<std::string> recipients;
  std::string_view kind;
  std::string_view text;
  std::string_view tool;         // whose call the event is
  std::string_view fingerprint;  // empty: none
  bool submit = false, fyi = false;
};

class run_writer {
 public:
  // The next message gets the seq after this one.
  void continue_after(std::uint64_t seq) { seq_ = seq; }
  void set_time(std::optional<std::int64_t> ts) { ts_ = ts; }
  // Marks the activations that begin or end from now on as inferred: the log does not state these steps
  // (docs/importers.md).
  void set_inferred(bool is_inferred) { is_inferred_ = is_inferred; }
  std::uint64_t seq() const { return seq_; }
  std::vector<std::string> take_lines() { return std::exchange(lines_, {}); }

  void agent_joined(std::string_view name) { agent("agent_joined", name); }
  void agent_left(std::string_view name) { agent("agent_left", name); }
  // `source`: an activation; empty: a root event. Returns the event's id.
  std::string event(std::string_view source, const new_event& announced);
  // Returns the activation's id.
  std::string activation_started(std::string_view agent, const std::vector<std::string>& inputs);
  // Inputs in `waiting` keep waiting; the others are consumed. Returns the id of the output; empty: there is none.
  std::string activation_ended(std::string_view id, const std::vector<std::string>& waiting, const new_event* output);
  void activation_failed(std::string_view id, std::string_view error);
  void activation_discarded(std::string_view id, const std::vector<std::string>& inputs);
  void delivery(std::string_view event, std::string_view applied, std::string_view reason);
  // An intervention was carried out.
  void carried_out(std::string_view intervention, std::string_view applied);
  // Adds to the usage of an activation. The next message about the activation reports it, or `flush_usage` at the
  // latest.
  void add_usage(const std::string& activation, const usage_totals& since, std::int64_t tool_calls);
  void flush_usage();
  void gap();
  void run_ended(std::string_view outcome);  // empty: not known

 private:
  json_writer begin(std::string_view type);
  void finish(json_writer& line);
  void agent(std::string_view type, std::string_view name);
  void write_inferred(json_writer& line, std::string_view member);
  void write_usage(json_writer& line);
  std::string write_event(json_writer& line, std::string_view source, const new_event& announced);

  std::uint64_t seq_ = 0;
  std::optional<std::int64_t> ts_;
  bool is_inferred_ = false;
  std::string line_;
  std::vector<std::string> lines_;
  std::string used_by_;  // the activation whose usage is not written yet; empty: none
  usage_totals used_;
  std::int64_t tool_calls_ = 0;
};

}  // namespace digd::hooks
