#include "daemon/runs/engine_thread.h"

#include <chrono>
#include <utility>

#include "base/thread_name.h"
#include "daemon/runs/run_host.h"
#include "daemon/shared_state.h"

namespace digd::daemon {

milliseconds unix_ms() {
  using namespace std::chrono;
  return duration_cast<std::chrono::milliseconds>(system_clock::now().time_since_epoch()).count();
}

engine_thread::engine_thread(std::size_t index, shared_state& shared)
    : index_(index),
      shared_(shared),
      records_(context_, shared.store ? shared.store->make_producer() : nullptr,
               [this] { runs_.each([](run_host& host) { host.send_flow_state(); }); }),
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

void engine_thread::durable(std::span<const archive::durable> progress) {
  for (const archive::durable& run : progress) {
    if (const auto host = runs_.find(run.run_number)) host->durable(run.session, run.seq);
  }
}

void engine_thread::remember(const std::shared_ptr<connection>& connection) {
  connections_[connection.get()] = connection;
  if (stopping_) connection->shut_down();
}

template <class Do>
void engine_thread::each_connection(Do do_it) {
  std::vector<std::weak_ptr<connection>> connections;
  for (const auto& [key, one] : connections_) connections.push_back(one);
  for (const auto& weak : connections) {
    if (const auto connection = weak.lock()) do_it(*connection);
  }
}

void engine_thread::shut_connections() {
  stopping_ = true;
  each_connection([](connection& connection) { connection.shut_down(); });
}

void engine_thread::abort_connections() {
  each_connection([](connection& connection) { connection.abort(); });
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
