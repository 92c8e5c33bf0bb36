#include "daemon/api/read_pool.h"

#include <spdlog/spdlog.h>
#include <exception>
#include <memory>
#include <utility>

#include "base/quote.h"
#include "base/thread_name.h"

namespace digd::daemon {

namespace {

http_response unreadable(const std::string& why) {
  spdlog::error("archive_unreadable why={}", digd::quoted(why));
  return archive_unreadable(why);
}

// The client gets a response even if the work throws.
http_response perform(const read_pool::work& work, archive::browser& with) {
  try {
    return work(with);
  } catch (const std::exception& e) {
    return unreadable(e.what());
  }
}

}  // namespace

read_pool::read_pool(std::string archive_path) : path_(std::move(archive_path)) {
  for (std::size_t i = 0; i < threads; ++i)
    threads_.emplace_back([this, i] {
      name_this_thread("read-" + std::to_string(i));
      serve();
    });
}

bool read_pool::submit(work work, done then, std::size_t max) {
  {
    std::lock_guard guard(mutex_);
    if (stopping_ || tasks_.size() >= max) return false;
    tasks_.push_back({std::move(work), std::move(then)});
  }
  wake_.notify_one();
  return true;
}

std::size_t read_pool::waiting() const {
  std::lock_guard guard(mutex_);
  return tasks_.size();
}

void read_pool::serve() {
  std::unique_ptr<archive::browser> reads;  // opened when first needed
  for (;;) {
    task next;
    {
      std::unique_lock guard(mutex_);
      wake_.wait(guard, [this] { return stopping_ || !tasks_.empty(); });
      if (stopping_) return;
      next = std::move(tasks_.front());
      tasks_.pop_front();
    }
    std::string why;
    if (!reads) {
      if (auto opened = archive::browser::open(path_, &why)) reads = std::move(*opened);
    }
    next.then(reads ? perform(next.work, *reads) : unreadable(why));
  }
}

void read_pool::stop() {
  {
    std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  threads_.clear();
  tasks_.clear();
}

}  // namespace digd::daemon
