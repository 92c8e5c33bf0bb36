// Which connection digd closes when connections hold too much memory.
#include "daemon/access/memory_budget.h"

#include <atomic>
#include <boost/asio/ip/address.hpp>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "daemon/access/peers.h"

namespace {

using namespace digd::daemon;

// A connection that notes when digd closes it.
struct holder {
  holder(memory_budget& budget, const peer_ptr& from, std::uint64_t fixed = 0)
      : charge(std::make_shared<memory_charge>(budget, from, fixed)) {
    charge->on_close([this] { closed = true; });
  }
  std::shared_ptr<memory_charge> charge;
  bool closed = false;
};

struct world {
  world() { budget.set_limit(800); }
  memory_budget budget;
  peers known_peers;
  peer_ptr first_peer = known_peers.find(boost::asio::ip::make_address("192.0.2.1"));
  peer_ptr second_peer = known_peers.find(boost::asio::ip::make_address("192.0.2.2"));
  account_ptr token = std::make_shared<memory_account>("a"), other_token = std::make_shared<memory_account>("b");
  account_ptr run = std::make_shared<memory_account>("r1");
};

}  // namespace

TEST_CASE("a_connection_that_holds_over_a_quarter_is_closed_and_no_other") {
  world w;
  holder large(w.budget, w.first_peer), small(w.budget, w.first_peer);
  large.charge->allow(w.token);
  small.charge->allow(w.token);
  small.charge->add(100);
  large.charge->add(200);
  CHECK_FALSE(large.closed);
  large.charge->add(1);
  CHECK((large.closed && !small.closed));
  CHECK(w.budget.closed() == 1);
}

TEST_CASE("what_nobody_allowed_yet_gets_an_eighth_and_the_heaviest_peer_is_closed") {
  world w;
  holder innocent(w.budget, w.second_peer, 40);
  std::vector<std::unique_ptr<holder>> many;
  for (int i = 0; i < 3; ++i) many.push_back(std::make_unique<holder>(w.budget, w.first_peer, 20));
  CHECK_FALSE(many[0]->closed);
  holder last(w.budget, w.first_peer, 20);
  CHECK(many[0]->closed);  // the oldest of equal ones
  CHECK_FALSE((innocent.closed || many[1]->closed || last.closed));
  innocent.charge->allow(w.token);  // counts for its token now
  holder more(w.budget, w.first_peer, 20);
  CHECK_FALSE((many[1]->closed || more.closed));
}

TEST_CASE("the_connections_of_a_token_get_a_half_together") {
  world w;
  holder innocent(w.budget, w.second_peer);
  innocent.charge->allow(w.other_token);
  innocent.charge->add(190);
  std::vector<std::unique_ptr<holder>> many;
  for (int i = 0; i < 4; ++i) {
    many.push_back(std::make_unique<holder>(w.budget, w.first_peer));
    many.back()->charge->allow(w.token);
    many.back()->charge->add(i == 2 ? 101 : 99);
  }
  CHECK_FALSE(many[2]->closed);
  many[0]->charge->add(3);
  CHECK((many[0]->closed && !many[2]->closed && !innocent.closed));
}

TEST_CASE("the_token_of_the_latest_request_pays_for_a_connection") {
  world w;
  holder proxy(w.budget, w.first_peer);
  proxy.charge->allow(w.token);
  proxy.charge->add(100);
  proxy.charge->allow(w.other_token);
  CHECK(w.token->bytes == 0);
  CHECK(w.other_token->bytes == 100);
  proxy.charge->remove(100);
  CHECK(w.other_token->bytes == 0);
}

TEST_CASE("the_connections_of_a_run_get_a_quarter_together") {
  world w;
  holder first(w.budget, w.first_peer), second(w.budget, w.first_peer), other(w.budget, w.first_peer);
  for (holder* each : {&first, &second, &other}) each->charge->allow(w.token);
  first.charge->join(w.run);
  second.charge->join(w.run);
  other.charge->add(150);
  first.charge->add(120);
  second.charge->add(81);
  CHECK((first.closed && !second.closed && !other.closed));
}

TEST_CASE("beyond_the_whole_the_heaviest_token_loses_one_not_the_heaviest_connection") {
  world w;
  holder innocent(w.budget, w.second_peer);
  innocent.charge->allow(w.other_token);
  innocent.charge->add(200);
  std::vector<std::unique_ptr<holder>> many;
  for (int i = 0; i < 10; ++i) {
    many.push_back(std::make_unique<holder>(w.budget, w.first_peer));
    many.back()->charge->allow(w.token);
    many.back()->charge->add(40);
  }
  std::vector<std::unique_ptr<holder>> tokenless;
  for (int i = 0; i < 6; ++i) {
    tokenless.push_back(std::make_unique<holder>(w.budget, w.first_peer));
    tokenless.back()->charge->allow(nullptr);
    tokenless.back()->charge->add(34);
  }
  CHECK(many[0]->closed);  // 400 of its token; 200 of the innocent one; 204 without a token
  CHECK_FALSE(innocent.closed);
}

TEST_CASE("a_charge_gives_back_what_it_held_and_a_frame_on_its_way_keeps_it") {
  world w;
  {
    const holder held(w.budget, w.first_peer, 10);
    held.charge->allow(w.token);
    held.charge->join(w.run);
    CHECK((w.token->bytes == 10 && w.run->bytes == 10));
    {
      const charged_frame frame(held.charge, 50);
      CHECK((held.charge->waiting() == 50 && w.run->bytes == 60 && w.budget.used() == 60));
    }
    CHECK((held.charge->waiting() == 0 && w.budget.used() == 10));
  }
  CHECK((w.token->bytes == 0 && w.run->bytes == 0 && w.budget.used() == 0));
}

TEST_CASE("an_owner_that_comes_after_the_decision_is_closed_too") {
  world w;
  const auto charge = std::make_shared<memory_charge>(w.budget, w.first_peer, 0);
  charge->add(300);
  bool closed = false;
  charge->on_close([&] { closed = true; });
  CHECK(closed);
}

TEST_CASE("the_heavy_connections_of_a_token_are_closed_by_what_that_frees") {
  world w;
  w.budget.set_limit(8'000);
  holder buffers(w.budget, w.first_peer, 100), answers(w.budget, w.first_peer, 10), other(w.budget, w.second_peer, 10);
  buffers.charge->allow(w.token);
  answers.charge->allow(w.token);
  other.charge->allow(w.other_token);
  answers.charge->set_unwritten(90);
  other.charge->set_unwritten(900);
  CHECK(w.budget.close_heavy("a", 45) == 1);
  CHECK((answers.closed && !buffers.closed && !other.closed));
}

TEST_CASE("bytes_that_come_while_a_connection_joins_its_run_are_counted_once") {
  world w;
  for (int round = 0; round < 500; ++round) {
    auto charge = std::make_shared<memory_charge>(w.budget, w.first_peer, 1);
    std::atomic<bool> is_counting{false};
    std::thread run_thread([&] {
      for (int i = 0; i < 200; ++i) {
        charge->add_waiting(1);
        is_counting = true;
        charge->remove_waiting(1);
      }
    });
    while (!is_counting) std::this_thread::yield();
    charge->allow(w.token);
    charge->join(w.run);
    run_thread.join();
    charge.reset();
  }
  CHECK(w.run->bytes == 0);
  CHECK(w.token->bytes == 0);
  CHECK(w.budget.used() == 0);
}
