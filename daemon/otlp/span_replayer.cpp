#include "daemon/otlp/span_replayer.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "base/quote.h"
#include "daemon/runs/engine_thread.h"
#include "daemon/runs/registry.h"
#include "daemon/runs/run_host.h"

namespace digd::daemon {

span_replayer::span_replayer(engine_thread& owner, listener to)
    : owner_(owner), to_(std::move(to)), again_(owner.context().get_executor()) {}

void span_replayer::open(std::string hello, std::vector<std::string> lines) {
  boost::asio::post(owner_.context(),
                    [self = shared_from_this(), hello = std::move(hello), lines = std::move(lines)]() mutable {
                      self->received_lines_ = lines.size();
                      self->lines_.assign(std::make_move_iterator(lines.begin()), std::make_move_iterator(lines.end()));
                      self->hello_ = std::move(hello);
                      self->join();
                    });
}

void span_replayer::join() {
  if (over_) return;
  join_request request;
  const refusal_note note = owner_.hello_decoder().decode_hello(hello_, request.greeting);
  if (note) return give_up(note.text);
  request.frame = hello_;
  request.client = weak_from_this();
  request.home = &owner_;
  owner_.runs().join(std::move(request));
}

// digd has acknowledged the spans, so it must not drop them because there is no room for the run right now.
void span_replayer::join_later() {
  again_.expires_after(std::chrono::seconds(1));
  again_.async_wait([me = weak_from_this()](boost::system::error_code ec) {
    if (const auto self = me.lock(); self && !ec) self->join();
  });
}

void span_replayer::send(std::vector<std::string> lines) {
  boost::asio::post(owner_.context(), [self = shared_from_this(), lines = std::move(lines)]() mutable {
    self->received_lines_ += lines.size();
    self->lines_.insert(self->lines_.end(), std::make_move_iterator(lines.begin()),
                        std::make_move_iterator(lines.end()));
    self->pump_soon();
  });
}

void span_replayer::close() {
  boost::asio::post(owner_.context(), [self = shared_from_this()] {
    self->over_ = true;
    if (self->host_) run_host::release_slot(std::exchange(self->host_, nullptr), self->slot_);
  });
}

void span_replayer::on_joined(join_result&& result) {
  if (result.refused && result.refused.code == refusal::over_limit && ++tries_ < max_tries) return join_later();
  if (result.refused) return give_up(result.refused.text);
  if (over_) return run_host::release_slot(std::move(result.host), result.slot);
  const std::uint64_t acked = result.acked_seq;
  if (acked > received_lines_) {
    run_host::release_slot(std::move(result.host), result.slot);
    return give_up("the run has messages made from other spans");
  }
  host_ = std::move(result.host);
  slot_ = result.slot;
  credits_ = result.credits;
  lines_.erase(lines_.begin(), lines_.begin() + static_cast<std::ptrdiff_t>(acked));
  acked_ = acked;
  if (acked > 0) to_.durable(acked);
  pump_soon();
}

void span_replayer::on_frame(const client_frame& frame) {
  if (frame.type == ingest::frame_type::ack) {
    acked_ = std::max(acked_, frame.acked_seq);
    to_.durable(acked_);
    return pump_soon();
  }
  if (frame.type != ingest::frame_type::error) return;
  std::uint64_t suppressed = 0;
  if (owner_.may_log(suppressed)) {
    spdlog::warn("otlp_refused answer={} suppressed={}", digd::quoted(frame.text), suppressed);
  }
  if (frame.code == refusal::run_closed) give_up("the run has ended");
}

void span_replayer::on_flow_state(const flow_state& now) {
  flow_state_ = now;
  pump_soon();
}

void span_replayer::on_replaced() { give_up("another client took over this session"); }
void span_replayer::on_deleted() { give_up("the run was deleted"); }

void span_replayer::pump_soon() {
  if (over_ || !host_ || lines_.empty() || std::exchange(pumping_, true)) return;
  boost::asio::post(owner_.context(), [self = shared_from_this()] {
    self->pumping_ = false;
    self->pump();
  });
}

void span_replayer::pump() {
  const auto may_send = [this] {
    return host_ && !over_ && !lines_.empty() && !flow_state_.congested &&
           handed_over_ - flow_state_.handled + flow_state_.outstanding < credits_;
  };
  for (std::size_t n = 0; n < max_batch && may_send(); ++n) {
    const std::string line = std::move(lines_.front());
    lines_.pop_front();
    ++handed_over_;
    const std::shared_ptr<run_host> host = host_;  // an answer may reset `host_`
    host->receive(slot_, line, std::chrono::steady_clock::now());
  }
  if (may_send()) pump_soon();
}

void span_replayer::give_up(std::string problem) {
  if (std::exchange(over_, true)) return;
  if (host_) run_host::release_slot(std::exchange(host_, nullptr), slot_);
  to_.gone(std::move(problem));
}

}  // namespace digd::daemon
