// Writes the lines of a trace file by the rules of the protocol: sequence numbers, a clock that never goes back, names
// and ids of 1 to 256 bytes, no id that begins with `sys:`, messages within the size limit.
//
// One writer a trace; not thread-safe; holds all lines in memory.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ingest/trace/import_result.h"

namespace digd::importers {

inline constexpr std::size_t max_name_bytes = 256;
// The total bytes of a message's payloads, as written in JSON. With this limit, a message with up to some hundred
// recipients stays under the engine's default `limits.message_bytes` (1 MiB).
inline constexpr std::size_t max_payload_bytes = 900'000;

// Names of one kind (agents, events, activations) as the protocol allows them: longer ones are cut and distinguished by
// a hash, an empty name becomes "(empty)", ids that begin with `sys:` move to `dig:sys:`. A name always gets the same
// result; two names never share one.
class name_table {
 public:
  enum class kind { agent, id };
  explicit name_table(kind kind) : kind_(kind) {}
  // A view that lives as long as the table.
  std::string_view safe(std::string_view name);
  // A new name that differs from all names so far.
  std::string_view fresh(std::string wanted);
  std::size_t renamed() const { return renamed_; }

 private:
  kind kind_;
  std::size_t renamed_ = 0;
  std::string unlike_others(std::string wanted) const;

  std::unordered_map<std::string, std::string> given_;
  std::unordered_set<std::string> taken_;
};

class trace_writer {
 public:
  // Writes the first line. Imported runs have ended, so digd only observes them. If agents are given, the roster is
  // closed; otherwise it is open. The line names the version of the semantics, as an exported trace does.
  void hello(std::string_view run, const std::optional<std::vector<std::string_view>>& agents, std::string_view client,
             boost::json::object labels, const std::vector<std::string_view>& inferred, boost::json::object rules = {});

  // Adds `type`, `seq` and `ts` (never before the last one) in front of `members`.
  void message(std::string_view type, std::int64_t ts, boost::json::object members);

  std::int64_t now() const { return now_; }
  std::size_t messages() const { return seq_; }
  std::vector<std::string> take_lines() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
  std::uint64_t seq_ = 0;
  std::int64_t now_ = 0;
};

// `text` cut (at a UTF-8 boundary) so that it takes at most `max_bytes` when written as JSON; true if it was
// cut.
bool cut_to_fit(std::string& text, std::size_t max_bytes);

// A name of at most `max_bytes` bytes: the whole one or its beginning, a `~` and a hash of the whole.
std::string shortened(std::string_view name, std::size_t max_bytes);

// A run id that is safe in a path: letters, digits, `.`, `_`, `-`; anything else becomes `_`.
std::string run_id(std::string_view wanted);

boost::json::array string_array(const std::vector<std::string_view>& names);

}  // namespace digd::importers
