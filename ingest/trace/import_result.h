// The result of an importer: the lines of a trace file with counts of stated and inferred links, or a failure.
//
// Plain values, no shared state; safe on any thread. The importers throw nothing: every failure, out of memory too, is
// an `import_failure`.
#pragma once

#include <boost/assert/source_location.hpp>
#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

namespace digd::importers {

enum class import_errc {
  bad_json = 1,        // not JSON, or nested deeper than `max_json_depth`
  too_large,           // over the importer's `max_bytes` or `max_items`
  wrong_shape,         // a member is missing or of a type that the format does not allow
  wrong_value,         // a member has a value that the format does not define
  unsupported_schema,  // a dig graph of another version
  bad_option,          // the caller's options are out of range
  internal,            // out of memory, or a fault of the importer
};

const boost::system::error_category& import_category() noexcept;
boost::system::error_code make_error_code(import_errc) noexcept;

// `message` has the fault, its place and the expected value. It quotes text of the file, escaped and cut.
struct import_failure {
  boost::system::error_code code;
  std::string message;
};

// One kind of link: how many the log states and how many the importer inferred.
struct link_counts {
  std::size_t stated = 0;
  std::size_t inferred = 0;
};

struct import_counts {
  std::size_t messages = 0;  // lines after `hello`
  std::size_t agents = 0;    // in the roster that `hello` declares
  std::size_t events = 0;
  std::size_t activations = 0;

  link_counts sources;     // activation that made the event
  link_counts recipients;  // event to agent, those of reroutes too
  link_counts inputs;      // event to activation
  link_counts reactions;
  link_counts submits;
  link_counts times;  // time stamps

  std::size_t thoughts = 0;             // whowhen: steps that only think (`fyi`)
  std::size_t notices = 0;              // whowhen: a terminal's "no code" replies (`fyi`)
  std::size_t next_speaker = 0;         // recipients inferred because that agent spoke next
  std::size_t fallback_recipients = 0;  // recipients inferred for a last message that nobody answered
  std::size_t remembered_inputs = 0;    // inputs inferred for an agent that acted with nothing new
  std::size_t late_outputs = 0;         // dig: outputs recorded after their activation's end
  std::size_t system_activations = 0;   // dig: the library's own healing, not imported as activations
  std::size_t system_reroutes = 0;      // dig: reroutes by others, imported as the recipients' own
  std::size_t dropped_reroutes = 0;     // dig: reroutes that the engine would refuse, or without effect
  std::size_t unknown_inputs = 0;       // dig: inputs that the graph does not hold (placeholders)
  std::size_t unknown_sources = 0;      // dig: events whose source the graph does not hold (imported as roots)
  std::size_t reordered = 0;            // dig: starts delayed until their inputs exist
  std::size_t renamed = 0;              // ids and names changed because the protocol does not allow them
  std::size_t cut_payloads = 0;         // payloads cut to fit into a message

  link_counts links() const;  // recipients, inputs, reactions, sources and submits together
  import_counts& operator+=(const import_counts&);
};

struct import_result {
  std::vector<std::string> lines;  // JSON, without line ends; `hello` first
  import_counts counts;
};

using import_outcome = boost::system::result<import_result, import_failure>;

// One or two sentences for people: the sizes, then how many links are stated and how many inferred.
std::string describe(const import_counts&);

// Called by `import_outcome::value()` on a failure (found by argument-dependent lookup).
[[noreturn]] void throw_exception_from_error(const import_failure&, const boost::source_location&);

}  // namespace digd::importers

template <>
struct boost::system::is_error_code_enum<digd::importers::import_errc> : std::true_type {};
