#include "daemon/api/operator.h"

#include <atomic>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "base/quote.h"
#include "daemon/feed/feed_server.h"
#include "daemon/process/log.h"
#include "daemon/shared_state.h"
#include "daemon/webhook/webhook_server.h"

namespace digd::daemon {

void pending_writes::expect(std::uint64_t key, std::function<void()> done) {
  std::lock_guard guard(mutex_);
  waiting_.emplace(key, std::move(done));
}

void pending_writes::happened(std::uint64_t key) {
  std::vector<std::function<void()>> tasks;
  {
    std::lock_guard guard(mutex_);
    const auto [from, to] = waiting_.equal_range(key);
    for (auto at = from; at != to; ++at) tasks.push_back(std::move(at->second));
    waiting_.erase(from, to);
  }
  for (const auto& task : tasks) task();
}

void pending_writes::give_up() {
  std::unordered_multimap<std::uint64_t, std::function<void()>> unordered_multimaps;
  std::lock_guard guard(mutex_);
  unordered_multimaps.swap(waiting_);
}

void switch_all(shared_state& shared, mode strongest, std::function<void(std::size_t)> done) {
  struct gathering {
    std::atomic<std::size_t> left, runs{0};
    std::function<void(std::size_t)> done;
  };
  const mode before = shared.operator_mode.exchange(strongest);
  spdlog::warn("operator_switch mode={} before={}", to_string(strongest), to_string(before));
  const auto gatherings = std::make_shared<gathering>();
  gatherings->left = shared.threads.size();
  gatherings->done = std::move(done);
  for (const auto& thread : shared.threads) {
    boost::asio::post(thread->context(), [gatherings, &thread = *thread] {
      gatherings->runs += thread.runs().follow_operator();
      if (gatherings->left.fetch_sub(1) == 1) gatherings->done(gatherings->runs);
    });
  }
}

void delete_run(shared_state& shared, const std::string& run, std::function<void(http_response&&)> done) {
  engine_thread& owner = shared.owner_of(run);
  boost::asio::post(owner.context(), [&shared, &owner, run, done = std::move(done)] {
    const registry::removal gone = owner.runs().remove(run);
    switch (gone.outcome) {
      case registry::removal::result::unknown: return done(no_such_run(run));
      case registry::removal::result::busy: return done(busy("the run is being read back from the archive; try again"));
      case registry::removal::result::removed: break;
    }
    owner.counts().runs_deleted.add();
    spdlog::warn("run_deleted run={} number={}", quoted(run), gone.number);
    if (!owner.records().is_on()) return done(respond_nothing());
    erase_stored(shared, owner, gone.number, [done] { done(respond_nothing()); });
  });
}

void erase_stored(shared_state& shared, engine_thread& owner, std::uint64_t run_number, std::function<void()> done) {
  shared.deletions.expect(run_number, [&shared, run_number, done = std::move(done)] {
    if (shared.feed) shared.feed->forget(run_number);
    if (shared.webhooks) shared.webhooks->forget(run_number);
    done();
  });
  auto last = std::make_unique<archive::entry>();
  last->kind = archive::entry_kind::run_deleted;
  last->run_number = run_number;
  owner.records().push(std::move(last));
}

}  // namespace digd::daemon
