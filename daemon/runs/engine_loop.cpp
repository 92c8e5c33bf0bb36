#include "daemon/runs/engine_loop.h"

#include <string>
#include <utility>

#include "base/thread_heap.h"
#include "base/thread_name.h"

namespace digd::daemon {

engine_loop::engine_loop(std::size_t index, const run_services& services, std::function<void()> on_relieved)
    : index_(index),
      services_(services),
      records_(context_, services.storage.archive ? services.storage.archive->make_producer() : nullptr,
               std::move(on_relieved)),
      due_(context_, clock_) {
  work_.emplace(context_.get_executor());
}

void engine_loop::start() {
  thread_ = std::thread([this] {
    name_this_thread("engine-" + std::to_string(index_));
    prepare_thread_heap();
    context_.run();
  });
}

void engine_loop::join_thread() {
  if (thread_.joinable()) thread_.join();
}

void engine_loop::abandon() {
  if (!thread_.joinable()) return;
  context_.stop();
  thread_.join();
}

void engine_loop::finish() {
  due_.stop();
  records_.when_empty([this] { work_.reset(); });
}

void engine_loop::give_up_backlog() {
  records_.stop();
  work_.reset();
}

}  // namespace digd::daemon
