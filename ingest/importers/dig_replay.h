// Turns the tables of a dig graph into the messages of a trace, in the order of time.
//
// It tracks pending deliveries and settled events as the engine does, so that it writes no message that the engine
// would refuse. The tables must outlive it. Use one replay for each graph. Thread: one at a time. Lifetime: the name
// tables, the writer and the counts outlive it too. Bounds: those of the tables. Failure: none; what it had to infer is
// counted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/importers/dig_graph_reader.h"
#include "ingest/trace/trace_writer.h"

namespace digd::importers {

class dig_replay {
 public:
  dig_replay(dig_tables& tables, name_table& events, name_table& activations, trace_writer& writer,
             import_counts& counts);

  // Agents that can receive: those that acted, got a delivery, or are addressed where the library did not deliver.
  const std::vector<std::string_view>& roster() const { return roster_; }
  void run();

 private:
  // At one time, a step that makes an event known goes before a step that needs it.
  enum class step { output, end, root, rerouting, start };
  struct task {
    std::int64_t at_us;
    step kind;
    std::string_view id;
    std::size_t index = 0;  // of a rerouting
    bool operator>(const task& other) const;
  };
  struct event_state {
    bool known = false;
    bool settled = false;
    std::size_t open_users = 0;
    std::set<std::string_view> pending;
  };
  struct activation_state {
    std::vector<std::string_view> outputs_at_end;
    std::set<std::string_view> settled_inputs;
    bool waited = false;  // for an input that was recorded after its start
    bool time_inferred = false;
  };

  void collect_roster();
  void choose_submits();
  void schedule();
  std::int64_t begin_of(const dig_activation& activation) const;
  std::optional<std::int64_t> delivered_at(std::string_view event, std::string_view agent, std::int64_t until_us) const;
  void schedule_reroutings(const dig_event& event);
  void schedule_outputs(const dig_activation& activation, std::int64_t started_us);
  void perform(const task& next);
  void write_root(const dig_event& event);
  void start(const dig_activation& activation, bool forced);
  void write_output(const dig_event& event);
  void end(const dig_activation& activation);
  boost::json::object reactions(const dig_activation& activation, bool& reroutes);
  boost::json::value reroute(const dig_activation& activation, const dig_event& event, bool& reroutes);
  void rewrite_routing(const dig_event& event, const dig_rerouting& change);
  boost::json::object event_object(const dig_event& event, std::size_t payload_bytes);
  boost::json::value payload_of(const dig_event& event, std::size_t max_bytes);
  void deliver(event_state& to, const std::vector<std::string_view>& agents);
  void announce(std::string_view event);
  void settle(event_state& state);
  std::int64_t now_ms() const { return now_us_ / 1000; }

  dig_tables& tables_;
  name_table& events_;
  name_table& activations_;
  trace_writer& writer_;
  import_counts& counts_;
  std::vector<std::string_view> roster_;
  std::set<std::string_view> in_roster_;
  std::map<std::string_view, event_state> states_;
  std::map<std::string_view, activation_state> running_;
  std::map<std::string_view, std::vector<std::string_view>> waiting_for_;  // event: activations to start
  std::set<std::string_view> unstarted_;
  std::set<std::string_view> submits_;           // events
  std::set<std::string_view> inferred_submits_;  // of these
  std::priority_queue<task, std::vector<task>, std::greater<>> tasks_;
  std::int64_t now_us_ = 0;
};

}  // namespace digd::importers
