#include "daemon/api/read_pool.h"

#include <spdlog/spdlog.h>
#include <exception>
#include <memory>
#include <utility>

#include "base/quote.h"
#include "base/thread_name.h"

namespace digd::daemon {

namespace {

http_response log_unreadable(const std::string& problem) {
  spdlog::error("archive_unreadable reason={}", digd::quoted(problem));
  return archive_unreadable(problem);
}

// The client gets a response even if the work throws.
http_response perform(const read_pool::work& work, archive::browser& with) {
  try {
    return work(with);
  } catch (const std::exception& e) {
    return log_unreadable(e.what());
  }
}

// An answer that throws must not end the daemon. Its client then gets no answer in time.
void answer(const read_pool::done& then, http_response&& response) {
  try {
    then(std::move(response));
  } catch (const std::exception& e) {
    spdlog::error("read_not_answered reason={}", digd::quoted(e.what()));
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

// The caller holds the mutex.
bool read_pool::has_room_for(const std::string& client, std::size_t more) const {
  const auto own = clients_.find(client);
  const std::size_t waiting_of_client = own == clients_.end() ? 0 : own->second.tasks.size();
  return waiting_ < max_waiting + more && waiting_of_client < max_waiting_of_client + more;
}

bool read_pool::submit(const std::string& client, work work, done then, std::size_t more) {
  {
    std::lock_guard guard(mutex_);
    if (stopping_) return false;
    if (!has_room_for(client, more)) {
      refused_.fetch_add(1);
      return false;
    }
    clients_[client].tasks.push_back({std::move(work), std::move(then)});
    ++waiting_;
  }
  wake_.notify_one();
  return true;
}

std::size_t read_pool::waiting() const {
  std::lock_guard guard(mutex_);
  return waiting_;
}

// The next client after the one that had the last turn; end: no client may have a turn now. With the mutex.
read_pool::queues::iterator read_pool::next_client() {
  auto at = clients_.upper_bound(last_client_);
  for (std::size_t looked = 0; looked < clients_.size(); ++looked, ++at) {
    if (at == clients_.end()) at = clients_.begin();
    if (!at->second.tasks.empty() && at->second.running < max_running_of_client) return at;
  }
  return clients_.end();
}

void read_pool::serve() {
  std::unique_ptr<archive::browser> reads;  // opened when first needed
  for (;;) {
    task next;
    queues::iterator client;
    {
      std::unique_lock guard(mutex_);
      wake_.wait(guard, [this, &client] { return stopping_ || (client = next_client()) != clients_.end(); });
      if (stopping_) return;
      next = std::move(client->second.tasks.front());
      client->second.tasks.pop_front();
      ++client->second.running;
      --waiting_;
      last_client_ = client->first;
    }
    std::string problem;
    if (!reads) {
      if (auto opened = archive::browser::open(path_, &problem)) reads = std::move(*opened);
    }
    answer(next.then, reads ? perform(next.work, *reads) : log_unreadable(problem));
    {
      std::lock_guard guard(mutex_);
      if (--client->second.running == 0 && client->second.tasks.empty()) clients_.erase(client);
    }
    wake_.notify_one();  // this client may have the next turn
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
  queues dropped;  // destroyed after the mutex is unlocked: a request may own its connection
  const std::lock_guard guard(mutex_);
  dropped.swap(clients_);
  waiting_ = 0;
}

}  // namespace digd::daemon
