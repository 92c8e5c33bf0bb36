// Host look-ups: every requester gets its result once, and none after `close`.
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>

#include "daemon/webhook/host_lookup.h"

namespace digd::daemon {
namespace {

constexpr std::chrono::seconds max_wait{20};

struct lookup_result {
  int times = 0;
  boost::system::error_code ec;
  host_lookup::results found;
};

class lookup_fixture {
 public:
  lookup_fixture() : lookup_(std::make_shared<host_lookup>(context_)), work_(context_.get_executor()) {}
  ~lookup_fixture() { lookup_->close(); }  // a look-up may still post to the context

  void request(const std::string& host, std::uint16_t port, lookup_result& into) {
    lookup_->request({.host = host, .port = port}, requester_,
                     [&into](const boost::system::error_code& ec, const auto& found) {
                       ++into.times;
                       into.ec = ec;
                       into.found = found;
                     });
  }
  void run_until_done(const lookup_result& result) {
    const auto deadline = std::chrono::steady_clock::now() + max_wait;
    while (result.times == 0 && std::chrono::steady_clock::now() < deadline)
      context_.run_one_for(std::chrono::milliseconds(50));
  }
  void drop_requester() { requester_.reset(); }
  void close() { lookup_->close(); }
  std::size_t poll() { return context_.poll(); }

 private:
  boost::asio::io_context context_;
  std::shared_ptr<host_lookup> lookup_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::shared_ptr<const int> requester_ = std::make_shared<const int>(1);
};

TEST_CASE("an_address_needs_no_look_up") {
  lookup_fixture lookup;
  lookup_result v4, v6;
  lookup.request("127.0.0.1", 7, v4);
  CHECK(v4.times == 0);  // never called from within `request`
  lookup.run_until_done(v4);
  REQUIRE(v4.times == 1);
  CHECK(v4.found.begin()->endpoint() == boost::asio::ip::tcp::endpoint(boost::asio::ip::make_address("127.0.0.1"), 7));
  lookup.request("::1", 8, v6);
  lookup.run_until_done(v6);
  REQUIRE(v6.times == 1);
  CHECK(v6.found.begin()->endpoint().address().is_v6());
}

TEST_CASE("each_requester_gets_the_result_for_its_own_host") {
  lookup_fixture lookup;
  lookup_result first, second, other;
  lookup.request("localhost", 7, first);
  lookup.request("localhost", 7, second);
  lookup.request("127.0.0.1", 9, other);
  lookup.run_until_done(other);
  CHECK(first.times == 1);
  CHECK(second.times == 1);
  REQUIRE(other.times == 1);
  REQUIRE_FALSE(first.ec);
  CHECK(first.found.begin()->endpoint().address().is_loopback());
  CHECK(first.found.begin()->endpoint().port() == 7);
  CHECK(other.found.begin()->endpoint().port() == 9);
}

TEST_CASE("nothing_is_called_for_an_expired_requester_or_after_close") {
  lookup_fixture lookup;
  lookup_result expired, late;
  lookup.request("127.0.0.1", 7, expired);
  lookup.drop_requester();
  lookup.poll();
  CHECK(expired.times == 0);
  lookup.request("localhost", 7, late);  // its look-up may still be in progress when the test ends
  lookup.close();
  lookup.poll();
  CHECK(late.times == 0);
}

}  // namespace
}  // namespace digd::daemon
