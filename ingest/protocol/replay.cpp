#include "ingest/protocol/replay.h"

#include <fstream>
#include <iostream>
#include <utility>

#include "base/quote.h"

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

  void took(const taken& record) override {
    counts& c = owner_.counts_;
    if (record.kind == taken::what_kind::message) ++c.messages;
    if (record.kind == taken::what_kind::refused) ++c.refused;
    // What stands for a frame that was no JSON is JSON itself.
    if (record.answer.refused.code == refusal::bad_json && !owner_.is_stand_in_) ++c.broken;
    c.detections += record.answer.detections.size();
    for (const detection& d : record.answer.detections) c.healed += d.healed;
    if (to_.took) to_.took(record);
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
  if (is_own_line(text))
    return inbox_->follow(text) || fail("a line of the monitor's own needs its mode, or limit and policy, and a ts");
  const std::optional<session_index> from = speaker_of(text);
  if (!from) return fail("its session has not said hello; every session of a trace begins with its hello");
  is_stand_in_ = text.find("\"type\":\"refused\"") != std::string_view::npos;
  inbox_->receive_recorded(*from, text, inbox_->run().clock());
  return true;
}

bool replay::is_hello(std::string_view text) {
  return text.find("\"hello\"") != std::string_view::npos && decoder_.decode(text, scratch_).is_hello;
}

bool replay::greet(std::string_view text) {
  hello greeting;
  if (const refusal_note note = decoder_.decode_hello(text, greeting)) {
    const std::string where = note.field.empty() ? "" : " (field " + note.field + ")";
    return fail("a trace begins with its hello: " + std::string(to_string(note.code)) + where + ": " + note.text);
  }
  if (!inbox_) {
    const bool archived = greeting.stamped || greeting.semantics;
    if (archived) semantics_ = greeting.semantics.value_or(1);
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
