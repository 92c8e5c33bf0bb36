// Handlers that an engine thread's loop still has when it is destroyed.
#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>
#include <memory>

#include "tests/daemon/one_engine_thread.h"

namespace digd::daemon {

namespace {

struct open_connection final : connection {
  explicit open_connection(engine_thread& on) : home(on) {}
  ~open_connection() override {
    home.connections().remove(this);
    home.counts().http.requests.add();
  }
  void shut_down() override {}
  void abort() override {}
  engine_thread& home;
};

}  // namespace

// A use after free shows under the address sanitizer.
TEST_CASE("a_handler_that_is_destroyed_with_its_loop_may_own_a_connection", "[daemon]") {
  one_engine_thread engine;
  auto threads = std::make_unique<engine_threads>();
  threads->make(1, engine.services);
  auto owned = std::make_shared<open_connection>(threads->front());
  const std::weak_ptr<open_connection> seen = owned;
  threads->front().connections().add(owned);
  boost::asio::post(threads->front().context(), [last = std::move(owned)] {});
  threads.reset();
  CHECK(seen.expired());
}

}  // namespace digd::daemon
