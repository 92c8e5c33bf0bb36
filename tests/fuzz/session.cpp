// The whole path of frames through a run with its sessions: live through ingest::inbox, then recovered and exported.
//
// A line of the input is a frame of session 0, or by its first character:
//   >FRAME   a hello: a session joins or reconnects         0…3FRAME  a frame of that session
//   ~N       N milliseconds pass                            !         all accepted messages become durable
//   ^N       the operator's switch                          #N        a frame of N bytes, too large to read
//   @N       N milliseconds pass, and the timer is late     $         memory runs out: judging stops
//   %        switches refusing new messages on or off
// The first line is the hello of the run if it is one. Checks that sent frames are JSON and that each frame uses up at
// most one seq. Checks that recovery, as the daemon does it after a restart, and a replay of the exported trace give
// the same answers and the same graph.
#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "archive/trace_export.h"
#include "ingest/protocol/encode.h"
#include "ingest/protocol/inbox.h"
#include "ingest/protocol/replay.h"
#include "tests/fuzz/target.h"
#include "tests/simulation/recorded_run.h"

using namespace digd;
using fuzz::must;

namespace {

constexpr std::string_view plain_hello = R"({"type":"hello","protocol":1,"run":"r","clock":"trace"})";
constexpr std::size_t max_frames = 400;

// Small limits, so that inputs reach every one.
run_policy small_limits() {
  run_policy p;
  p.caps = {.stalled_ms = 600'000,
            .settled_events = 50,
            .generators = 8,
            .message_bytes = 4'096,
            .reorder_ms = 100,
            .agents = 40,
            .recipients = 20,
            .inputs = 20,
            .live_events = 60,
            .open_activations = 20,
            .sessions = 4};
  p.defaults.limits = p.caps;
  return p;
}

class live_run {
 public:
  live_run(std::string_view first_frame, const hello& first)
      : first_(first), settings_(effective_settings(first, policy_)) {
    in_ = std::make_unique<ingest::inbox>(first, settings_, ingest::inbox::options{.hold = true, .keep_replies = true});
    join(first_frame, first);
  }

  void line(std::string_view text) {
    if (text.empty()) return;
    const char command = text.front();
    const std::string_view rest = text.substr(1);
    std::uint64_t number = 0;
    std::from_chars(rest.data(), rest.data() + rest.size(), number);
    switch (command) {
      case '>': {
        hello greeting;
        if (!hellos_.decode_hello(rest, greeting)) join(rest, greeting);
        return;
      }
      case '~': return pass(static_cast<milliseconds>(number % 1'000'000'000));
      case '@': now_ += static_cast<milliseconds>(number % 1'000'000'000); return;
      case '!': return all_durable();
      case '^': return carry_out(in_->switch_mode(static_cast<mode>(number % 4), now_));
      case '$': return carry_out(in_->hit(limit_id::overload, limit_policy::observe, now_));
      case '%': return refuse_messages();
      case '#': return carry_out(in_->receive_too_large(0, number, now_));
      case '0':
      case '1':
      case '2':
      case '3': return receive(static_cast<std::size_t>(command - '0') % in_->sessions().size(), rest);
      default: return receive(0, text);
    }
  }

  void check() {
    for (const ingest::session& s : in_->sessions()) {
      must(s.durable_seq <= s.taken_seq, "durable messages were accepted");
      must(s.unacked.size() <= s.taken_seq - std::min(s.durable_seq, s.place),
           "replies are kept until they are durable");
    }
    const graph::graph& g = in_->run().graph();
    must(g.live_events() <= settings_.limits.live_events + system_room, "live events keep to their limit");
    must(g.open_count() <= settings_.limits.open_activations, "open activations keep to their limit");
    check_recovery();
    check_export();
  }

 private:
  static constexpr std::size_t system_room = 2'000;  // system events may exceed the limit

  void carry_out(const ingest::effects& effects) {
    for (const ingest::effect& e : effects) {
      if (e.action == ingest::effect::action::keep) entries_.push_back(tests::entry_of(*e.item, entries_.size() + 1));
      if (e.action == ingest::effect::action::send) fuzz::must_be_json(e.frame, "a frame to a client is JSON");
    }
  }

  void join(std::string_view frame, const hello& greeting) {
    const auto joined = in_->join(greeting, policy_);
    if (joined.refused) return;
    if (joined.changed) {
      entries_.push_back(tests::joining_entry(greeting, std::string(frame), in_->run().clock(), entries_.size() + 1));
    }
    carry_out(in_->resume(joined.session));
  }

  void pass(milliseconds by) {
    now_ += by;
    carry_out(in_->advance(now_));
  }

  void refuse_messages() {
    refusal_note note;
    if (!std::exchange(is_refusing_, !is_refusing_))
      note.consider(refusal::over_limit, "", "no room", limit_id::run_bytes);
    in_->refuse_messages(note ? std::optional(note) : std::nullopt);
  }

  void all_durable() {
    for (ingest::session_index s = 0; s < in_->sessions().size(); ++s) in_->durable(s, in_->sessions()[s].taken_seq);
  }

  void receive(ingest::session_index s, std::string_view frame) {
    const std::uint64_t before = in_->sessions()[s].taken_seq;
    const std::size_t held = in_->sessions()[s].held.size();
    carry_out(in_->receive(s, frame, ++now_));
    const std::uint64_t after = in_->sessions()[s].taken_seq;
    must(after >= before && after <= before + held + 1, "a frame uses up at most one seq", frame);
  }

  // Recovers the run as daemon/runs/read_back.cpp does.
  void check_recovery() {
    ingest::inbox recovered(first_, settings_, {.keep_replies = true});
    for (const tests::recorded_entry& e : entries_) {
      const tests::recovered_answers answers = tests::recover_entry(recovered, hellos_, e.stored);
      must(answers.fits, "a recorded entry fits", e.stored.frame);
      if (e.stored.kind == archive::entry_kind::session_joined) continue;
      must(answers.values == std::vector{e.value}, "a recovered message gets the same answer", e.stored.frame);
    }
    must(tests::digest_of(recovered.run()) == tests::digest_of(in_->run()), "a recovered run has the same graph");
  }

  void check_export() {
    std::vector<std::uint64_t> values;
    std::string problem;
    ingest::replay through(policy_, {.record = [&](const ingest::record& record) {
                             if (record.kind != ingest::record_kind::firing) values.push_back(tests::digest_of(record));
                           }});
    archive::trace_export lines([&](std::string_view text) {
      must(through.line(text), "an exported line replays", std::string(text) + "\n" + through.problem());
    });
    std::string opening;
    ingest::encode_trace_hello(opening, first_, settings_);
    archive::stored_entry opened;
    opened.kind = archive::entry_kind::run_opened;
    opened.frame = opening;
    lines.take(opened);
    // In a stamped trace, windows that fired between two messages are part of the answer to the later one.
    const bool exact = settings_.clock == clock_kind::trace && !settings_.stamped;
    std::size_t at = 0;
    for (const tests::recorded_entry& e : entries_) {
      lines.take(e.stored);
      if (e.stored.kind == archive::entry_kind::session_joined || e.stored.kind == archive::entry_kind::firing)
        continue;
      must(values.size() == at + 1, "an exported line is one message", e.stored.frame);
      if (exact) must(values[at] == e.value, "an exported trace gets the same answers", e.stored.frame);
      ++at;
    }
    lines.finish();
    must(through.run() == nullptr || tests::digest_of(*through.run()) == tests::digest_of(in_->run()),
         "an exported trace gives the same graph");
  }

  const run_policy policy_ = small_limits();
  const hello first_;
  const run_settings settings_;
  ingest::decoder hellos_;
  std::vector<tests::recorded_entry> entries_;
  std::unique_ptr<ingest::inbox> in_;
  milliseconds now_ = 1'000;
  bool is_refusing_ = false;
};

}  // namespace

FUZZ_TARGET(session) {
  std::string_view rest = fuzz::text_of(data, size), line;
  ingest::decoder hellos;
  hello first;
  std::string_view first_frame = rest.substr(0, rest.find('\n'));
  if (hellos.decode_hello(first_frame, first)) {
    first_frame = plain_hello;
    must(!hellos.decode_hello(first_frame, first), "the plain hello is valid");
  } else {
    fuzz::take_line(rest, line);
  }
  live_run run(first_frame, first);
  for (std::size_t n = 0; n < max_frames && fuzz::take_line(rest, line); ++n) run.line(line);
  run.check();
  return 0;
}
