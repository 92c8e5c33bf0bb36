#include "daemon/api/operator.h"

#include <spdlog/spdlog.h>
#include <atomic>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "base/quote.h"
#include "daemon/api/http_services.h"

namespace digd::daemon {

void switch_all(const run_control& runs, mode strongest, std::string_view by, std::function<void(std::size_t)> done) {
  struct progress {
    std::atomic<std::size_t> threads_left, changed_runs{0};
    std::function<void(std::size_t)> done;
  };
  const mode before = runs.operator_mode.exchange(strongest);
  spdlog::warn("operator_switch mode={} before={} by={}", to_string(strongest), to_string(before), digd::quoted(by));
  const auto shared = std::make_shared<progress>();
  shared->threads_left = runs.threads.size();
  shared->done = std::move(done);
  for (const auto& thread : runs.threads) {
    boost::asio::post(thread->context(), [shared, &thread = *thread] {
      shared->changed_runs += thread.runs().follow_operator();
      if (shared->threads_left.fetch_sub(1) == 1) shared->done(shared->changed_runs);
    });
  }
}

void delete_run(const run_control& runs, const std::string& run, const std::string& by,
                std::function<void(http_response&&)> done) {
  engine_thread& owner = runs.threads.owner_of(run);
  boost::asio::post(owner.context(), [&eraser = runs.eraser, &owner, run, by, done = std::move(done)] {
    owner.runs().remove(run, [&eraser, &owner, run, by, done](const registry::removal& removed) {
      switch (removed.outcome) {
        case registry::removal::result::unknown: return done(no_such_run(run));
        case registry::removal::result::busy:
          return done(busy("the run is being read back from the archive; try again"));
        case registry::removal::result::removed: break;
      }
      owner.counts().runs_deleted.add();
      spdlog::warn("run_deleted run={} number={} by={}", digd::quoted(run), removed.number, digd::quoted(by));
      if (!owner.records().is_on()) return done(respond_nothing());
      eraser.erase(owner, removed.number, [done] { done(respond_nothing()); });
    });
  });
}

}  // namespace digd::daemon
