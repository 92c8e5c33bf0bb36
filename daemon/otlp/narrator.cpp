#include "daemon/otlp/narrator.h"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <charconv>
#include <chrono>
#include <utility>

#include "daemon/engine_thread.h"
#include "daemon/log.h"
#include "daemon/registry.h"
#include "daemon/run_host.h"
#include "engine/quote.h"

namespace digd::daemon {

namespace {

// The number behind `"name":` in a frame that we wrote ourselves; 0 if there is none.
std::uint64_t number_in(std::string_view frame, std::string_view name) {
  const std::size_t at = frame.find(name);
  std::uint64_t value = 0;
  if (at != std::string_view::npos) std::from_chars(frame.data() + at + name.size(), frame.data() + frame.size(), value);
  return value;
}

}  // namespace

narrator::narrator(engine_thread& owner, listener to)
    : owner_(owner), to_(std::move(to)), again_(owner.context().get_executor()) {}

void narrator::open(std::string hello, std::vector<std::string> said) {
  boost::asio::post(owner_.context(), [self = shared_from_this(), hello = std::move(hello), said = std::move(said)]() mutable {
    self->said_ = said.size();
    self->lines_.assign(std::make_move_iterator(said.begin()), std::make_move_iterator(said.end()));
    self->hello_ = std::move(hello);
    self->join();
  });
}

void narrator::join() {
  if (over_) return;
  join_request request;
  const refusal_note note = owner_.decoder().decode_hello(hello_, request.greeting);
  if (note) return give_up(note.text);
  request.frame = hello_;
  request.who = weak_from_this();
  request.home = &owner_;
  owner_.runs().join(std::move(request));
}

// What was acknowledged to the sender of the spans is not dropped because there is no room just now.
void narrator::join_later() {
  again_.expires_after(std::chrono::seconds(1));
  again_.async_wait([me = weak_from_this()](boost::system::error_code ec) {
    if (const auto self = me.lock(); self && !ec) self->join();
  });
}

void narrator::say(std::vector<std::string> lines) {
  boost::asio::post(owner_.context(), [self = shared_from_this(), lines = std::move(lines)]() mutable {
    self->said_ += lines.size();
    self->lines_.insert(self->lines_.end(), std::make_move_iterator(lines.begin()), std::make_move_iterator(lines.end()));
    self->pump_soon();
  });
}

void narrator::close() {
  boost::asio::post(owner_.context(), [self = shared_from_this()] {
    self->over_ = true;
    if (self->host_) run_host::vacate(std::exchange(self->host_, nullptr), self->seat_);
  });
}

void narrator::on_joined(join_result&& result) {
  if (result.refused && result.refused.code == refusal::over_limit && ++tries_ < most_tries) return join_later();
  if (result.refused) return give_up(result.refused.text);
  if (over_) return run_host::vacate(std::move(result.host), result.seat);
  const std::uint64_t acked = number_in(result.welcome, "\"acked_seq\":");
  if (acked > said_) {
    run_host::vacate(std::move(result.host), result.seat);
    return give_up("the run has been told before, and of other spans");
  }
  host_ = std::move(result.host);
  seat_ = result.seat;
  credits_ = result.credits;
  lines_.erase(lines_.begin(), lines_.begin() + static_cast<std::ptrdiff_t>(acked));
  acked_ = acked;
  if (acked > 0) to_.durable(acked);
  pump_soon();
}

void narrator::on_frame(std::string_view frame) {
  if (frame.starts_with("{\"type\":\"ack\"")) {
    acked_ = std::max(acked_, number_in(frame, "\"seq\":"));
    to_.durable(acked_);
    return pump_soon();
  }
  if (!frame.starts_with("{\"type\":\"error\"")) return;
  std::uint64_t kept_back = 0;
  if (owner_.may_complain(kept_back)) spdlog::warn("otlp_refused answer={} kept_back={}", quoted(frame), kept_back);
  if (frame.find("\"run_closed\"") != std::string::npos) give_up("the run has ended");
}

void narrator::on_standing(const standing& now) {
  standing_ = now;
  pump_soon();
}

void narrator::on_replaced() { give_up("another client speaks for this session"); }
void narrator::on_deleted() { give_up("the run was deleted"); }

void narrator::pump_soon() {
  if (over_ || !host_ || lines_.empty() || std::exchange(pumping_, true)) return;
  boost::asio::post(owner_.context(), [self = shared_from_this()] {
    self->pumping_ = false;
    self->pump();
  });
}

void narrator::pump() {
  const auto may_speak = [this] {
    return host_ && !over_ && !lines_.empty() && !standing_.congested &&
           handed_over_ - standing_.handled + standing_.outstanding < credits_;
  };
  for (std::size_t n = 0; n < most_at_once && may_speak(); ++n) {
    const std::string line = std::move(lines_.front());
    lines_.pop_front();
    ++handed_over_;
    const std::shared_ptr<run_host> host = host_;  // what it answers may let go of it
    host->receive(seat_, line, std::chrono::steady_clock::now());
  }
  if (may_speak()) pump_soon();
}

void narrator::give_up(std::string why) {
  if (std::exchange(over_, true)) return;
  if (host_) run_host::vacate(std::exchange(host_, nullptr), seat_);
  to_.gone(std::move(why));
}

}  // namespace digd::daemon
