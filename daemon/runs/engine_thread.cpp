#include "daemon/runs/engine_thread.h"

#include "daemon/runs/run_host.h"

namespace digd::daemon {

engine_thread::engine_thread(std::size_t index, const run_services& services)
    : engine_loop(index, services, [this] { runs_.each([](run_host& host) { host.send_flow_state(); }); }),
      runs_(*this) {}

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

}  // namespace digd::daemon
