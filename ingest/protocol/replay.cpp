#include "ingest/protocol/replay.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <utility>

#include "base/json_writer.h"

namespace digd::ingest {

namespace {

bool is_rejected(const record& item, line_type type) {
  return item.kind == record_kind::refused && type != line_type::refused;
}

}  // namespace

replay::replay(const run_policy& policy, listener to) : policy_(policy), to_(std::move(to)) {}

const digd::run* replay::run() const { return inbox_ ? &inbox_->run() : nullptr; }

bool replay::fail(std::string text) {
  problem_ = "line " + std::to_string(counts_.lines) + ": " + std::move(text);
  return false;
}

bool replay::line(std::string_view text) {
  ++counts_.lines;
  if (text.find_first_not_of(" \t\r") == std::string_view::npos) return true;
  const line_header header = decoder_.header_of(text);
  if (!inbox_ || header.type == line_type::hello) return greet(text);
  if (is_own_line(header.type)) return follow(text);
  const std::optional<session_index> from = find_session(header.session);
  if (!from) return fail("its session has not said hello; every session of a trace begins with its hello");
  const milliseconds now = inbox_->run().clock();
  hand_on(
      header.type == line_type::refused ? inbox_->receive_refused(*from, text, now) : inbox_->receive(*from, text, now),
      header.type);
  return true;
}

void replay::hand_on(const effects& of, line_type type) {
  for (const effect& e : of) {
    switch (e.action) {
      case effect::action::keep:
        count(*e.item, type);
        if (to_.record) to_.record(*e.item);
        if (is_rejected(*e.item, type) && to_.refused) to_.refused(counts_.lines, *e.item);
        break;
      case effect::action::send: hand_on_frame(e.session, e.frame); break;
      case effect::action::acknowledge: ++counts_.repeated; break;
    }
  }
}

void replay::count(const record& item, line_type type) {
  counts_.messages += item.kind == record_kind::message;
  counts_.refused += item.kind == record_kind::refused;
  counts_.rejected += is_rejected(item, type);
  counts_.detections += item.answer.detections.size();
  for (const detection& d : item.answer.detections) counts_.healed += d.healed;
}

void replay::hand_on_frame(session_index to, std::string_view frame) {
  if (!to_.frame) return;
  if (inbox_->sessions().size() == 1) return to_.frame(frame);
  frame_.clear();
  const std::string& name = inbox_->sessions()[to].name;
  json_writer(frame_).open_object().key("session").text(name).members_of(frame).close_object();
  to_.frame(frame_);
}

bool replay::follow(std::string_view text) {
  const std::optional<own_line> line = decoder_.own_line_of(text);
  if (!line) return fail("a line of digd's own needs its mode, limit and policy, or hold and decision, and a ts");
  hand_on(inbox_->follow(*line), line_type::message);
  return true;
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
    run_settings settings = effective_settings(greeting, policy_);
    settings.clock = clock_kind::trace;  // the trace has the only time
    inbox_ = std::make_unique<inbox>(greeting, settings, inbox::options{});
  }
  greeting.clock.reset();
  const inbox::joined joined = inbox_->join(greeting, policy_);
  if (joined.refused) return fail(std::string(to_string(joined.refused.code)) + ": " + joined.refused.text);
  return true;
}

// A line without a session has the default name `main`. If no session has this name, the line belongs to the first one.
std::optional<session_index> replay::find_session(std::string_view name) const {
  const std::optional<session_index> known = inbox_->find_session(name);
  return known || name != "main" ? known : 0;
}

replayed replay_file(const std::string& path, replay& through) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (std::error_code none; std::filesystem::is_directory(path, none)) return {"it is a folder", {}};
    if (!file) return {"there is no such file, or it cannot be read", {}};
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::string text;
  while (std::getline(in, text)) {
    if (!through.line(text)) return {through.problem(), through.counted()};
  }
  if (through.run() == nullptr) return {"not a trace: the file is empty", through.counted()};
  return {{}, through.counted()};
}

}  // namespace digd::ingest
