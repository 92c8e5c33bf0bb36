// Frames of a daemon, as its clients read them: the trace player of digctl, and clients/cpp.
//
// Ownership: a frame owns everything it has. Thread: pure functions. Bounds: those of the frame; nesting at most 32.
// Failure: nullopt if the text is not a JSON object. Members that are missing or of another type keep their defaults,
// because a newer daemon may send frames that this client does not know.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace digd::net {

enum class daemon_frame_kind : std::uint8_t { other, welcome, verdicts, intervention, ack, error };

struct daemon_frame {
  daemon_frame_kind kind = daemon_frame_kind::other;
  std::uint64_t seq = 0;  // 0: none

  // Of `welcome`.
  std::uint64_t acked_seq = 0;
  std::optional<std::uint64_t> credits;
  std::optional<std::uint64_t> message_bytes;
  std::optional<std::uint64_t> verdict_deadline_ms;

  // Of `error`.
  std::string code;
  std::string message;
  bool fatal = false;

  boost::json::object body;  // the whole frame
};

std::optional<daemon_frame> read_daemon_frame(std::string_view text);

// A member of an object; empty if it is missing or no text.
std::string_view text_of(const boost::json::object& from, std::string_view key);

}  // namespace digd::net
