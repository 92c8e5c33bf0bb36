// Reads a `dig.graph.v2` document into plain tables. Checks its shape, makes ids and names valid for the protocol, and
// resolves cross references to ids. Times are microseconds since 1970. The tables are not in order of time; dig_replay
// makes that order from the stamps.
//
// Use one reader for each graph. Thread: one at a time. Lifetime: all that it is given outlives it. Bounds: at most
// `max_items` events and activations. Failure: kept by the `json_reader`; then the tables must not be used.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "ingest/trace/import_result.h"
#include "ingest/trace/json_reader.h"
#include "ingest/trace/trace_writer.h"

namespace digd::importers {

// The library's reserved agent, to which it attributes the actions of its healers.
inline constexpr std::string_view dig_system_agent = "system";

enum class dig_reaction { pending, consume, wait, discard, reroute };

// One rewriting of an event's routing (a `modified` stamp with `change: reroute`).
struct dig_rerouting {
  std::int64_t at_us = 0;
  std::string_view by;                     // activation; empty: not recorded
  std::vector<std::string_view> before;    // recipients until then
  std::vector<std::string_view> diverted;  // recipients that no longer get it
  std::vector<std::string_view> targets;   // recipients that get it from then on
};

struct dig_event {
  std::string_view id;
  std::string_view source;                   // activation; empty: a root event
  std::vector<std::string_view> recipients;  // when the event was made
  std::string_view label;
  const boost::json::value* payload = nullptr;
  const boost::json::object* metadata = nullptr;
  std::optional<std::int64_t> generated_us;
  std::vector<dig_rerouting> reroutings;
  bool carried_elsewhere = false;  // no `delivery_policy`: the library recorded but did not deliver
  bool by_system = false;          // made by a healer
  bool was_input = false;
  bool in_events = true;  // false: known only from an activation's lists
};

struct dig_activation {
  std::string_view id;
  std::string_view agent;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;  // those that name it as their source
  std::map<std::string_view, dig_reaction> reactions;
  const boost::json::value* native_output = nullptr;
  std::optional<std::int64_t> started_us;
  std::optional<std::int64_t> ended_us;
  std::string_view error;
  bool failed = false;
  bool submits = false;
  bool is_system() const { return agent == dig_system_agent; }
};

struct dig_tables {
  std::map<std::string_view, dig_event> events;
  std::map<std::string_view, dig_activation> activations;
  std::set<std::string_view> delivered_to;  // agents that a delivery is recorded for
  std::optional<std::int64_t> created_us;
  std::int64_t latest_us = 0;  // of all stamps
};

class dig_graph_reader {
 public:
  dig_graph_reader(json_reader& reader, name_table& agents, name_table& events, name_table& activations,
                   import_counts& counts);

  // Valid as long as the document and the name tables. The reader has the failure, if there is one.
  dig_tables read(const boost::json::object& top, std::size_t max_items);

 private:
  using object = boost::json::object;

  void read_event(std::string_view key, const object& from, std::string_view where, bool in_events);
  void read_recipients(const object& from, const std::string& where, dig_event& event);
  void read_stamps(const object& from, const std::string& where, dig_event& event);
  void read_rerouting(const object& stamp, std::int64_t at_us, const std::string& where, dig_event& event);
  std::map<std::string_view, dig_reaction> read_labels(const object& from, std::string_view where);
  void read_activation(std::string_view key, const object& from, const std::string& where);
  void read_annotations(const object& from, const std::string& where, dig_activation& activation);
  std::vector<std::string_view> read_event_list(const object& from, std::string_view key, const std::string& where);
  std::optional<dig_reaction> reaction_label(const object& from, std::string_view where);
  void link();
  void note_time(std::optional<std::int64_t> us);

  json_reader& reader_;
  name_table& agents_;
  name_table& events_;
  name_table& activations_;
  import_counts& counts_;
  dig_tables tables_;
  std::map<std::string_view, std::vector<std::string_view>> listed_outputs_;
};

}  // namespace digd::importers
