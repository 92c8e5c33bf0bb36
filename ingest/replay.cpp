#include "ingest/replay.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <utility>

#include "engine/quote.h"

namespace digd::ingest {

class replay::relay final : public sink {
 public:
  relay(replay& owner, listener to) : owner_(owner), to_(std::move(to)) {}

  void send(session_index to, std::string_view frame) override {
    if (!to_.frame) return;
    if (owner_.inbox_->sessions().size() == 1) return to_.frame(frame);
    line_ = "{\"session\":";
    append_quoted(line_, owner_.inbox_->sessions()[to].name);
    line_ += ',';
    line_ += frame.substr(1);
    to_.frame(line_);
  }

  void repeated(session_index) override { ++owner_.counts_.repeated; }

  void took(const taken& what) override {
    counts& c = owner_.counts_;
    if (what.kind == taken::what_kind::message) ++c.messages;
    if (what.kind == taken::what_kind::refused) ++c.refused;
    c.detections += what.answer.detections.size();
    for (const detection& d : what.answer.detections) c.healed += d.healed;
    if (to_.took) to_.took(what);
  }

 private:
  replay& owner_;
  listener to_;
  std::string line_;
};

replay::replay(const run_policy& policy, listener to)
    : policy_(policy), relay_(std::make_unique<relay>(*this, std::move(to))) {}

replay::~replay() = default;

const digd::run* replay::run() const { return inbox_ ? &inbox_->run() : nullptr; }

bool replay::fail(std::string text) {
  problem_ = "line " + std::to_string(counts_.lines) + ": " + std::move(text);
  return false;
}

bool replay::line(std::string_view text) {
  ++counts_.lines;
  if (text.find_first_not_of(" \t\r") == std::string_view::npos) return true;
  if (!inbox_ || is_hello(text)) return greet(text);
  if (text.starts_with("{\"type\":\"operator_mode\"")) return switch_mode(text);
  const std::optional<session_index> from = speaker_of(text);
  if (!from) return fail("its session has not said hello; every session of a trace begins with its hello");
  inbox_->receive(*from, text, inbox_->run().clock());
  return true;
}

bool replay::is_hello(std::string_view text) {
  return text.find("\"hello\"") != std::string_view::npos && decoder_.decode(text, scratch_).is_hello;
}

// The line that `inbox::switch_mode` writes; no client can say it.
bool replay::switch_mode(std::string_view text) {
  const std::optional<mode> strongest = operator_mode_of(text);
  const std::size_t at = text.find("\"ts\":");
  if (!strongest || at == std::string_view::npos) return fail("operator_mode needs a mode and a ts");
  const milliseconds stamp = std::strtoll(std::string(text.substr(at + 5)).c_str(), nullptr, 10);
  inbox_->switch_mode(*strongest, stamp);
  return true;
}

bool replay::greet(std::string_view text) {
  hello greeting;
  if (const refusal_note note = decoder_.decode_hello(text, greeting)) {
    const std::string where = note.field.empty() ? "" : " (field " + note.field + ")";
    return fail("a trace begins with its hello: " + std::string(to_string(note.code)) + where + ": " + note.text);
  }
  if (!inbox_) {
    run_settings settings = settle(greeting, policy_);
    settings.clock = clock_kind::trace;  // there is no other time than that of the trace
    inbox_ = std::make_unique<inbox>(greeting, settings, *relay_, inbox::options{});
  }
  greeting.clock.reset();
  const inbox::joined joined = inbox_->join(greeting, policy_);
  if (joined.refused) return fail(std::string(to_string(joined.refused.code)) + ": " + joined.refused.text);
  return true;
}

std::optional<session_index> replay::speaker_of(std::string_view text) {
  if (inbox_->sessions().size() == 1 && text.find("\"session\"") == std::string_view::npos) return 0;
  const std::string_view name = decoder_.session_of(text);
  const std::optional<session_index> known = inbox_->find_session(name);
  if (known || name != "main") return known;
  return 0;
}

replayed replay_file(const std::string& path, replay& through) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file) return {"cannot read " + path, {}};
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::string text;
  while (std::getline(in, text)) {
    if (!through.line(text)) return {through.problem(), through.counted()};
  }
  if (through.run() == nullptr) return {"no trace: the file is empty", through.counted()};
  return {{}, through.counted()};
}

}  // namespace digd::ingest
