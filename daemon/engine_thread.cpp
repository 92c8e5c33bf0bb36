#include "daemon/engine_thread.h"

#include <chrono>
#include <utility>

#include "daemon/run_host.h"
#include "daemon/shared_state.h"
#include "engine/thread_name.h"

namespace digd::daemon {

milliseconds unix_ms() {
  using namespace std::chrono;
  return duration_cast<std::chrono::milliseconds>(system_clock::now().time_since_epoch()).count();
}

engine_thread::engine_thread(std::size_t index, shared_state& shared)
    : index_(index),
      shared_(shared),
      records_(context_, shared.store ? shared.store->make_producer() : nullptr,
               [this] { runs_.each([](run_host& host) { host.tell_standing(); }); }),
      due_(context_),
      runs_(*this) {
  work_.emplace(context_.get_executor());
}

void engine_thread::start() {
  thread_ = std::thread([this] {
    name_this_thread("engine-" + std::to_string(index_));
    context_.run();
  });
}

void engine_thread::join_thread() {
  if (thread_.joinable()) thread_.join();
}

void engine_thread::durable(std::span<const archive::durable> what) {
  for (const archive::durable& one : what) {
    if (const auto host = runs_.find(one.run_number)) host->durable(one.session, one.seq);
  }
}

void engine_thread::remember(const std::shared_ptr<connection>& one) {
  connections_[one.get()] = one;
  if (stopping_) one->shut_down();
}

template <class Do>
void engine_thread::each_connection(Do do_it) {
  std::vector<std::weak_ptr<connection>> all;
  for (const auto& [key, one] : connections_) all.push_back(one);
  for (const auto& weak : all) {
    if (const auto one = weak.lock()) do_it(*one);
  }
}

void engine_thread::shut_connections() {
  stopping_ = true;
  each_connection([](connection& one) { one.shut_down(); });
}

void engine_thread::abort_connections() {
  each_connection([](connection& one) { one.abort(); });
}

void engine_thread::finish() {
  due_.stop();
  records_.when_empty([this] { work_.reset(); });
}

void engine_thread::give_up_backlog() {
  records_.stop();
  work_.reset();
}

}  // namespace digd::daemon
