// Engine against oracle on hostile traces: the bytes of the input choose messages out of few names, so that events meet
// their own authors, reroutes go in circles and to oneself, ids come again, and times jump to the edges.
#include "tests/engine/engine_answers.h"
#include "tests/fuzz/target.h"

namespace {

constexpr std::size_t most_messages = 60;  // the oracle looks through everything, each time

class trace_maker {
 public:
  explicit trace_maker(std::string_view bytes) : rest_(bytes) {}

  std::vector<std::string> make() {
    std::vector<std::string> lines{hello()};
    while (!rest_.empty() && lines.size() < most_messages) lines.push_back(message());
    return lines;
  }

 private:
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return static_cast<std::uint8_t>(c);
  }
  std::size_t one_of(std::size_t n) { return byte() % n; }

  std::string hello() {
    const std::uint8_t mode_byte = byte();
    std::string text = R"({"type":"hello","protocol":1,"run":"r","clock":"trace")";
    if (mode_byte & 1) text += R"(,"agents":["a","b","c"])";
    if (mode_byte & 2) text += R"(,"limits":{"settled_events":3})";
    if (mode_byte & 4) text += R"(,"limits":{"generators":2})";
    if ((mode_byte & 6) == 6) text.erase(text.rfind(",\"limits\""));
    if (mode_byte & 8)
      text +=
          R"(,"rules":{"deadlock":{"window_ms":100},"orphaned_event":{"window_ms":0},"missing_termination":{"window_ms":200}})";
    if (mode_byte & 16) text += R"(,"healing":{"budget":2})";
    if (mode_byte & 32) text += R"(,"capabilities":{"reroute":false})";
    if (mode_byte & 64) text += R"(,"mode":"shadow")";
    return text + "}";
  }

  std::string agent() { return std::string{"\""} + "abcdgh"[one_of(6)] + '"'; }
  std::string event() {
    const std::size_t n = one_of(13);
    return n == 12 ? R"("sys:1")" : "\"e" + std::to_string(n) + '"';
  }
  std::string activation() { return "\"v" + std::to_string(one_of(9)) + '"'; }
  template <class Each>
  std::string list(std::size_t most, Each each) {
    std::string text = "[";
    for (std::size_t n = one_of(most + 1); n > 0; --n) text += each() + (n > 1 ? "," : "");
    return text + ']';
  }
  std::string agents() {
    return list(4, [this] { return agent(); });
  }
  std::string draft(bool may_have_source) {
    const std::uint8_t mode_byte = byte();
    std::string text = "{\"id\":" + event() + ",\"recipients\":" + agents();
    if (may_have_source && (mode_byte & 1)) text += ",\"source\":" + activation();
    if (mode_byte & 2) text += R"(,"fyi":true)";
    if ((mode_byte & 12) == 12) text += R"(,"submit":true)";
    if (mode_byte & 16) text += R"(,"kind":"k")";
    return text + '}';
  }
  std::string reactions() {
    std::string text = "{";
    std::string seen;
    for (std::size_t n = one_of(5); n > 0; --n) {
      const std::string of = event();
      if (seen.find(of) != std::string::npos) continue;  // a key twice is JSON's business, not the graph's
      seen += of;
      if (text.size() > 1) text += ',';
      text += of + ':';
      switch (one_of(5)) {
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
    const std::uint8_t mode_byte = byte();
    if (mode_byte < 200) return std::to_string(now_ += std::atoll(steps[mode_byte % 7]));
    constexpr const char* edges[] = {"9223372036854775807", "-9223372036854775808", "-1", "9223372036854775000"};
    if (mode_byte < 220) return edges[mode_byte % 4];
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
      const std::string failed = one_of(10) == 9 ? R"(,"failed":true)" : "";
      return text + R"(,"type":"activation_ended","activation":)" + activation() + ",\"reactions\":" + reactions() +
             ",\"outputs\":" + list(3, [this] { return draft(false); }) + failed + '}';
    }
    if (kind < 212) return text + R"(,"type":"agent_joined","agent":)" + agent() + '}';
    if (kind < 222) return text + R"(,"type":"agent_left","agent":)" + agent() + '}';
    if (kind < 232) {
      constexpr const char* current_char[] = {"as_is", "injected", "rerouted", "created", "unsupported", "failed"};
      return text + R"(,"type":"delivery","event":)" + event() + ",\"applied\":\"" + current_char[one_of(6)] + "\"}";
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

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::string> trace = trace_maker(digd::fuzz::text_of(data, size)).make();
  const std::string differs = digd::tests::disagreement(trace);
  if (!differs.empty()) {
    for (const std::string& line : trace) std::fprintf(stderr, "%s\n", line.c_str());
  }
  digd::fuzz::must(differs.empty(), "engine and oracle agree", differs);
  return 0;
}
