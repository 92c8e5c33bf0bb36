// Who a connection comes from, how many a peer may have open, and a token's limits.
#include "daemon/access/peers.h"

#include <boost/asio/ip/address.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "daemon/access/tokens.h"

namespace {

using namespace digd::daemon;
using boost::asio::ip::make_address;

TEST_CASE("an address names its peer, and a host has one name for all its IPv6 addresses") {
  peers known_peers;
  CHECK(known_peers.find(make_address("192.0.2.1"))->name == "192.0.2.1");
  CHECK(known_peers.find(make_address("::ffff:192.0.2.1")) == known_peers.find(make_address("192.0.2.1")));
  CHECK(known_peers.find(make_address("2001:db8::1"))->name == "2001:db8::/64");
  CHECK(known_peers.find(make_address("2001:db8::1")) == known_peers.find(make_address("2001:db8::ffff:1")));
  CHECK(known_peers.find(make_address("2001:db8::1")) != known_peers.find(make_address("2001:db8:0:1::1")));
  CHECK(known_peers.find(make_address("::1"))->is_local);
  CHECK(known_peers.find(make_address("127.0.0.7"))->is_local);
  CHECK_FALSE(known_peers.find(make_address("2001:db8::1"))->is_local);
}

TEST_CASE("another machine gets half of the connections, this one all of them") {
  peers known_peers;
  CHECK(max_connections_of(*known_peers.find(make_address("192.0.2.1")), 4'096, 0) == 2'048);
  CHECK(max_connections_of(*known_peers.find(make_address("127.0.0.1")), 4'096, 0) == 4'096);
  CHECK(max_connections_of(*known_peers.find(make_address("192.0.2.1")), 1, 0) == 1);
  CHECK(max_connections_of(*known_peers.find(make_address("127.0.0.1")), 4'096, 7) == 7);
}

TEST_CASE("a peer counts its connections, and is forgotten after the last one") {
  peers known_peers;
  std::atomic<std::uint64_t> open{0};
  std::weak_ptr<peer> once;
  {
    const peer_ptr from = known_peers.find(make_address("192.0.2.1"));
    once = from;
    const peer_ticket first(open, from);
    {
      const peer_ticket second(open, from);
      CHECK((open == 2 && from->open == 2));
    }
    CHECK((open == 1 && from->open == 1));
  }
  CHECK(open == 0);
  for (int i = 0; i < 200; ++i) static_cast<void>(known_peers.find(make_address("198.51.100." + std::to_string(i))));
  CHECK(once.expired());
}

TEST_CASE("a peer that sent too many unknown tokens is remembered without a connection") {
  peers known_peers;
  const auto now = std::chrono::steady_clock::now() + std::chrono::hours(1);
  std::weak_ptr<peer> once = known_peers.find(make_address("192.0.2.1"));
  for (std::uint64_t i = 0; i < max_refusals_a_second; ++i) CHECK(once.lock()->refusals.take(now).count() == 0);
  CHECK(once.lock()->refusals.take(now).count() > 0);
  for (int i = 0; i < 200; ++i) static_cast<void>(known_peers.find(make_address("198.51.100." + std::to_string(i))));
  CHECK_FALSE(once.expired());
}

TEST_CASE("a token's connections and runs are counted, and never exceed its limits") {
  const grant two("two", {right::ingest}, {}, {.max_connections = 2, .max_runs = 1});
  auto first = two.take_connection();
  const auto second = two.take_connection();
  CHECK((first && second && !two.take_connection()));
  first.reset();
  CHECK(two.take_connection());
  const auto run = two.take_run();
  CHECK((run && !two.take_run()));
  const grant any("any", {right::ingest}, {}, {});
  std::vector<digd::ticket_ptr> many;
  for (int i = 0; i < 100; ++i) many.push_back(any.take_connection());
  CHECK(many.back());
}

TEST_CASE("a token's byte rate makes the next message wait, whatever the size of this one") {
  const auto now = std::chrono::steady_clock::now();
  const grant slow("slow", {right::ingest}, {}, {.byte_rate = 1'000});
  CHECK(slow.take(now, 1'000).count() == 0);
  CHECK(slow.take(now, 500) == std::chrono::milliseconds(500));
  CHECK(slow.take(now, std::size_t{1} << 62) > std::chrono::hours(1));
  const grant free("free", {right::ingest}, {}, {});
  CHECK(free.take(now, std::size_t{1} << 62).count() == 0);
}

}  // namespace
