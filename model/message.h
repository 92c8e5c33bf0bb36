// A decoded message of the ingest protocol.
//
// Lifetime: a `message` holds views into its decoder's buffers, valid until that decoder decodes the next frame. Copy a
// name to keep it. Lists have no duplicates and keep the order of first mention.
#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace digd {

// Unix milliseconds, or any other count of milliseconds with the trace clock.
using milliseconds = std::int64_t;

using name_list = boost::container::small_vector<std::string_view, 4>;

enum class message_type : std::uint8_t {
  agent_joined,
  agent_left,
  event,
  activation_started,
  activation_ended,
  delivery,
  gap,
  time,
  run_ended,
  usage,
};

enum class reaction : std::uint8_t { none, consume, wait, discard, reroute };

// What a client did about a verdict or an intervention, as it reports it.
enum class applied : std::uint8_t { as_is, injected, rerouted, created, released, cancelled, unsupported, failed };

enum class run_outcome : std::uint8_t { none, success, failure, aborted };

// The hash of a payload, and the place in the frame where it can be inserted as a fingerprint: the beginning of the
// event's object, or its null fingerprint.
struct payload_digest {
  std::uint64_t hash = 0;
  std::size_t offset = 0;
  bool replaces_null = false;
};

// An event as it is announced: a root event, an output of an open activation, or an output of an ending one.
// The empty constructor is for speed: a defaulted one would zero all the memory first.
struct event_draft {
  event_draft() {}  // NOLINT(modernize-use-equals-default)

  std::string_view id;
  std::optional<std::string_view> source;  // activation; only in `event` messages
  name_list recipients;
  std::optional<std::string_view> kind;
  bool submit = false;
  bool fyi = false;  // already false where submit is true
  // The hash of the client's fingerprint, or else of the payload. The decoder hashes payloads only on request.
  std::optional<std::uint64_t> fingerprint;
  std::optional<payload_digest> digest;  // present where `fingerprint` comes from the payload
};

// What an activation used since the client's last report. The cost is in millionths of the user's currency.
struct usage_amounts {
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
  std::uint64_t cost = 0;
  std::uint64_t model_calls = 0;
  std::uint64_t tool_calls = 0;
  bool operator==(const usage_amounts&) const = default;
};

struct reaction_draft {
  reaction_draft() {}  // NOLINT(modernize-use-equals-default): as above

  std::string_view input;  // event id
  digd::reaction reaction = digd::reaction::consume;
  name_list targets;  // of a reroute, else empty
};

struct message {
  message_type type = message_type::time;
  std::uint64_t seq = 0;  // 1 or more
  std::optional<milliseconds> ts;
  bool as_is = false;                               // was delivered before the verdict
  std::string_view agent;                           // agent_joined, agent_left, activation_started
  std::string_view activation;                      // activation_started, activation_ended, usage
  name_list inputs;                                 // activation_started
  std::vector<event_draft> events;                  // event: exactly one; activation_ended: outputs
  std::vector<reaction_draft> reactions;            // activation_ended
  bool failed = false;                              // activation_ended
  std::optional<std::string_view> event;            // delivery
  std::optional<std::string_view> of;               // delivery: the intervention that it answers
  digd::applied applied = digd::applied::injected;  // delivery
  std::uint64_t dropped = 0;                        // gap
  run_outcome outcome = run_outcome::none;          // run_ended
  std::optional<usage_amounts> usage;               // activation_started, activation_ended, usage, event with a source

  void clear();
};

// The names in frames, in the order of the enumerations.
inline constexpr std::array<std::string_view, 10> message_type_names{
    "agent_joined", "agent_left", "event", "activation_started", "activation_ended",
    "delivery",     "gap",        "time",  "run_ended",          "usage"};
inline constexpr std::array<std::string_view, 5> reaction_names{"none", "consume", "wait", "discard", "reroute"};
inline constexpr std::array<std::string_view, 8> applied_names{"as_is",    "injected",  "rerouted",    "created",
                                                               "released", "cancelled", "unsupported", "failed"};
inline constexpr std::array<std::string_view, 4> run_outcome_names{"none", "success", "failure", "aborted"};

constexpr std::string_view to_string(message_type type) { return message_type_names[static_cast<std::size_t>(type)]; }
constexpr std::string_view to_string(reaction reaction) { return reaction_names[static_cast<std::size_t>(reaction)]; }
constexpr std::string_view to_string(applied applied) { return applied_names[static_cast<std::size_t>(applied)]; }
constexpr std::string_view to_string(run_outcome outcome) {
  return run_outcome_names[static_cast<std::size_t>(outcome)];
}

}  // namespace digd
