#include "daemon/runs/archiver.h"

#include <utility>

namespace digd::daemon {

namespace {
constexpr std::chrono::milliseconds retry_after{2};
}

archiver::archiver(boost::asio::io_context& on, std::unique_ptr<archive::producer> to, std::function<void()> relieved)
    : to_(std::move(to)), relieved_(std::move(relieved)), timer_(on.get_executor()) {}

void archiver::push(archive::entry_ptr entry) {
  if (backlog_.empty() && to_->try_push(entry)) return;
  backlog_bytes_ += entry->bytes();
  backlog_.push_back(std::move(entry));
  backlog_size_ = backlog_.size();
  ++kept_back_;
  if (backlog_bytes_ > most_backlog_bytes) congested_ = true;
  retry_soon();
}

void archiver::retry_soon() {
  if (waiting_) return;
  waiting_ = true;
  timer_.expires_after(retry_after);
  timer_.async_wait([this](boost::system::error_code ec) {
    waiting_ = false;
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
  if (congested_.exchange(false)) relieved_();
  if (const auto done = std::exchange(empty_, nullptr)) done();
}

void archiver::when_empty(std::function<void()> done) {
  if (backlog_.empty()) return done();
  empty_ = std::move(done);
}

void archiver::stop() {
  empty_ = nullptr;
  timer_.cancel();
}

}  // namespace digd::daemon
