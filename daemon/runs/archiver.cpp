#include "daemon/runs/archiver.h"

#include <utility>

namespace digd::daemon {

namespace {

constexpr std::chrono::milliseconds retry_delay{2};

}  // namespace

archiver::archiver(boost::asio::io_context& on, std::unique_ptr<archive::producer> to,
                   std::function<void()> on_relieved)
    : to_(std::move(to)), on_relieved_(std::move(on_relieved)), timer_(on.get_executor()) {}

void archiver::push(archive::entry_ptr entry) {
  if (backlog_.empty() && to_->try_push(entry)) return;
  backlog_bytes_ += entry->bytes();
  backlog_.push_back(std::move(entry));
  backlog_size_ = backlog_.size();
  ++delayed_;
  if (backlog_bytes_ > max_backlog_bytes) congested_ = true;
  retry_soon();
}

void archiver::retry_soon() {
  if (retrying_) return;
  retrying_ = true;
  timer_.expires_after(retry_delay);
  timer_.async_wait([this](boost::system::error_code ec) {
    retrying_ = false;
    if (!ec) retry();
  });
}

void archiver::retry() {
  while (!backlog_.empty()) {
    const std::size_t bytes = backlog_.front()->bytes();
    if (!to_->try_push(backlog_.front())) return retry_soon();
    backlog_bytes_ -= bytes;
    backlog_.pop_front();
    backlog_size_ = backlog_.size();
  }
  if (congested_.exchange(false)) on_relieved_();
  if (const auto done = std::exchange(on_empty_, nullptr)) done();
}

void archiver::when_empty(std::function<void()> done) {
  if (backlog_.empty()) return done();
  on_empty_ = std::move(done);
}

void archiver::stop() {
  on_empty_ = nullptr;
  timer_.cancel();
}

}  // namespace digd::daemon
