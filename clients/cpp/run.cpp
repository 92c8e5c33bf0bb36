#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/entropy.h"
#include "base/json_writer.h"
#include "base/quote.h"
#include "base/random.h"
#include "base/thread_name.h"
#include "clients/cpp/conversation.h"
#include "clients/cpp/frames.h"
#include "digd/client.h"
#include "net/client.h"
#include "net/daemon_frame.h"

namespace digd::client {

namespace {

using std::chrono::steady_clock;

constexpr std::string_view default_address = "127.0.0.1:7344";
constexpr std::array<std::string_view, 4> modes{"off", "observe", "shadow", "enforce"};
constexpr milliseconds max_connect{2000};
constexpr milliseconds max_first_connection{250};  // also at the end of a run without a connection
constexpr milliseconds max_closing{200};
constexpr milliseconds first_pause{100}, max_pause{10'000};
constexpr std::size_t max_unwritten = 1u << 20;
constexpr std::size_t max_logged_errors = 64;
enum class random_purpose : std::uint8_t { jitter };
constexpr std::uint16_t closed_as_fatal = 4400, closed_as_replaced = 4409;  // docs/protocol.md

std::string from_environment(const std::string& chosen, const char* variable) {
  if (!chosen.empty()) return chosen;
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

net::server_address find_address(const options& from) {
  std::string text = from_environment(from.url, "DIGD_URL");
  if (text.empty()) text = default_address;
  std::string problem;
  std::optional<net::server_address> address = net::parse_address(text, problem);
  if (!address) throw std::invalid_argument(problem);
  address->authority = from.ca_file;
  address->program = {.user_agent = "digd-cpp/" DIGD_VERSION,
                      .address_option = "the option `url` or DIGD_URL",
                      .token_option = "the option `token` or DIGD_TOKEN",
                      .authority_option = "the option `ca_file`"};
  return *address;
}

std::string find_mode(const options& from) {
  std::string mode = from_environment(from.mode, "DIGD_MODE");
  if (!mode.empty() && std::find(modes.begin(), modes.end(), mode) == modes.end()) {
    throw std::invalid_argument(quoted(mode) + " is not a mode; expected off, observe, shadow or enforce");
  }
  return mode;
}

std::string make_run_id() { return "run-" + random_hex(12); }

}  // namespace

// The conversation behind a lock, and the threads that feed it.
class run::connection {
 public:
  explicit connection(options&& from);
  ~connection() { stop(); }

  std::vector<verdict> send(report message, bool wait);
  // A verdict or an intervention was not carried out.
  void add_failed_healing(std::string_view reason);
  std::string redacted(reported_part part, std::string_view text) const;
  bool flush(milliseconds within, bool at_end);
  std::string next_id(char kind, std::uint64_t number) const;
  void name_event(event& announced);

  template <class Read>
  auto read(const Read& from) const {
    const std::scoped_lock lock(mutex_);
    return from(conversation_);
  }

  const options chosen;
  const std::string id;
  std::atomic<std::uint64_t> events = 0, activations = 0;
  std::atomic<bool> is_finished = false;

 private:
  void stop();
  void ignore_healings(const ticket& waiting, std::vector<verdict>& verdicts);
  void wake_socket();  // call with the lock held
  void run_socket();
  std::string hello();
  void drive(net::websocket_client& socket);
  void hear(net::websocket_client& socket);
  bool follow_move();
  void lose(const std::string& problem, std::uint16_t close_code);
  bool pause();
  void run_handler();
  void handle(const intervention& healing);
  void log(const std::string& text) const;

  const std::string mode_;
  const net::server_address address_;
  net::server_address home_;  // of the next attempt: `address_`, or where the run has moved to
  const std::string token_;
  const std::string hello_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  conversation conversation_;
  bool is_unheld_ = false;  // whether it has logged that messages are no longer held
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> wake_posted_ = false;

  // Only the socket's thread uses these.
  boost::asio::io_context io_;
  bool is_missing_ = false;  // whether it has logged that the daemon is missing
  unsigned attempts_ = 0;    // to connect, since the last success
  random_stream jitter_{random_seed(), random_purpose::jitter, 0};
  std::set<std::string> logged_errors_;

  std::thread socket_thread_, handler_thread_;
};

run::connection::connection(options&& from)
    : chosen(std::move(from)),
      id(chosen.run.empty() ? make_run_id() : chosen.run),
      mode_(find_mode(chosen)),
      address_(find_address(chosen)),
      home_(address_),
      token_(from_environment(chosen.token, "DIGD_TOKEN")),
      hello_(hello_frame(chosen, id, mode_)),
      conversation_({.hold = chosen.hold, .max_added = chosen.max_added_ms, .fail_closed = chosen.fail_closed_ms},
                    chosen.max_buffer_bytes) {
  if (chosen.max_added_ms && chosen.max_added_ms->count() < 0) throw std::invalid_argument("max_added_ms is below 0");
  if (chosen.fail_closed_ms.count() < 0) throw std::invalid_argument("fail_closed_ms is below 0");
  if (mode_ == "off") {
    conversation_.close("off");
    return;
  }
  socket_thread_ = std::thread([this] { run_socket(); });
  handler_thread_ = std::thread([this] { run_handler(); });
}

void run::connection::stop() {
  if (!socket_thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    conversation_.close("off");
  }
  changed_.notify_all();
  boost::asio::post(io_, [] {});
  socket_thread_.join();
  handler_thread_.join();
}

void run::connection::log(const std::string& text) const {
  const std::string line = "digd: run " + id + ": " + text;
  if (chosen.log) return chosen.log(line);
  std::cerr << line + "\n";
}

// ---- for the program's threads

std::vector<verdict> run::connection::send(report message, bool wait) {
  std::unique_lock lock(mutex_);
  const std::shared_ptr<ticket> waiting = conversation_.add(std::move(message), steady_clock::now());
  wake_socket();
  while (wait && !waiting->verdicts) {
    changed_.wait_until(lock, waiting->deadline);
    conversation_.expire(waiting, steady_clock::now());
  }
  if (!waiting->verdicts) return {};
  const bool is_first_unheld = conversation_.no_hold_reason() == "max_added_ms" && !std::exchange(is_unheld_, true);
  std::vector<verdict> verdicts = *waiting->verdicts;
  if (!conversation_.follows_verdicts()) ignore_healings(*waiting, verdicts);
  lock.unlock();
  if (is_first_unheld) {
    log("holding messages has used up the " + std::to_string(chosen.max_added_ms->count()) +
        " ms that max_added_ms allows; from now on messages are delivered unchanged");
  }
  return verdicts;
}

// Call with the lock held.
void run::connection::ignore_healings(const ticket& waiting, std::vector<verdict>& verdicts) {
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (!verdicts[i].as_is.empty() || verdicts[i].action == action::deliver) continue;
    conversation_.add(delivery_report(verdicts[i].event, false, "as_is", "healing_failed"), steady_clock::now());
    std::vector<detection> detections = std::move(verdicts[i].detections);
    verdicts[i] = waiting.blocked[i].as_is("healing_failed");
    verdicts[i].detections = std::move(detections);
  }
  wake_socket();
}

void run::connection::add_failed_healing(std::string_view reason) {
  {
    const std::scoped_lock lock(mutex_);
    if (!conversation_.add_failed_healing()) return;
  }
  log(std::to_string(conversation::max_failed_healings) +
      " of digd's decisions could not be carried out (the last one: " + quoted(reason.substr(0, 500)) +
      "); from now on messages are delivered unchanged, and still reported");
}

std::string run::connection::redacted(reported_part part, std::string_view text) const {
  if (!chosen.redact || text.empty()) return std::string(text);
  constexpr std::string_view left_out = "digd: left out, the redaction hook threw";
  try {
    return chosen.redact(part, text);
  } catch (...) {
    return part == reported_part::error ? std::string(left_out) : quoted(left_out);
  }
}

// Sends only while the connection is up. At most one posted handler waits at a time.
void run::connection::wake_socket() {
  if (conversation_.state() != connection_state::up || wake_posted_.exchange(true)) return;
  boost::asio::post(io_, [this] { wake_posted_ = false; });
}

bool run::connection::flush(milliseconds within, bool at_end) {
  std::unique_lock lock(mutex_);
  const time_point begun = steady_clock::now();
  while (!conversation_.is_idle()) {
    const connection_state state = conversation_.state();
    const bool was_connected = conversation_.counters().connections > 0;
    if (state == connection_state::closed || (state == connection_state::down && !was_connected)) break;
    const bool may_connect_in_time = state == connection_state::up || (was_connected && !at_end);
    const time_point until = begun + (may_connect_in_time ? within : std::min(within, max_first_connection));
    if (steady_clock::now() >= until) break;
    changed_.wait_until(lock, until);
  }
  return conversation_.is_idle();
}

// ---- the socket's thread

void run::connection::run_socket() {
  name_this_thread("digd-client");
  while (!stopping_) {
    const auto socket = net::websocket_client::make(io_);
    const std::string refused = socket->open(home_, net::ingest_target(id), token_, max_connect);
    if (refused.empty()) {
      socket->send(hello());
      drive(*socket);
      if (stopping_) socket->close();
    }
    if (stopping_) {
      io_.restart();
      io_.run_for(max_closing);
    }
    socket->abort();
    if (!stopping_ && follow_move()) continue;
    lose(refused.empty() ? socket->close_reason() : refused, socket->close_code());
    if (!pause()) break;
  }
  io_.restart();
  io_.poll();
}

// After a first welcome it has `answered_seq`: the daemon sends the answers above it again.
std::string run::connection::hello() {
  const std::scoped_lock lock(mutex_);
  const std::optional<std::uint64_t> answered = conversation_.answered_seq();
  if (!answered) return hello_;
  std::string repeated;
  json_writer(repeated).open_object().members_of(hello_).key("answered_seq").integer(*answered).close_object();
  return repeated;
}

// Moves frames until the connection is lost or the run stops.
void run::connection::drive(net::websocket_client& socket) {
  while (!stopping_ && socket.is_open()) {
    {
      const std::scoped_lock lock(mutex_);
      if (conversation_.wants_reconnect() || conversation_.state() == connection_state::closed) return;
      while (socket.unwritten() < max_unwritten) {
        const std::optional<std::string> frame = conversation_.take_frame();
        if (!frame) break;
        socket.send(*frame);
      }
    }
    io_.restart();
    io_.run_one_until(steady_clock::now() + std::chrono::seconds(1));  // what the program sends wakes it up
    io_.poll();
    hear(socket);
  }
  hear(socket);
}

void run::connection::hear(net::websocket_client& socket) {
  while (const std::optional<std::string> text = socket.take()) {
    const std::optional<net::daemon_frame> frame = net::read_daemon_frame(*text);
    if (!frame) continue;
    std::optional<std::string> error;
    {
      const std::scoped_lock lock(mutex_);
      conversation_.receive(*frame, steady_clock::now());
      error = conversation_.take_error();
    }
    changed_.notify_all();
    if (frame->kind == net::daemon_frame_kind::welcome) {
      attempts_ = 0;
      if (std::exchange(is_missing_, false)) log("connected to " + home_.shown() + "; the run is watched");
    }
    if (error && logged_errors_.size() < max_logged_errors && logged_errors_.insert(frame->code).second) {
      log("the daemon refused " + std::string(frame->fatal ? "this client" : "a message") + " (" +
          quoted(std::string_view(*error).substr(0, 500)) + "); events are delivered unchanged");
    }
  }
}

// Returns whether the run has moved. If so, the next attempt connects to the daemon that has it. That daemon gets the
// token too, so the client follows no move from TLS to plain text. If the daemon cannot be reached, the following
// attempt uses the first address again.
bool run::connection::follow_move() {
  std::string problem;
  {
    const std::scoped_lock lock(mutex_);
    const std::optional<std::string> to = conversation_.take_move();
    if (!to) return false;
    std::optional<net::server_address> moved = net::parse_address(*to, problem);
    if (moved && (moved->tls || !address_.tls)) {
      home_ = std::move(*moved);
      home_.authority = address_.authority;
      home_.program = address_.program;
      if (conversation_.state() == connection_state::up) conversation_.disconnect(steady_clock::now());
      return true;
    }
    if (moved) problem = quoted(*to) + " is without TLS";
    conversation_.close("error:moved");
  }
  changed_.notify_all();
  log("another daemon has the run (" + problem + "); the run continues unwatched");
  return false;
}

void run::connection::lose(const std::string& problem, std::uint16_t close_code) {
  const net::server_address home = std::exchange(home_, address_);
  bool is_stopping = false;  // read before waiting calls return, since the program may end when they do
  {
    const std::scoped_lock lock(mutex_);
    is_stopping = stopping_;
    if (close_code == closed_as_replaced) conversation_.close("error:replaced");
    if (close_code == closed_as_fatal) conversation_.close("error:refused");
    conversation_.disconnect(steady_clock::now());
  }
  changed_.notify_all();
  if (is_stopping || std::exchange(is_missing_, true)) return;
  log("no daemon at " + home.shown() + " (" + (problem.empty() ? "reconnecting" : problem) +
      "); the run continues unwatched");
}

// Waits, with jitter, before the next attempt. False: the run stops, so there is none.
bool run::connection::pause() {
  const milliseconds full = std::min(max_pause, first_pause * (1 << std::min(attempts_++, 10u)));
  const milliseconds pause = full / 2 + full * jitter_.below(512) / 1024;
  std::unique_lock lock(mutex_);
  const auto is_over = [&] { return stopping_ || conversation_.state() == connection_state::closed; };
  changed_.wait_for(lock, pause, is_over);
  return !is_over();
}

// ---- the handler's thread

void run::connection::run_handler() {
  name_this_thread("digd-handler");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const std::optional<intervention> next = conversation_.take_intervention();
    if (!next) {
      changed_.wait(lock);
      continue;
    }
    lock.unlock();
    handle(*next);
    lock.lock();
  }
}

void run::connection::handle(const intervention& healing) {
  std::string_view applied = healing.action == action::reroute ? "rerouted" : "created";
  std::string reason;
  try {
    if (!chosen.on_intervention || !chosen.on_intervention(healing)) {
      applied = "unsupported";
      reason = chosen.on_intervention ? "the handler cannot" : "no handler";
    }
  } catch (const std::exception& error) {
    applied = "failed";
    reason = redacted(reported_part::error, error.what());
  } catch (...) {
    applied = "failed";
    reason = "the handler threw";
  }
  if (!reason.empty()) add_failed_healing(reason);
  send(delivery_report(healing.id, true, applied, reason), false);
}

// ---- the run

std::string run::connection::next_id(char kind, std::uint64_t number) const {
  return (chosen.session == "main" ? "" : chosen.session + "/") + kind + std::to_string(number);
}

void run::connection::name_event(event& announced) {
  if (announced.id.empty()) announced.id = next_id('e', ++events);
}

run::run(options options) : connection_(std::make_unique<connection>(std::move(options))) {}

run::~run() {
  finish(outcome::aborted);
  connection_->flush(connection_->chosen.linger, true);
}

const std::string& run::id() const { return connection_->id; }

verdict run::announce(event announced, std::string_view activation) {
  connection_->name_event(announced);
  announced.payload = connection_->redacted(reported_part::payload, announced.payload);
  const std::size_t max_bytes = connection_->read([](const conversation& c) { return c.message_bytes(); });
  return connection_->send(event_report(announced, activation, max_bytes), true).front();
}

std::string run::start(std::string_view agent, const std::vector<std::string>& inputs, std::string id) {
  if (id.empty()) id = connection_->next_id('v', ++connection_->activations);
  connection_->send(start_report(id, agent, inputs), false);
  return id;
}

std::vector<verdict> run::end(std::string_view activation, std::vector<event> outputs,
                              const std::vector<reaction>& reactions) {
  for (event& output : outputs) {
    connection_->name_event(output);
    output.payload = connection_->redacted(reported_part::payload, output.payload);
  }
  const std::size_t max_bytes = connection_->read([](const conversation& c) { return c.message_bytes(); });
  return connection_->send(end_report(activation, outputs, reactions, max_bytes), true);
}

void run::fail(std::string_view activation, std::string_view error) {
  connection_->send(failure_report(activation, connection_->redacted(reported_part::error, error)), false);
}

void run::applied(const verdict& carried_out, std::string_view as_is_reason) {
  if (!carried_out.as_is.empty()) return;
  if (!as_is_reason.empty()) {
    if (carried_out.action != action::deliver) connection_->add_failed_healing(as_is_reason);
    const std::string reason = connection_->redacted(reported_part::error, as_is_reason);
    connection_->send(delivery_report(carried_out.event, false, "as_is", reason), false);
  } else if (carried_out.action != action::deliver) {
    const std::string_view done = carried_out.action == action::reroute ? "rerouted" : "injected";
    connection_->send(delivery_report(carried_out.event, false, done, {}), false);
  }
}

void run::agent_joined(std::string_view agent) { connection_->send(agent_report("agent_joined", agent), false); }

void run::agent_left(std::string_view agent) { connection_->send(agent_report("agent_left", agent), false); }

void run::finish(outcome reached, std::string_view metrics) {
  if (connection_->is_finished.exchange(true)) return;
  connection_->send(finish_report(reached, connection_->redacted(reported_part::metrics, metrics)), false);
}

bool run::flush(milliseconds within) { return connection_->flush(within, false); }

bool run::connected() const {
  return connection_->read([](const conversation& c) { return c.state() == connection_state::up; });
}

std::string run::mode() const {
  return connection_->read([](const conversation& c) { return c.mode(); });
}

client::counters run::counters() const {
  return connection_->read([](const conversation& c) { return c.counters(); });
}

}  // namespace digd::client
