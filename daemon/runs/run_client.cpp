#include "daemon/runs/run_client.h"

#include <boost/asio/dispatch.hpp>
#include <utility>

#include "daemon/runs/engine_thread.h"
#include "daemon/runs/run_host.h"

namespace digd::daemon {

void answer(const join_request& request, join_result&& result) {
  engine_thread* home = request.home;
  boost::asio::dispatch(home->context(), [client = request.client, result = std::move(result)]() mutable {
    if (const auto receiver = client.lock()) return receiver->on_joined(std::move(result));
    if (result.host) run_host::release_slot(std::move(result.host), result.slot);
  });
}

}  // namespace digd::daemon
