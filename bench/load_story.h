// The messages of the runs by which digd is loaded, as frames of a WebSocket client.
//
// Thread: one at a time. Bounds: one text; it keeps no message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace digd::bench {

inline constexpr std::size_t consumed_at_once = 16;

// Appends a client's text frame, masked with a key of zeros.
inline void append_frame(std::string& out, std::string_view text) {
  out += static_cast<char>(0x81);
  if (text.size() < 126) {
    out += static_cast<char>(0x80 | text.size());
  } else {
    out += static_cast<char>(0x80 | 126);
    out += static_cast<char>(text.size() >> 8);
    out += static_cast<char>(text.size() & 0xff);
  }
  out.append(4, '\0');
  out += text;
}

// The text of the first of these frames.
inline std::string_view text_of_frame(std::string_view frames) {
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(frames[at])); };
  constexpr std::size_t key = 4;
  const std::size_t length = byte(1) & 0x7f;
  return length < 126 ? frames.substr(2 + key, length) : frames.substr(4 + key, byte(2) << 8 | byte(3));
}

// Writes the messages of a run, event after event, as frames into a buffer.
//
// Root events, and after every 16 an activation that consumes them. With `outputs`, each event is an output of the
// activation that consumed the 16 before it; two agents alternate. With `usage`, these activations report it at their
// ends.
class story {
 public:
  story(std::string run, std::size_t bytes, bool outputs, bool usage)
      : run_(std::move(run)), bytes_(bytes), outputs_(outputs), usage_(usage) {}

  std::string hello() const {
    return R"({"type":"hello","protocol":1,"run":")" + run_ +
           R"(","session":"main","agents":["a","b"],"clock":"wall"})";
  }

  // Appends the next event, preceded by the activation that consumes the earlier ones if it is due. Returns the number
  // of frames.
  std::size_t append_event(std::string& out) {
    std::size_t frames = 1;
    if (pending_ == consumed_at_once) frames += append_activation(out);
    text_ = R"({"type":"event","seq":)" + std::to_string(++seq_) + R"(,"event":{"id":"e)" + std::to_string(++event_);
    if (!source_.empty()) text_ += R"(","source":")" + source_;
    text_ += std::string(R"(","recipients":[")") + next_agent() + R"("],"kind":"work","payload":{"text":")" +
             std::to_string(event_) + ' ';
    constexpr std::string_view end = "\"}}}";
    if (text_.size() + end.size() < bytes_) text_.append(bytes_ - text_.size() - end.size(), 'x');
    text_ += end;
    append_frame(out, text_);
    ++pending_;
    return frames;
  }

 private:
  // Who gets the next event, and consumes it.
  char next_agent() const { return outputs_ && activations_ % 2 == 1 ? 'b' : 'a'; }

  std::size_t append_activation(std::string& out) {
    const std::size_t frames = source_.empty() ? 1 : 2;
    if (!source_.empty()) append_end(out, source_);
    const std::string name = "v" + std::to_string(event_);
    append_start(out, name);
    pending_ = 0;
    ++activations_;
    if (outputs_) {
      source_ = name;
      return frames;
    }
    append_end(out, name);
    return 2;
  }

  void append_start(std::string& out, const std::string& name) {
    text_ = R"({"type":"activation_started","seq":)" + std::to_string(++seq_) + R"(,"activation":")" + name +
            R"(","agent":")" + next_agent() + R"(","inputs":[)";
    for (std::uint64_t e = event_ - pending_ + 1; e <= event_; ++e)
      text_ += (text_.back() == '[' ? "\"e" : ",\"e") + std::to_string(e) + '"';
    text_ += "]}";
    append_frame(out, text_);
  }

  void append_end(std::string& out, const std::string& name) {
    constexpr std::string_view usage =
        R"(,"usage":{"input_tokens":812,"output_tokens":95,"cost":0.0041,"model_calls":1,"tool_calls":2})";
    text_ = R"({"type":"activation_ended","seq":)" + std::to_string(++seq_) + R"(,"activation":")" + name + '"';
    if (usage_) text_ += usage;
    text_ += '}';  // consumes all inputs
    append_frame(out, text_);
  }

  std::string run_, text_;
  std::size_t bytes_;
  bool outputs_, usage_;
  std::string source_;  // the open activation whose outputs the events are; empty: root events
  std::size_t activations_ = 0;
  std::uint64_t seq_ = 0, event_ = 0;
  std::size_t pending_ = 0;
};

}  // namespace digd::bench
