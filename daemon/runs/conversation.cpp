#include "daemon/runs/conversation.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/quote.h"
#include "daemon/runs/engine_threads.h"
#include "daemon/runs/registry.h"
#include "daemon/runs/run_host.h"
#include "daemon/runs/stored_answers.h"
#include "ingest/protocol/encode.h"

namespace digd::daemon {

namespace {

using net::close_code;
constexpr std::chrono::seconds max_hello_time{10};
constexpr std::size_t max_unread_bytes = 1u << 20;   // beyond it the client's messages wait
constexpr std::size_t max_waiting_bytes = 4u << 20;  // of its frames: posted to the run, or held there

bool is_fatal(refusal code) {
  return code == refusal::unauthorized || code == refusal::unsupported_protocol || code == refusal::hello_conflict;
}

}  // namespace

conversation::conversation(engine_thread& home, const engine_threads& threads, std::optional<std::string> expected_run,
                           grant_ptr grant, ticket_ptr of_token, connection_ticket ticket)
    : home_(home),
      threads_(threads),
      expected_run_(std::move(expected_run)),
      grant_(std::move(grant)),
      of_token_(std::move(of_token)),
      ticket_(std::move(ticket)),
      hello_deadline_(home.context().get_executor()),
      rate_timer_(home.context().get_executor()),
      quiet_timer_(home.context().get_executor()) {}

conversation::~conversation() { home_.connections().remove(this); }

void conversation::on_open() {
  watch_memory();
  watch_hello();
}

// ---- memory

void conversation::watch_memory() {
  if (!ticket_->memory()) return;
  if (grant_) ticket_->memory()->allow(grant_->memory());
  ticket_->memory()->on_close([&context = home_.context(), me = weak_from_this()] {
    boost::asio::post(context, [me] {
      if (const auto self = me.lock()) self->close_for_memory();
    });
  });
}

void conversation::charge(std::size_t& before, std::size_t bytes) {
  const std::size_t was = std::exchange(before, bytes);
  if (!ticket_->memory()) return;
  if (bytes > was) ticket_->memory()->add(bytes - was);
  if (bytes < was) ticket_->memory()->remove(was - bytes);
}

void conversation::on_memory(std::size_t partial, std::size_t unwritten) {
  charge(charged_partial_, partial);
  if (ticket_->memory()) ticket_->memory()->set_unwritten(unwritten);
}

// Loses no message: the client sends its unacknowledged messages again.
void conversation::close_for_memory() {
  if (host_) run_host::drop_held(host_, slot_);
  withdraw_hello();
  if (const auto session = session_.lock()) session->close_and_drop(close_code::memory, "too much memory is in use");
}

// A hello may wait long for its run, for example while the disk hangs.
void conversation::withdraw_hello() {
  if (state_ != state::joining) return;
  boost::asio::post(owner_->context(), [owner = owner_, run = run_, me = std::weak_ptr<run_client>(weak_from_this())] {
    owner->runs().withdraw(run, me);
  });
}

// Posts the frame to the run, on the run's thread.
void conversation::post(std::string&& frame, time_point read_at) {
  std::optional<charged_frame> charged;
  if (ticket_->memory()) charged.emplace(ticket_->memory(), frame.size());
  boost::asio::post(owner_->context(), [host = host_, slot = slot_, copy = std::move(frame), read_at,
                                        charged = std::move(charged)] { host->receive(slot, copy, read_at); });
}

void conversation::watch_hello() {
  hello_deadline_.expires_after(max_hello_time);
  hello_deadline_.async_wait([me = weak_from_this()](boost::system::error_code ec) {
    const auto self = me.lock();
    if (ec || !self || self->state_ == state::joined) return;
    if (self->state_ == state::joining) return self->watch_hello();  // its run is being read back
    if (const auto session = self->session_.lock()) session->close(close_code::too_slow, "no valid hello within 10 s");
  });
}

// ---- frames in

bool conversation::on_text(std::string_view frame, time_point read_at) {
  if (state_ == state::greeting) {
    const bool may_read_more = greet(frame);
    return !exceeds_rate(frame.size()) && may_read_more;
  }
  if (state_ != state::joined || is_unauthorized()) return false;
  ++posted_;
  last_message_ = std::max(last_message_, read_at);
  if (owner_ == &home_) {
    home_.records().begin_batch();
    host_->receive(slot_, frame, read_at);
  } else {
    post(std::string(frame), read_at);
  }
  return may_read_more(frame.size());
}

bool conversation::on_binary(time_point read_at) {
  // A binary frame is not JSON: it uses up the next seq, like text that is not JSON.
  return on_text({}, read_at);
}

bool conversation::on_too_large(std::size_t bytes, time_point read_at) {
  if (state_ == state::greeting) {
    refusal_note note;
    note.consider(refusal::too_large, "", "the first frame has " + std::to_string(bytes) + " bytes; hello comes first");
    refuse(note);
    return !exceeds_rate(bytes);
  }
  if (state_ != state::joined || is_unauthorized()) return false;
  ++posted_;
  last_message_ = std::max(last_message_, read_at);
  if (owner_ == &home_) {
    host_->receive_too_large(slot_, bytes);
  } else {
    boost::asio::post(owner_->context(), [host = host_, slot = slot_, bytes] { host->receive_too_large(slot, bytes); });
  }
  return may_read_more(bytes);
}

void conversation::on_too_many_pings() { home_.counts().rate_paused.add(); }

void conversation::on_turn_end() { home_.records().end_batch(); }

// False: stop reading until the run's thread has answered.
bool conversation::greet(std::string_view frame) {
  join_request request;
  refusal_note note = home_.hello_decoder().decode_hello(frame, request.greeting);
  if (!note && expected_run_ && *expected_run_ != request.greeting.run) {
    note.consider(refusal::hello_conflict, "run",
                  "the connection was opened for the run " + digd::quoted(*expected_run_));
  }
  if (!note && grant_ && (grant_->is_revoked() || !grant_->covers(request.greeting.run))) {
    note.consider(refusal::unauthorized, "run", "the token " + digd::quoted(grant_->name()) + " is not for this run");
  }
  if (note) {
    refuse(note);
    return true;
  }
  state_ = state::joining;
  log_name_ = "run=" + digd::quoted(request.greeting.run) + " session=" + digd::quoted(request.greeting.session);
  run_ = request.greeting.run;
  request.frame = frame;
  request.client = weak_from_this();
  request.home = &home_;
  request.grant = grant_;
  request.memory = ticket_->memory();
  charge(charged_hello_, 2 * frame.size());  // as received, and decoded
  owner_ = &threads_.owner_of(request.greeting.run);
  boost::asio::dispatch(owner_->context(), [owner = owner_, request = std::move(request)]() mutable {
    owner->runs().join(std::move(request));
  });
  return state_ == state::joined ? may_read() : state_ == state::greeting;
}

void conversation::refuse(const refusal_note& note) {
  const auto session = session_.lock();
  if (!session) return;
  const bool fatal = is_fatal(note.code);
  std::string frame;
  ingest::encode_error(frame, note, 0, fatal);
  session->send(frame);
  std::uint64_t suppressed = 0;
  if (home_.may_log(suppressed)) {
    spdlog::warn("hello_refused code={} field={} suppressed={}", to_string(note.code), digd::quoted(note.field),
                 suppressed);
  }
  if (fatal) session->close(close_code::fatal_error, to_string(note.code));
}

// ---- from the run

void conversation::on_joined(join_result&& result) {
  const auto session = session_.lock();
  if (state_ != state::joining || !session) {  // the connection closed while the run answered
    if (result.host) run_host::release_slot(std::move(result.host), result.slot);
    return;
  }
  charge(charged_hello_, 0);
  if (!result.moved_to.empty()) return send_elsewhere(result.moved_to);
  if (result.refused) {
    state_ = state::greeting;
    refuse(result.refused);
    return is_rate_limited_ ? void() : session->resume();
  }
  state_ = state::joined;
  hello_deadline_.cancel();
  host_ = std::move(result.host);
  if (ticket_->memory()) ticket_->memory()->join(host_->memory());
  slot_ = result.slot;
  credits_ = result.credits;
  counted_ = true;
  home_.counts().sessions_opened.add();
  session->limit_messages(result.message_bytes);
  session->send(result.welcome);
  spdlog::info("session_open {} thread={} home={}", log_name_, owner_->index(), home_.index());
  max_quiet_ = std::chrono::milliseconds(home_.services().conditions.settings.now()->connections.quiet_ms);
  last_message_ = std::chrono::steady_clock::now();
  if (max_quiet_.count() > 0) watch_quiet();
  if (result.missed) {
    missed_ = std::move(result.missed);
    return read_missed_answers();
  }
  if (may_read()) session->resume();
}

// A client that digd does not read, or that waits for acks, does not count as quiet.
void conversation::watch_quiet() {
  quiet_timer_.expires_at(last_message_ + max_quiet_);
  quiet_timer_.async_wait([me = weak_from_this()](boost::system::error_code ec) {
    const auto self = me.lock();
    if (ec || !self || self->state_ != state::joined) return;
    const auto now = std::chrono::steady_clock::now();
    if (!self->may_read()) self->last_message_ = now;
    if (now - self->last_message_ < self->max_quiet_) return self->watch_quiet();
    self->home_.counts().quiet_sessions.add();
    if (const auto session = self->session_.lock()) {
      session->close(close_code::quiet,
                     "no message for " + std::to_string(self->max_quiet_.count()) + " ms; reconnect when there is one");
    }
  });
}

void conversation::on_frame(const client_frame& frame) {
  // After a revocation the client gets no more of the run, even if it sends nothing.
  if (state_ != state::joined || is_unauthorized()) return;
  if (const auto session = session_.lock()) session->send(frame.text);
}

void conversation::on_flow_state(const flow_state& now) {
  flow_state_ = now;
  if (state_ != state::joined || !may_read()) return;
  if (const auto session = session_.lock()) session->resume();
}

// The next part of the answers that the client missed.
void conversation::read_missed_answers() {
  reading_missed_ = true;
  const run_storage& storage = home_.services().storage;
  boost::asio::post(storage.rebuilder, [me = weak_from_this(), home = &home_, range = *missed_]() mutable {
    auto frames = read_answers(*home->services().storage.archive, range);
    if (!frames) spdlog::error("answers_unreadable run={} reason={}", range.run_number, frames.error().message());
    // digd then goes on as if there were no more answers. At its deadline the client delivers the events that still
    // wait for a verdict, unchanged. If digd closed the connection, the client would only come back and ask again.
    if (!frames) frames = std::vector<std::string>();
    boost::asio::post(home->context(), [me, range = std::move(range), frames = std::move(*frames)]() mutable {
      if (const auto self = me.lock()) self->on_missed_answers(std::move(range), frames);
    });
  });
}

void conversation::on_missed_answers(archive::answer_range read, const std::vector<std::string>& frames) {
  reading_missed_ = false;
  const auto session = session_.lock();
  if (state_ != state::joined || !missed_ || !session) return;
  if (frames.empty()) {
    missed_.reset();
    if (may_read()) session->resume();
    return;
  }
  missed_ = std::move(read);
  for (const std::string& frame : frames) session->send(frame);
}

void conversation::on_drained() {
  if (state_ != state::joined) return;
  if (missed_) return reading_missed_ ? void() : read_missed_answers();
  const auto session = session_.lock();
  if (session && may_read()) session->resume();
}

bool conversation::may_read() const {
  if (missed_) return false;
  if (const auto session = session_.lock(); session && session->unwritten() > max_unread_bytes) return false;
  if (ticket_->memory() && ticket_->memory()->waiting() > max_waiting_bytes) return false;
  return !is_rate_limited_ && !flow_state_.congested &&
         posted_ - flow_state_.handled + flow_state_.outstanding <= credits();
}

std::uint64_t conversation::credits() const {
  const overload_state& overload = home_.services().conditions.overload;
  if (!overload.is_on(overload_action::shrink_credits)) return credits_;
  if (!overload.is_on_for(overload_action::shrink_credits, grant_ ? grant_->name() : std::string())) return credits_;
  return std::max<std::uint64_t>(credits_ / overload_state::credit_share, 1);
}

// A token that was revoked ends its connections.
bool conversation::is_unauthorized() {
  if (!grant_ || !grant_->is_revoked()) return false;
  refusal_note note;
  note.consider(refusal::unauthorized, "", "the token " + digd::quoted(grant_->name()) + " is no longer valid");
  refuse(note);
  return true;
}

// Stops reading until the token's rate allows it again. Meanwhile frames wait in the socket.
bool conversation::exceeds_rate(std::size_t bytes) {
  if (!grant_) return false;
  const auto wait = grant_->take(std::chrono::steady_clock::now(), bytes);
  if (wait.count() == 0) return false;
  is_rate_limited_ = true;
  home_.counts().rate_paused.add();
  rate_timer_.expires_after(wait);
  rate_timer_.async_wait([me = weak_from_this()](boost::system::error_code ec) {
    const auto self = me.lock();
    if (ec || !self) return;
    self->is_rate_limited_ = false;
    const auto session = self->session_.lock();
    const bool may_resume = self->state_ == state::greeting || (self->state_ == state::joined && self->may_read());
    if (session && may_resume) session->resume();
  });
  return true;
}

bool conversation::may_read_more(std::size_t bytes) {
  if (exceeds_rate(bytes)) return false;
  if (may_read()) return true;
  home_.counts().credits_paused.add();
  return false;
}

void conversation::on_deleted() {
  if (state_ != state::joined) return;
  state_ = state::closed;
  host_.reset();
  const auto session = session_.lock();
  if (!session) return;
  refusal_note note;
  note.consider(refusal::run_closed, "run", "the run was deleted by the operator");
  std::string frame;
  ingest::encode_error(frame, note, 0, true);
  session->send(frame);
  session->close(close_code::fatal_error, "the run was deleted");
}

void conversation::on_moved(const std::string& to) {
  if (state_ == state::joined) send_elsewhere(to);
}

void conversation::send_elsewhere(const std::string& to) {
  state_ = state::closed;
  host_.reset();
  const auto session = session_.lock();
  if (!session) return;
  std::string frame;
  ingest::encode_moved(frame, to);
  session->send(frame);
  session->close(close_code::fatal_error, to_string(refusal::moved));
}

void conversation::on_replaced() {
  if (state_ != state::joined) return;
  state_ = state::closed;
  host_.reset();
  if (const auto session = session_.lock()) {
    session->close(close_code::replaced, "replaced by a newer connection of this session");
  }
}

// ---- the end

void conversation::on_closed(std::string_view reason) {
  home_.records().end_batch();  // closed within a turn
  hello_deadline_.cancel();
  rate_timer_.cancel();
  quiet_timer_.cancel();
  if (reason.starts_with(net::slow_client_words)) home_.counts().slow_clients.add();
  if (reason.starts_with(net::idle_words)) home_.counts().idle_connections.add();
  if (!log_name_.empty()) spdlog::info("session_closed {} reason={}", log_name_, digd::quoted(reason));
  leave();
}

void conversation::leave() {
  if (std::exchange(counted_, false)) home_.counts().sessions_closed.add();
  withdraw_hello();
  state_ = state::closed;
  if (host_) run_host::release_slot(std::exchange(host_, nullptr), slot_);
}

void conversation::shut_down() {
  if (const auto session = session_.lock()) session->close(close_code::going_away, "the daemon stops");
}

void conversation::abort() {
  if (const auto session = session_.lock()) session->abort();
}

}  // namespace digd::daemon
