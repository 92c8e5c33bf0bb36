#include "daemon/runs/archiver.h"

#include <utility>

namespace digd::daemon {

namespace {

constexpr std::chrono::milliseconds retry_delay{2};

}  // namespace

archiver::archiver(boost::asio::io_context& on, std::unique_ptr<archive::producer> to,
                   std::function<void()> on_relieved)
    : to_(std::move(to)), on_relieved_(std::move(on_relieved)), timer_(on.get_executor()) {}

void archiver::push(const archive::plain_entry& entry) {
  open_parcel().add(entry);
  if (!in_batch_ || open_->is_full()) hand_over();
}

void archiver::push(archive::entry_ptr entry) {
  open_parcel().add(std::move(entry));
  hand_over();
}

void archiver::end_batch() {
  in_batch_ = false;
  if (open_) hand_over();
}

archive::parcel& archiver::open_parcel() {
  if (!open_) open_ = to_->make_parcel();
  return *open_;
}

void archiver::hand_over() {
  if (backlog_.empty() && to_->try_push(open_)) return;
  backlog_bytes_ += open_->bytes();
  backlog_size_ += open_->entries();
  delayed_ += open_->entries();
  backlog_.push_back(std::move(open_));
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
    const std::size_t bytes = backlog_.front()->bytes(), entries = backlog_.front()->entries();
    if (!to_->try_push(backlog_.front())) return retry_soon();
    backlog_bytes_ -= bytes;
    backlog_size_ -= entries;
    backlog_.pop_front();
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
