// Finding a host: who asked is told, once, and nobody after it was closed.
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>

#include "daemon/webhook/host_lookup.h"

namespace digd::daemon {
namespace {

constexpr std::chrono::seconds within{20};

struct told {
  int times = 0;
  boost::system::error_code ec;
  host_lookup::results found;
};

class asking {
 public:
  asking() : lookup_(std::make_shared<host_lookup>(context_)), work_(context_.get_executor()) {}

  void ask(const std::string& host, std::uint16_t port, told& into) {
    lookup_->ask({.host = host, .port = port}, who_, [&into](const boost::system::error_code& ec, const auto& found) {
      ++into.times;
      into.ec = ec;
      into.found = found;
    });
  }
  void run_until_told(const told& of) {
    const auto deadline = std::chrono::steady_clock::now() + within;
    while (of.times == 0 && std::chrono::steady_clock::now() < deadline)
      context_.run_one_for(std::chrono::milliseconds(50));
  }
  void go_away() { who_.reset(); }
  void close() { lookup_->close(); }
  std::size_t poll() { return context_.poll(); }

 private:
  boost::asio::io_context context_;
  std::shared_ptr<host_lookup> lookup_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::shared_ptr<const int> who_ = std::make_shared<const int>(1);
};

TEST_CASE("an_address_needs_no_look_up") {
  asking in;
  told four, six;
  in.ask("127.0.0.1", 7, four);
  CHECK(four.times == 0);  // never from within
  in.run_until_told(four);
  REQUIRE(four.times == 1);
  CHECK(four.found.begin()->endpoint() ==
        boost::asio::ip::tcp::endpoint(boost::asio::ip::make_address("127.0.0.1"), 7));
  in.ask("::1", 8, six);
  in.run_until_told(six);
  REQUIRE(six.times == 1);
  CHECK(six.found.begin()->endpoint().address().is_v6());
}

TEST_CASE("a_name_is_found_and_all_who_asked_are_told_of_their_own") {
  asking in;
  told told, two, other;
  in.ask("localhost", 7, told);
  in.ask("localhost", 7, two);
  in.ask("127.0.0.1", 9, other);
  in.run_until_told(other);
  CHECK(told.times == 1);
  CHECK(two.times == 1);
  REQUIRE(other.times == 1);
  REQUIRE_FALSE(told.ec);
  CHECK(told.found.begin()->endpoint().address().is_loopback());
  CHECK(told.found.begin()->endpoint().port() == 7);
  CHECK(other.found.begin()->endpoint().port() == 9);
}

TEST_CASE("who_is_gone_is_told_nothing_and_neither_is_anybody_after_the_end") {
  asking in;
  told gone, late;
  in.ask("127.0.0.1", 7, gone);
  in.go_away();
  in.poll();
  CHECK(gone.times == 0);
  in.ask("localhost", 7, late);  // its look-up may still be under way when the test ends
  in.close();
  in.poll();
  CHECK(late.times == 0);
}

}  // namespace
}  // namespace digd::daemon
