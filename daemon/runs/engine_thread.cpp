#include "daemon/runs/engine_thread.h"

#include <string>

#include "base/thread_heap.h"
#include "base/thread_name.h"
#include "daemon/runs/run_host.h"

namespace digd::daemon {

engine_thread::engine_thread(std::size_t index, const run_services& services)
    : index_(index),
      services_(services),
      records_(context_, services.archive ? services.archive->make_producer() : nullptr,
               [this] { runs_.each([](run_host& host) { host.send_flow_state(); }); }),
      due_(context_, clock_),
      runs_(*this) {
  work_.emplace(context_.get_executor());
}

void engine_thread::start() {
  thread_ = std::thread([this] {
    name_this_thread("engine-" + std::to_string(index_));
    prepare_thread_heap();
    context_.run();
  });
}

void engine_thread::join_thread() {
  if (thread_.joinable()) thread_.join();
}

void engine_thread::abandon() {
  if (!thread_.joinable()) return;
  context_.stop();
  thread_.join();
}

void engine_thread::durable(std::span<const archive::durable> progress) {
  for (const archive::durable& run : progress) {
    if (const auto host = runs_.find(run.run_number)) host->durable(run.session, run.seq);
  }
}

void engine_thread::streamed(std::span<const archive::durable> progress) {
  for (const archive::durable& run : progress) {
    if (const auto host = runs_.find(run.run_number)) host->streamed(run.session, run.seq);
  }
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
