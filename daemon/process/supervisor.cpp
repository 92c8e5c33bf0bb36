#include "daemon/process/supervisor.h"

#include <unistd.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <spdlog/spdlog.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

namespace digd::daemon {

namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::chrono::microseconds status_every = std::chrono::seconds(10);
constexpr int pings_in_an_interval = 3;

volatile std::sig_atomic_t early_reload = 0;

class watch {
 public:
  watch(asio::io_context& on, asio::signal_set& signals, service_manager& manager, heartbeat beats,
        const supervised& supervised)
      : manager_(manager),
        beats_(std::move(beats)),
        supervised_(supervised),
        every_(manager.watchdog().count() > 0 ? std::min(manager.watchdog() / pings_in_an_interval, status_every)
                                              : status_every),
        signals_(signals),
        timer_(on) {}

  void start() {
    wait_for_signal();
    tick();
  }

 private:
  void wait_for_signal() {
    signals_.async_wait([this](error_code ec, int number) {
      if (ec) return;
      if (number != SIGHUP) {
        spdlog::info("stopping signal={}", number);
        stopped_ = true;
        timer_.cancel();
        return;
      }
      supervised_.reload();
      wait_for_signal();
    });
  }

  void tick() {
    if (beats_.all_answered()) {
      hung_ = false;
      if (manager_.watchdog().count() > 0) manager_.alive();
      beats_.ask();
    } else if (!std::exchange(hung_, true)) {
      spdlog::error("engine_thread_hangs: digd sends the watchdog no more pings");
    }
    if (std::string now = supervised_.status(); now != message_) {
      manager_.status(now);
      message_ = std::move(now);
    }
    timer_.expires_after(every_);
    timer_.async_wait([this](error_code ec) {
      if (!ec && !stopped_) tick();  // a tick that is queued already is not cancelled
    });
  }

  service_manager& manager_;
  heartbeat beats_;
  const supervised& supervised_;
  const std::chrono::microseconds every_;
  asio::signal_set& signals_;
  asio::steady_timer timer_;
  std::string message_;
  bool hung_ = false, stopped_ = false;
};

}  // namespace

heartbeat::heartbeat(std::vector<asio::io_context*> loops) : loops_(std::move(loops)) {
  for (std::size_t i = 0; i < loops_.size(); ++i) answers_.push_back(std::make_shared<std::atomic<std::uint64_t>>(0));
}

void heartbeat::ask() {
  ++asked_;
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    asio::post(*loops_[i], [answer = answers_[i], asked = asked_] { answer->store(asked, std::memory_order_relaxed); });
  }
}

bool heartbeat::all_answered() const {
  return std::all_of(answers_.begin(), answers_.end(),
                     [this](const auto& answer) { return answer->load(std::memory_order_relaxed) == asked_; });
}

void expect_signals() {
  const auto leave = [](int) { ::_exit(0); };
  std::signal(SIGTERM, leave);
  std::signal(SIGINT, leave);
  std::signal(SIGHUP, [](int) { early_reload = 1; });
}

caught_signals::caught_signals() : set_(waits_, SIGTERM, SIGINT, SIGHUP) {}

caught_signals::~caught_signals() {
  set_.clear();
  std::signal(SIGHUP, SIG_IGN);  // a late reload must not end the process
}

void supervise(service_manager& manager, heartbeat beats, const supervised& supervised, caught_signals& signals) {
  watch watches(signals.waits_, signals.set_, manager, std::move(beats), supervised);
  watches.start();
  if (early_reload != 0) {
    early_reload = 0;
    supervised.reload();
  }
  signals.waits_.run();
  manager.stopping();
}

}  // namespace digd::daemon
