// Compares engine and oracle on hostile traces. The bytes of the input choose messages with few names. So events return
// to their authors, reroutes go in circles and to the same agent, ids repeat, and times jump to their limits.
#include "tests/engine/engine_answers.h"
#include "tests/fuzz/target.h"

namespace {

constexpr std::size_t max_messages = 60;  // the oracle scans the whole history for each message

class trace_maker {
 public:
  explicit trace_maker(std::string_view bytes) : rest_(bytes) {}

  std::vector<std::string> make() {
    std::vector<std::string> lines{hello()};
    while (!rest_.empty() && lines.size() < max_messages) lines.push_back(message());
    return lines;
  }

 private:
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return static_cast<std::uint8_t>(c);
  }
  std::size_t below(std::size_t n) { return byte() % n; }

  std::string hello() {
    const std::uint8_t bits = byte();
    std::string text = R"({"type":"hello","protocol":1,"run":"r","clock":"trace")";
    if (bits & 1) text += R"(,"agents":["a","b","c"])";
    if (bits & 2) text += R"(,"limits":{"settled_events":3})";
    if (bits & 4) text += R"(,"limits":{"generators":2})";
    if ((bits & 6) == 6) text.erase(text.rfind(",\"limits\""));
    if (bits & 8)
      text += R"(,"rules":{"deadlock":{"window_ms":100},)"
              R"("orphaned_event":{"window_ms":0},"missing_termination":{"window_ms":200}})";
    if (bits & 16) text += R"(,"healing":{"budget":2})";
    if (bits & 32) text += R"(,"capabilities":{"reroute":false})";
    if (bits & 64) text += R"(,"mode":"shadow")";
    return text + "}";
  }

  std::string agent() { return std::string{"\""} + "abcdgh"[below(6)] + '"'; }
  std::string event() {
    const std::size_t n = below(13);
    return n == 12 ? R"("sys:1")" : "\"e" + std::to_string(n) + '"';
  }
  std::string activation() { return "\"v" + std::to_string(below(9)) + '"'; }
  template <class Item>
  std::string list(std::size_t max_items, Item item) {
    std::string text = "[";
    for (std::size_t n = below(max_items + 1); n > 0; --n) text += item() + (n > 1 ? "," : "");
    return text + ']';
  }
  std::string agents() {
    return list(4, [this] { return agent(); });
  }
  std::string draft(bool may_have_source) {
    const std::uint8_t bits = byte();
    std::string text = "{\"id\":" + event() + ",\"recipients\":" + agents();
    if (may_have_source && (bits & 1)) text += ",\"source\":" + activation();
    if (bits & 2) text += R"(,"fyi":true)";
    if ((bits & 12) == 12) text += R"(,"submit":true)";
    if (bits & 16) text += R"(,"kind":"k")";
    return text + '}';
  }
  std::string reactions() {
    std::string text = "{";
    std::string seen;
    for (std::size_t n = below(5); n > 0; --n) {
      const std::string input = event();
      if (seen.find(input) != std::string::npos) continue;  // repeated keys are for the tests of the decoder
      seen += input;
      if (text.size() > 1) text += ',';
      text += input + ':';
      switch (below(5)) {
        case 0: text += R"("wait")"; break;
        case 1: text += R"("discard")"; break;
        case 2: text += "{\"reroute\":" + list(3, [this] { return agent(); }) + "}"; break;
        default: text += R"("consume")";
      }
    }
    return text + '}';
  }
  std::string time() {
    constexpr const char* steps[] = {"0", "1", "50", "300", "5000", "12000", "300000"};
    const std::uint8_t draw = byte();
    if (draw < 200) return std::to_string(now_ += std::atoll(steps[draw % 7]));
    constexpr const char* edges[] = {"9223372036854775807", "-9223372036854775808", "-1", "9223372036854775000"};
    if (draw < 220) return edges[draw % 4];
    return "";
  }

  std::string message() {
    std::string text = "{\"seq\":" + std::to_string(++seq_);
    if (const std::string ts = time(); !ts.empty()) text += ",\"ts\":" + ts;
    const std::uint8_t kind = byte();
    if (kind < 60) return text + R"(,"type":"event","event":)" + draft(true) + '}';
    if (kind < 120) {
      return text + R"(,"type":"activation_started","activation":)" + activation() + ",\"agent\":" + agent() +
             ",\"inputs\":" + list(3, [this] { return event(); }) + '}';
    }
    if (kind < 200) {
      const std::string failed = below(10) == 9 ? R"(,"failed":true)" : "";
      return text + R"(,"type":"activation_ended","activation":)" + activation() + ",\"reactions\":" + reactions() +
             ",\"outputs\":" + list(3, [this] { return draft(false); }) + failed + '}';
    }
    if (kind < 212) return text + R"(,"type":"agent_joined","agent":)" + agent() + '}';
    if (kind < 222) return text + R"(,"type":"agent_left","agent":)" + agent() + '}';
    if (kind < 232) {
      constexpr const char* applied[] = {"as_is", "injected", "rerouted", "created", "unsupported", "failed"};
      return text + R"(,"type":"delivery","event":)" + event() + ",\"applied\":\"" + applied[below(6)] + "\"}";
    }
    if (kind < 240) return text + R"(,"type":"gap","dropped":1})";
    if (kind < 250) return text + R"(,"type":"time"})";
    return text + R"(,"type":"run_ended","outcome":"aborted"})";
  }

  std::string_view rest_;
  std::uint64_t seq_ = 0;
  long long now_ = 0;
};

}  // namespace

FUZZ_TARGET(agreement) {
  const std::vector<std::string> trace = trace_maker(digd::fuzz::text_of(data, size)).make();
  const std::string difference = digd::tests::disagreement(trace);
  if (!difference.empty()) {
    for (const std::string& line : trace) std::fprintf(stderr, "%s\n", line.c_str());
  }
  digd::fuzz::must(difference.empty(), "engine and oracle agree", difference);
  return 0;
}
