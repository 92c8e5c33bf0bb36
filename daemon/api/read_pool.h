// Threads that read the archive for HTTP requests, so that engine threads never do. Each has its own database
// connection. Requests wait in a bounded queue; when it is full, clients get 503.
//
// Threads: `submit` any; work runs on the pool's. Lifetime: stopped before the archive closes; it drops the requests
// that wait then, without calling `done`.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "archive/browser.h"
#include "daemon/http/responses.h"

namespace digd::daemon {

class read_pool {
 public:
  static constexpr std::size_t threads = 2;
  static constexpr std::size_t max_waiting = 128;

  using work = std::function<http_response(archive::browser&)>;
  using done = std::function<void(http_response&&)>;

  explicit read_pool(std::string archive_path);
  ~read_pool() { stop(); }

  // False: `max` requests wait already. `then` is called on a thread of the pool.
  bool submit(work work, done then, std::size_t max = max_waiting);
  void stop();
  std::size_t waiting() const;

 private:
  struct task {
    digd::daemon::read_pool::work work;
    done then;
  };
  void serve();

  const std::string path_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<task> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace digd::daemon
