#include "daemon/runs/recovery.h"

#include <spdlog/spdlog.h>
#include <boost/asio/post.hpp>
#include <stdexcept>
#include <utility>

#include "daemon/runs/engine_threads.h"

namespace digd::daemon {

namespace {

template <class T>
T or_throw(boost::system::result<T> read) {
  if (!read) throw std::runtime_error("the archive cannot be read: " + read.error().message());
  return std::move(*read);
}

}  // namespace

void plan_recovery(const archive::archive& store, const engine_threads& threads) {
  const auto open = or_throw(store.open_runs());
  std::size_t expected = 0;
  for (const archive::stored_run& run : open) {
    registry& runs = threads.owner_of(run.run).runs();
    // Of runs with the same name, which a fleet may have restored, only the latest is the run.
    if (runs.latest_of(or_throw(store.numbers_of(run.run))) != run.number) continue;
    runs.expect({.number = run.number, .run = run.run, .bytes = run.bytes});
    ++expected;
  }
  const std::uint64_t ended = or_throw(store.count_ended());
  if (expected + ended > 0) spdlog::info("recovering runs={} ended={}", expected, ended);
}

void begin_recovery(const engine_threads& threads) {
  for (const auto& thread : threads) boost::asio::post(thread->context(), [&t = *thread] { t.runs().recover_next(); });
}

}  // namespace digd::daemon
