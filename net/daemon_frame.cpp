#include "net/daemon_frame.h"

#include <array>
#include <utility>

#include "base/deep_json.h"

namespace digd::net {

namespace json = boost::json;

namespace {

using frame_kind = daemon_frame_kind;
constexpr std::array<std::pair<std::string_view, frame_kind>, 5> frame_kinds{
    {{"welcome", frame_kind::welcome},
     {"verdicts", frame_kind::verdicts},
     {"intervention", frame_kind::intervention},
     {"ack", frame_kind::ack},
     {"error", frame_kind::error}}};

frame_kind find_frame_kind(std::string_view type) {
  for (const auto& [name, named] : frame_kinds) {
    if (name == type) return named;
  }
  return frame_kind::other;
}

std::optional<std::uint64_t> number_of(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  boost::system::error_code ec;
  const std::uint64_t number = found ? found->to_number<std::uint64_t>(ec) : 0;
  return found && !ec ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string_view text_of(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  const json::string* text = found ? found->if_string() : nullptr;
  return text ? std::string_view(text->data(), text->size()) : std::string_view{};
}

std::optional<daemon_frame> read_daemon_frame(std::string_view text) {
  boost::system::error_code ec;
  json::value parsed = parse_json(text, ec);
  if (ec || !parsed.is_object()) return std::nullopt;
  daemon_frame frame;
  frame.body = std::move(parsed.as_object());
  frame.kind = find_frame_kind(text_of(frame.body, "type"));
  frame.seq = number_of(frame.body, "seq").value_or(0);
  if (frame.kind == frame_kind::welcome) {
    frame.acked_seq = number_of(frame.body, "acked_seq").value_or(0);
    frame.credits = number_of(frame.body, "credits");
    frame.verdict_deadline_ms = number_of(frame.body, "verdict_deadline_ms");
    const json::value* limits = frame.body.if_contains("limits");
    if (limits && limits->is_object()) frame.message_bytes = number_of(limits->get_object(), "message_bytes");
  }
  if (frame.kind == frame_kind::error) {
    frame.code = text_of(frame.body, "code");
    frame.message = text_of(frame.body, "message");
    const json::value* fatal = frame.body.if_contains("fatal");
    frame.fatal = fatal && fatal->is_bool() && fatal->get_bool();
  }
  return frame;
}

}  // namespace digd::net
