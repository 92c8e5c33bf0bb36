// The path of a message on its engine thread, without the socket and the archive: decode, sequence, check, record,
// judge, encode. A client waits for this before it delivers an event.
//
//   digd-held-path [--shape roots|outputs|usage] [--events N] [--bytes N] [--guards]
//
// The messages are those of digd-load, one run of them. Prints JSON with the nanoseconds an event.
//
// scripts/measure-held-path counts the instructions of `digd_counted_frame` with callgrind and compares two versions.
// It compiles this file against the older one as well. So use only calls that both have.
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "bench/load_story.h"
#include "bench/tool.h"
#include "engine/policy.h"
#include "ingest/protocol/decode.h"
#include "ingest/protocol/inbox.h"

namespace digd::bench {

namespace {

using steady = std::chrono::steady_clock;

struct held_options {
  std::string shape = "roots";
  std::uint64_t events = 100'000, bytes = 600;
  bool guards = false;
};

// Limits that this load does not reach.
constexpr std::string_view all_guards =
    R"(,"guards":{"budget":{"max_tokens":1000000000000,"max_cost":1000000000,"max_model_calls":1000000000,)"
    R"("max_tool_calls":1000000000,"max_activations":1000000000},"fan_out":{"max_depth":1000000000,)"
    R"("max_outputs":1000000000,"max_live":1000000000},"repetition":{"max_repeats":50},"stall":{"after_ms":3600000}})";

std::unique_ptr<ingest::inbox> open_run(std::string greeting, bool guards) {
  if (guards) greeting.insert(greeting.size() - 1, all_guards);
  ingest::decoder decoder;
  hello first;
  if (const refusal_note refused = decoder.decode_hello(greeting, first)) throw std::runtime_error(refused.text);
  const run_policy policy;
  ingest::inbox::options live;
  live.hold = live.keep_replies = true;
  auto inbox = std::make_unique<ingest::inbox>(first, effective_settings(first, policy), live);
  inbox->join(first, policy);
  return inbox;
}

// What the engine thread hands on: the bytes of all frames to the client and to the record.
inline std::size_t take_frame(ingest::inbox& inbox, std::string_view frame, milliseconds now) {
  std::size_t bytes = 0;
  for (const ingest::effect& e : inbox.receive(0, frame, now)) {
    bytes += e.frame.size();
    if (e.item != nullptr) bytes += e.item->frame.size();
  }
  return bytes;
}

}  // namespace

}  // namespace digd::bench

// Named for callgrind's --toggle-collect.
extern "C" [[gnu::noinline]] std::size_t digd_counted_frame(digd::ingest::inbox& inbox, std::string_view frame,
                                                            digd::milliseconds now) {
  return digd::bench::take_frame(inbox, frame, now);
}

namespace digd::bench {

namespace {

class player {
 public:
  explicit player(const held_options& options)
      : story_("held", options.bytes, options.shape != "roots", options.shape == "usage"),
        inbox_(open_run(story_.hello(), options.guards)) {}

  // Plays one event, with the activation before it if that is due. `take` handles a frame.
  template <class Take>
  void play(Take take) {
    frames_.clear();
    const std::size_t count = story_.append_event(frames_);
    std::string_view rest = frames_;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view frame = text_of_frame(rest);
      ++now_;
      handed_on_ += take(*inbox_, frame, now_);
      rest.remove_prefix(static_cast<std::size_t>(frame.data() + frame.size() - rest.data()));
    }
    // As after a commit of the archive.
    inbox_->durable(0, inbox_->sessions().front().taken_seq);
  }

  std::size_t handed_on() const { return handed_on_; }

 private:
  story story_;
  std::unique_ptr<ingest::inbox> inbox_;
  std::string frames_;
  milliseconds now_ = 1'700'000'000'000;
  std::size_t handed_on_ = 0;
};

void play(const held_options& options) {
  constexpr std::uint64_t warm_up = 1'000;
  player of(options);
  for (std::uint64_t i = 0; i < warm_up; ++i) of.play(take_frame);
  steady::duration spent{};
  for (std::uint64_t i = 0; i < options.events; ++i) {
    of.play([&](ingest::inbox& inbox, std::string_view frame, milliseconds now) {
      const auto begun = steady::now();
      const std::size_t bytes = digd_counted_frame(inbox, frame, now);
      spent += steady::now() - begun;
      return bytes;
    });
  }
  const double ns = std::chrono::duration<double, std::nano>(spent).count();
  std::cout << "{\"shape\":\"" << options.shape << "\",\"events\":" << options.events
            << ",\"handed_on_bytes\":" << of.handed_on()
            << ",\"ns_an_event\":" << ns / static_cast<double>(options.events) << "}\n";
}

}  // namespace

}  // namespace digd::bench

int main(int argc, char** argv) {
  CLI::App app("Plays messages through the part of digd that a client waits for, without socket and archive.");
  digd::bench::held_options options;
  app.add_option("--shape", options.shape, "root events, outputs, or outputs whose activations report usage")
      ->check(CLI::IsMember({"roots", "outputs", "usage"}))
      ->capture_default_str();
  app.add_option("--events", options.events)->check(CLI::Range(1, 1'000'000'000))->capture_default_str();
  app.add_option("--bytes", options.bytes, "of an event's message")
      ->check(CLI::Range(1, 60'000))
      ->capture_default_str();
  app.add_flag("--guards", options.guards, "turns all guards on, with limits that are never reached");
  CLI11_PARSE(app, argc, argv);
  return digd::bench::as_tool("digd-held-path", [&] {
    digd::bench::play(options);
    return 0;
  });
}
