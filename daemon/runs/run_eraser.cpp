#include "daemon/runs/run_eraser.h"

#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "archive/entry.h"
#include "daemon/runs/engine_thread.h"

namespace digd::daemon {

void run_eraser::erase(engine_thread& owner, std::uint64_t run_number, std::function<void()> on_erased) {
  deletions_.expect(run_number, [this, &owner, run_number, on_erased = std::move(on_erased)] {
    forget_run_(run_number);
    boost::asio::post(owner.context(), [&owner, run_number] { owner.runs().erased(run_number); });
    on_erased();
  });
  auto deletion = std::make_unique<archive::entry>();
  deletion->kind = archive::entry_kind::run_deleted;
  deletion->run_number = run_number;
  owner.records().push(std::move(deletion));
}

}  // namespace digd::daemon
