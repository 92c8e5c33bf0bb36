#include "net/trace_player.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <thread>
#include <utility>

#include "base/deep_json.h"
#include "base/json_writer.h"
#include "base/quote.h"
#include "net/daemon_frame.h"

namespace digd::net {

namespace json = boost::json;

namespace {

// Gives the hello the other name of the run, if there is one. Without a clock it gets the trace clock: the times in the
// trace then count, as in a replay.
std::string hello_as_sent(std::string_view text, const std::string& run, bool has_clock) {
  if (run.empty() && has_clock) return std::string(text);
  boost::system::error_code ec;
  json::value parsed = parse_json(text, ec);
  if (ec || !parsed.is_object()) return std::string(text);
  if (!run.empty()) parsed.as_object()["run"] = run;
  if (!has_clock) parsed.as_object()["clock"] = "trace";
  return json::serialize(parsed);
}

}  // namespace

trace_player::trace_player(play_options options, listener to) : options_(std::move(options)), to_(std::move(to)) {}

trace_player::~trace_player() {
  for (session_state& s : sessions_) {
    if (s.socket) s.socket->abort();
  }
  io_.restart();
  io_.poll();
}

bool trace_player::fail(std::string text) {
  if (problem_.empty()) problem_ = std::move(text);
  return false;
}

void trace_player::fail_permanently(std::string text) {
  final_ = true;
  fail(std::move(text));
}

std::string trace_player::called(const session_state& s) const {
  return sessions_.size() == 1 ? std::string() : "session " + digd::quoted(s.name) + ": ";
}

// ---- the trace

bool trace_player::line(std::string_view text) {
  ++lines_;
  if (!problem_.empty()) return false;
  if (text.find_first_not_of(" \t\r") == std::string_view::npos) return true;
  const ingest::line_header header = decoder_.header_of(text);
  if (sessions_.empty() || header.type == ingest::line_type::hello) return greet(text);
  const std::optional<std::size_t> session = find_session(header.session);
  if (!session) {
    return fail("line " + std::to_string(lines_) +
                ": its session has not said hello; every session of a trace begins with its hello");
  }
  entry next = entry_of(*session, text);
  session_state& s = sessions_[*session];
  if (next.seq != 0 && next.seq <= s.acked) {
    ++counts_.known;
    return true;
  }
  if (!keep_time(next)) return false;
  unacked_.push_back(std::move(next));
  ++counts_.messages;
  return drive();
}

// A line without a session belongs to the first session.
std::optional<std::size_t> trace_player::find_session(std::string_view name) const {
  for (std::size_t i = 0; i < sessions_.size(); ++i) {
    if (sessions_[i].name == name) return i;
  }
  return name == "main" ? std::optional<std::size_t>(0) : std::nullopt;
}

// Predicts how the daemon handles a line: the seq that it uses up, and whether a client waits for its answer.
trace_player::entry trace_player::entry_of(std::size_t session, std::string_view text) {
  session_state& s = sessions_[session];
  entry e{.session = session, .line = lines_, .text = std::string(text)};
  const ingest::decoded d = decoder_.decode(text, scratch_);
  e.records_refusal = d.type == ingest::line_type::refused;
  const std::uint64_t expected = s.used + 1;
  const bool too_large = text.size() > s.message_bytes;
  if (!too_large && d.has_seq && d.seq < expected) return e;
  if (!too_large && d.has_seq && d.seq > expected) {
    e.misplaced = e.expects = true;
    return e;
  }
  e.seq = s.used = expected;
  e.expects = too_large || d.refused || d.type == ingest::line_type::hello;
  if (e.expects) return e;
  e.ts = scratch_.ts;
  e.expects = !scratch_.events.empty() || std::any_of(scratch_.reactions.begin(), scratch_.reactions.end(),
                                                      [](const auto& r) { return r.reaction == reaction::reroute; });
  return e;
}

bool trace_player::keep_time(const entry& next) {
  if (options_.speed <= 0 || !next.ts) return true;
  if (!first_ts_) {
    first_ts_ = next.ts;
    first_at_ = clock::now();
    return true;
  }
  // A ts may be any number; a wait of more than a year is cut.
  const double ms =
      std::min((static_cast<double>(*next.ts) - static_cast<double>(*first_ts_)) / options_.speed, 3.2e10);
  const clock::time_point due = first_at_ + std::chrono::duration_cast<clock::duration>(
                                                std::chrono::duration<double, std::milli>(std::max(ms, 0.0)));
  if (due > clock::now() && to_.idle) to_.idle();
  while (clock::now() < due) {
    run_until(std::min(due, clock::now() + std::chrono::milliseconds(200)));
    hear();
    if (!problem_.empty()) return false;
    if (to_.idle) to_.idle();
  }
  return true;
}

bool trace_player::greet(std::string_view text) {
  hello greeting;
  if (const refusal_note note = decoder_.decode_hello(text, greeting)) {
    const std::string where = note.field.empty() ? "" : " (field " + note.field + ")";
    return fail("line " + std::to_string(lines_) +
                ": a trace begins with its hello: " + std::string(to_string(note.code)) + where + ": " + note.text);
  }
  if (speaker_ && settle(*speaker_) == step_result::failed) return false;
  auto at = std::find_if(sessions_.begin(), sessions_.end(),
                         [&](const session_state& s) { return s.name == greeting.session; });
  const bool first = at == sessions_.end();
  if (first) {
    sessions_.emplace_back();
    at = std::prev(sessions_.end());
  }
  at->name = greeting.session;
  at->hello = hello_as_sent(text, options_.run, greeting.clock.has_value());
  run_ = options_.run.empty() ? greeting.run : options_.run;
  if (at->socket) at->socket->close();
  const step_result result = connect(*at);
  if (result == step_result::lost) return recover() && drive();
  if (result == step_result::failed) return false;
  if (first && at->acked > 0 && to_.notice) {
    to_.notice(called(*at) + "the daemon has the first " + std::to_string(at->acked) +
               " messages of this run already; it continues " + "from there (--run NAME plays it as a new run)");
  }
  return true;
}

// ---- sending

bool trace_player::drive() {
  while (next_ < unacked_.size()) {
    switch (step(unacked_[next_])) {
      case step_result::answered: ++next_; break;
      case step_result::lost:
        if (!recover()) return false;
        break;
      case step_result::failed: return false;
    }
    forget_acked();
  }
  return true;
}

trace_player::step_result trace_player::step(const entry& e) {
  if (speaker_ && *speaker_ != e.session) {
    if (const step_result before = settle(*speaker_); before != step_result::answered) return before;
  }
  speaker_ = e.session;
  session_state& s = sessions_[e.session];
  const step_result room = wait(s, [&] {
    return (e.seq == 0 || e.seq - std::min(e.seq, s.acked) <= s.credits) && s.socket->unwritten() < max_unwritten;
  });
  if (room != step_result::answered) return room;
  const std::uint64_t misplaced = s.misplaced;
  s.socket->send(e.text);
  if (!e.expects) {
    io_.restart();
    io_.poll();
    hear();
    return problem_.empty() ? step_result::answered : step_result::failed;
  }
  if (e.misplaced) return wait(s, [&] { return s.misplaced > misplaced; });
  const step_result answer = wait(s, [&] { return s.answered >= e.seq || s.acked >= e.seq; });
  if (answer == step_result::answered && s.passed_on < e.seq) ++counts_.lost_answers;
  return answer;
}

trace_player::step_result trace_player::settle(std::size_t session) {
  session_state& s = sessions_[session];
  return wait(s, [&] { return s.answered >= s.used || s.acked >= s.used; });
}

void trace_player::forget_acked() {
  while (next_ > 0) {
    const entry& first = unacked_.front();
    if (first.seq != 0 && first.seq > sessions_[first.session].acked) return;
    unacked_.pop_front();
    --next_;
  }
}

bool trace_player::finish() {
  if (!problem_.empty()) return false;
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      session_state& s = sessions_[i];
      const step_result acked = wait(s, [&] { return s.acked >= s.used && s.socket->unwritten() == 0; });
      if (acked == step_result::failed) return false;
      if (acked == step_result::answered) continue;
      if (!recover() || !drive()) return false;
      again = true;
    }
  }
  for (session_state& s : sessions_) s.socket->close();
  run_until(clock::now() + std::chrono::milliseconds(50));
  hear();
  return problem_.empty();
}

// ---- connections

trace_player::step_result trace_player::connect(session_state& s) {
  if (s.socket) s.socket->abort();
  s.welcomed = false;
  s.socket = websocket_client::make(io_);
  const std::string run = [&] {
    hello greeting;
    decoder_.decode_hello(s.hello, greeting);
    return greeting.run;
  }();
  if (const std::string problem = s.socket->open(options_.to, ingest_target(run), options_.token, options_.patience);
      !problem.empty()) {
    s.socket->abort();
    fail(problem);
    return step_result::failed;
  }
  s.socket->send(s.hello);
  const step_result result = wait(s, [&] { return s.welcomed; });
  if (result == step_result::failed) return result;
  if (result == step_result::answered) s.answered = s.acked;
  return result;
}

// Connects all sessions again: a killed daemon has lost all of them, and repeated messages must keep their order.
bool trace_player::recover() {
  // Also gives up if the daemon repeatedly accepts the connection and loses it at the same message.
  const std::uint64_t progress = counts_.acked + counts_.verdicts + counts_.errors;
  fruitless_ = progress == progress_ ? fruitless_ + 1 : 0;
  progress_ = progress;
  std::chrono::milliseconds pause = options_.backoff * (1 << std::min(fruitless_, 4u));
  if (fruitless_ >= options_.tries) {
    return fail("the connection is lost repeatedly after " + std::to_string(counts_.acked) + " acked messages");
  }
  for (session_state& s : sessions_) {
    if (s.socket && !s.socket->is_open() && to_.notice) {
      to_.notice(called(s) + "the connection is lost (" + s.socket->close_reason() + "); reconnecting");
    }
  }
  for (unsigned attempt = 1;; ++attempt) {
    if (to_.idle) to_.idle();
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(2000));
    problem_.clear();
    bool complete = true;
    for (session_state& s : sessions_) complete = complete && connect(s) == step_result::answered;
    if (complete) break;
    if (final_) return false;
    if (attempt >= options_.tries) {
      const std::string problem = std::exchange(problem_, {});
      return fail("the connection is lost, and reconnecting failed for " + std::to_string(attempt) + " tries" +
                  (problem.empty() ? "" : "; last error: " + problem));
    }
  }
  ++counts_.reconnects;
  std::deque<entry> again;  // to send again: neither acked messages, nor sent ones that use up no seq
  for (std::size_t i = 0; i < unacked_.size(); ++i) {
    entry& e = unacked_[i];
    const session_state& s = sessions_[e.session];
    if (e.seq == 0 ? i >= next_ : e.seq > s.acked) {
      again.push_back(std::move(e));
    } else if (e.seq != 0 && e.expects && s.passed_on < e.seq) {
      ++counts_.lost_answers;
    }
  }
  unacked_ = std::move(again);
  next_ = 0;
  speaker_.reset();
  return true;
}

// ---- waiting and receiving

// Waits until it is ready, the connection is lost, or nothing has arrived for too long.
template <class Ready>
trace_player::step_result trace_player::wait(session_state& s, const Ready& ready) {
  clock::time_point patience = clock::now() + options_.patience;
  for (;;) {
    hear();
    if (!problem_.empty()) return step_result::failed;
    if (ready()) return step_result::answered;
    if (!s.socket->is_open()) {
      if (s.socket->close_code() != 4400 && s.socket->close_code() != 4409) return step_result::lost;
      fail_permanently(called(s) + s.socket->close_reason());
      return step_result::failed;
    }
    if (clock::now() >= patience) {
      char seconds[24];
      std::snprintf(seconds, sizeof seconds, "%g", static_cast<double>(options_.patience.count()) / 1000.0);
      fail(called(s) + "no answer for " + seconds + " s: " + std::to_string(s.acked) + " of " + std::to_string(s.used) +
           " messages are acked (see /readyz of the daemon)");
      return step_result::failed;
    }
    const std::uint64_t before = s.acked + s.answered + s.misplaced;
    run_until(patience);
    hear();
    if (s.acked + s.answered + s.misplaced != before) patience = clock::now() + options_.patience;
  }
}

// Runs one pending operation; not longer than `until`.
void trace_player::run_until(clock::time_point until) {
  io_.restart();
  if (io_.run_one_until(until) > 0) {
    io_.poll();
    return;
  }
  std::this_thread::sleep_until(until);  // nothing was pending, or the time is over
}

void trace_player::hear() {
  for (session_state& s : sessions_) {
    if (!s.socket) continue;
    while (const std::optional<std::string> frame = s.socket->take()) hear_frame(s, *frame);
  }
}

void trace_player::hear_frame(session_state& s, const std::string& text) {
  const std::optional<daemon_frame> frame = read_daemon_frame(text);
  if (!frame) {
    fail(called(s) + "the daemon sent something that is not a JSON object: " + digd::quoted(text.substr(0, 200)));
    return;
  }
  switch (frame->kind) {
    case daemon_frame_kind::ack:
      if (frame->seq > s.acked) counts_.acked += frame->seq - s.acked;
      s.acked = std::max(s.acked, frame->seq);
      return;
    case daemon_frame_kind::welcome: return hear_welcome(s, *frame);
    case daemon_frame_kind::verdicts:
    case daemon_frame_kind::error:
      if (!hear_answer(s, *frame)) return;
      break;
    case daemon_frame_kind::intervention:
      if (!is_news(s, std::string(text_of(frame->body, "id")))) return;
      ++counts_.interventions;
      break;
    case daemon_frame_kind::other: break;
  }
  hand_on(s, text);
}

void trace_player::hear_welcome(session_state& s, const daemon_frame& welcome) {
  const std::uint64_t acked = welcome.acked_seq;
  if (s.used != 0 && acked > s.acked) counts_.acked += acked - s.acked;
  if (acked < s.acked) {
    fail_permanently(called(s) + "the daemon knows " + std::to_string(acked) + " of the " + std::to_string(s.acked) +
                     " messages that it had acked; does it use another data directory?");
    return;
  }
  s.acked = acked;
  s.credits = std::max<std::uint64_t>(1, welcome.credits.value_or(s.credits));
  s.message_bytes = welcome.message_bytes.value_or(s.message_bytes);
  s.welcomed = true;
}

// Returns whether to pass on the answer: false if it has arrived before, or is fatal.
bool trace_player::hear_answer(session_state& s, const daemon_frame& answer) {
  const bool is_error = answer.kind == daemon_frame_kind::error;
  if (answer.fatal) {
    fail_permanently(called(s) + "the daemon refused: " + answer.code + ": " + digd::quoted(answer.message) +
                     (answer.code == "hello_conflict" ? "; --run NAME plays the trace as another run" : ""));
    return false;
  }
  if (is_error && answer.code == "bad_seq") {
    ++s.misplaced;
  } else {
    const bool is_repeated = answer.seq != 0 && answer.seq <= s.passed_on;
    s.answered = std::max(s.answered, answer.seq);
    if (is_repeated) return false;
    s.passed_on = std::max(s.passed_on, answer.seq);
  }
  ++(is_error ? counts_.errors : counts_.verdicts);
  if (is_error) hear_refusal(s, answer);
  return true;
}

void trace_player::hear_refusal(const session_state& s, const daemon_frame& error) {
  const std::size_t session = static_cast<std::size_t>(&s - sessions_.data());
  const auto from = std::find_if(unacked_.begin(), unacked_.end(), [&](const entry& e) {
    return e.session == session && (error.code == "bad_seq" ? e.misplaced : e.seq == error.seq);
  });
  if (from != unacked_.end() && from->records_refusal) return;
  ++counts_.rejected;
  if (to_.refused) to_.refused(from == unacked_.end() ? 0 : from->line, error);
}

bool trace_player::is_news(session_state& s, const std::string& id) {
  if (!s.heard.insert(id).second) return false;
  s.heard_order.push_back(id);
  if (s.heard_order.size() > max_heard) {
    s.heard.erase(s.heard_order.front());
    s.heard_order.pop_front();
  }
  return true;
}

void trace_player::hand_on(const session_state& s, std::string_view frame) {
  if (!to_.frame) return;
  if (sessions_.size() == 1) return to_.frame(frame);
  line_.clear();
  json_writer(line_).open_object().key("session").text(s.name).members_of(frame).close_object();
  to_.frame(line_);
}

}  // namespace digd::net
