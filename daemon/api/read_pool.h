// Threads that read the archive for HTTP requests, so that engine threads never do. Each has its own database
// connection. Requests wait in bounded queues, one for each client, and the clients take turns; when a queue is full,
// its client gets 503. One client never has all threads.
//
// Threads: `submit` any; work runs on the pool's. Lifetime: stopped before the archive closes; it drops the requests
// that wait then, without calling `done`.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "archive/browser.h"
#include "daemon/http/responses.h"

namespace digd::daemon {

class read_pool {
 public:
  static constexpr std::size_t threads = 3;
  static constexpr std::size_t max_running_of_client = threads - 1;
  static constexpr std::size_t max_waiting = 128;
  static constexpr std::size_t max_waiting_of_client = max_waiting / 2;

  using work = std::function<http_response(archive::browser&)>;
  using done = std::function<void(http_response&&)>;

  explicit read_pool(std::string archive_path);
  ~read_pool() { stop(); }

  // `client`: the client that sent the request. `more`: how many requests may wait beyond the limits. False: too many
  // wait already. `then` is called on a thread of the pool.
  bool submit(const std::string& client, work work, done then, std::size_t more = 0);
  void stop();
  std::size_t waiting() const;
  // Requests refused since the start, because too many waited.
  std::uint64_t refused() const { return refused_.load(); }

 private:
  struct task {
    digd::daemon::read_pool::work work;
    done then;
  };
  struct queue {
    std::deque<task> tasks;
    std::size_t running = 0;
  };
  using queues = std::map<std::string, queue>;
  bool has_room_for(const std::string& client, std::size_t more) const;
  void serve();
  queues::iterator next_client();

  const std::string path_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  queues clients_;  // those with requests
  std::size_t waiting_ = 0;
  std::atomic<std::uint64_t> refused_{0};
  std::string last_client_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// The pool as one client uses it. `pool`: null without an archive.
struct client_reads {
  read_pool* pool = nullptr;
  std::string client;

  bool submit(read_pool::work work, read_pool::done then) const {
    return pool->submit(client, std::move(work), std::move(then));
  }
};

}  // namespace digd::daemon
