// The protocol of a fleet's homes without its I/O: leases, searches, and what counts of a run in the stream. The
// simulation of fleets (tests/simulation/fleet_world.h) has the faults of networks and clocks.
#include <catch2/catch.hpp>

#include <map>
#include <string>

#include "daemon/fleet/homes/home_search.h"
#include "daemon/fleet/homes/host_lease.h"
#include "daemon/fleet/homes/run_parts.h"

using namespace digd::daemon;
using namespace std::chrono_literals;

namespace {

class fake_bucket {
 public:
  bucket_reply call(const bucket_request& request) {
    const auto found = keys_.find(request.key);
    const std::uint64_t revision = found == keys_.end() ? 0 : found->second.second;
    if (request.is == bucket_request::kind::read) {
      if (revision == 0) return {.is = bucket_reply::result::missing};
      return {.value = found->second.first, .revision = revision};
    }
    if (revision != request.expected) return {.is = bucket_reply::result::conflict};
    keys_[request.key] = {request.value, ++last_};
    return {.revision = last_};
  }

 private:
  std::map<std::string, std::pair<std::string, std::uint64_t>> keys_;
  std::uint64_t last_ = 0;
};

// A daemon with the lease length of one second.
class fake_daemon {
 public:
  fake_daemon(fake_bucket& in, const std::string& name, const std::string& incarnation = {})
      : in_(in), name_(name), lease({"t", name, "ws://" + name, "archive-" + name}, 1'000ms, incarnation, [] {
          return "name-" + std::to_string(++names);
        }) {}

  void renew(home_time now) {
    while (const auto request = lease.next(now)) lease.on_reply(in_.call(*request), now);
  }
  home_search::step ask(const home_question& asked, home_time now) {
    search = std::make_unique<home_search>(
        home_taker{"t", name_, "ws://" + name_, "archive-" + name_, lease.incarnation(), pins}, asked, hosts);
    return follow(search->begin(now), now);
  }
  home_search::step follow(home_search::step step, home_time now) {
    while (step.is == home_search::step::kind::request) step = search->on_reply(in_.call(step.request), now);
    return step;
  }

 private:
  fake_bucket& in_;
  const std::string name_;
  static inline int names = 0;

 public:
  bool pins = false;
  host_lease lease;
  host_watch hosts;
  std::unique_ptr<home_search> search;
};

}  // namespace

TEST_CASE("a_lease_counts_from_before_its_request_and_stops_a_tenth_early") {
  fake_bucket in;
  fake_daemon a(in, "a");
  CHECK_FALSE(a.lease.is_held(0ms));
  const auto read = a.lease.next(5'000ms);
  REQUIRE(read);
  a.lease.on_reply(in.call(*read), 5'100ms);
  const auto write = a.lease.next(5'200ms);
  REQUIRE(write);
  a.lease.on_reply(in.call(*write), 5'800ms);
  CHECK(a.lease.judge_until() == home_time(6'100ms));  // 5,200 + 1,000 - 100
  CHECK(a.lease.generation() == 1);
  CHECK_FALSE(a.lease.next(5'500ms));  // renewed at a third: 5,533
  CHECK(a.lease.next(5'540ms));
}

TEST_CASE("a_renewal_whose_reply_was_lost_keeps_the_lease") {
  fake_bucket in;
  fake_daemon a(in, "a");
  a.renew(0ms);
  const auto write = a.lease.next(400ms);
  REQUIRE(write);
  static_cast<void>(in.call(*write));
  a.lease.on_reply({.is = bucket_reply::result::failed, .problem = "no reply"}, 600ms);
  CHECK(a.lease.judge_until() == home_time(900ms));
  CHECK(a.lease.problem() == "no reply");
  a.renew(700ms);
  CHECK(a.lease.judge_until() == home_time(1'600ms));
  CHECK(a.lease.generation() == 1);
  CHECK(a.lease.problem().empty());
}

TEST_CASE("a_restarted_daemon_goes_on_with_its_lease_and_a_fenced_one_takes_a_new_one") {
  fake_bucket in;
  fake_daemon a(in, "a");
  a.renew(0ms);
  const std::string incarnation = a.lease.incarnation();
  fake_daemon again(in, "a", incarnation);
  again.renew(100ms);
  CHECK(again.lease.incarnation() == incarnation);
  CHECK(again.lease.is_held(200ms));
  a.renew(400ms);  // the first process, if it still ran, finds the other one
  CHECK(a.lease.incarnation() != incarnation);
  CHECK_FALSE(a.lease.is_held(400ms));
}

TEST_CASE("the_daemon_that_is_asked_first_is_the_home_and_others_name_it") {
  fake_bucket in;
  fake_daemon a(in, "a"), b(in, "b");
  a.renew(0ms);
  b.renew(0ms);
  const auto first = a.ask({.run = "r", .new_number = 7}, 10ms);
  REQUIRE(first.decision.is == home_decision::kind::opened);
  CHECK(first.decision.home.number == 7);
  CHECK(first.decision.home.epoch == 1);
  const auto second = b.ask({.run = "r", .new_number = 1}, 20ms);
  REQUIRE(second.decision.is == home_decision::kind::elsewhere);
  CHECK(second.decision.url == "ws://a");
  CHECK(a.ask({.run = "r", .number = 7, .new_number = 8}, 30ms).decision.is == home_decision::kind::kept);
}

TEST_CASE("a_client_that_comes_back_waits_for_a_renewal_or_for_the_end_of_the_lease") {
  fake_bucket in;
  fake_daemon a(in, "a"), b(in, "b");
  a.renew(0ms);
  b.renew(0ms);
  a.ask({.run = "r", .new_number = 7}, 10ms);
  CHECK(b.ask({.run = "r", .new_number = 1}, 100ms).decision.is == home_decision::kind::elsewhere);
  auto step = b.ask({.run = "r", .new_number = 2, .was_elsewhere = true}, 200ms);
  REQUIRE(step.is == home_search::step::kind::wait);
  SECTION("a renewal") {
    a.renew(400ms);
    step = b.follow(b.search->resume(500ms), 500ms);
    CHECK(step.decision.is == home_decision::kind::elsewhere);
  }
  SECTION("no renewal") {
    step = b.follow(b.search->resume(1'199ms), 1'199ms);  // first seen at 100; a tenth longer than the lease
    REQUIRE(step.is == home_search::step::kind::wait);
    step = b.follow(b.search->resume(1'200ms), 1'200ms);
    REQUIRE(step.decision.is == home_decision::kind::taken);
    CHECK(step.decision.home.epoch == 2);
    CHECK(step.decision.home.origin_archive == "archive-a");
    CHECK(step.decision.home.origin_number == 7);
    const std::string before = a.lease.incarnation();
    a.renew(1'300ms);
    CHECK(a.lease.incarnation() != before);
    CHECK(a.ask({.run = "r", .number = 7, .new_number = 9}, 1'310ms).decision.is == home_decision::kind::elsewhere);
  }
}

TEST_CASE("a_stale_read_of_a_hosts_lease_takes_no_run") {
  fake_bucket in;
  fake_daemon a(in, "a"), b(in, "b");
  a.renew(0ms);
  const bucket_reply old_lease = in.call({.key = host_key("t", "a")});
  b.renew(0ms);
  a.ask({.run = "r", .new_number = 7}, 10ms);
  fake_daemon other_archive(in, "a");  // the lease of `a` ends, and a later one takes the run
  a.lease.drain();
  a.renew(20ms);
  other_archive.renew(30ms);
  const auto kept = other_archive.ask({.run = "r", .number = 7, .new_number = 8}, 40ms);
  REQUIRE(kept.decision.is == home_decision::kind::kept);

  auto step = [&] {
    b.search = std::make_unique<home_search>(home_taker{"t", "b", "ws://b", "archive-b", b.lease.incarnation(), false},
                                             home_question{.run = "r", .new_number = 1}, b.hosts);
    return b.search->begin(50ms);
  }();
  step = b.search->on_reply(in.call(step.request), 50ms);
  REQUIRE(step.request.key == host_key("t", "a"));
  step = b.follow(b.search->on_reply(old_lease, 50ms), 50ms);  // of a replica that lags behind
  REQUIRE(step.decision.is == home_decision::kind::elsewhere);
  other_archive.renew(400ms);
  CHECK(other_archive.lease.is_held(400ms));
  CHECK(other_archive.lease.generation() == 1);
}

TEST_CASE("a_search_proves_once_that_a_lease_has_ended") {
  fake_bucket in;
  fake_daemon a(in, "a"), b(in, "b");
  a.renew(0ms);
  b.renew(0ms);
  for (const char* run : {"r1", "r2"}) a.ask({.run = run, .new_number = 7}, 10ms);
  a.lease.drain();
  a.renew(20ms);
  fake_daemon later(in, "a");
  later.renew(30ms);
  const auto revision = [&] { return in.call({.key = host_key("t", "a")}).revision; };
  const std::uint64_t before = revision();
  CHECK(b.ask({.run = "r1", .new_number = 1}, 40ms).decision.is == home_decision::kind::taken);
  const std::uint64_t proven = revision();
  CHECK(proven > before);
  CHECK(b.ask({.run = "r2", .new_number = 2}, 50ms).decision.is == home_decision::kind::taken);
  CHECK(revision() == proven);
  later.renew(400ms);  // the proof is not a renewal, and takes no lease away
  CHECK(later.lease.is_held(400ms));
  CHECK(later.lease.generation() == 1);
}

TEST_CASE("a_proof_of_a_dead_hosts_lease_does_not_postpone_the_takeover_of_its_runs") {
  fake_bucket in;
  fake_daemon a(in, "a"), b(in, "b"), c(in, "c");
  a.renew(0ms);
  b.renew(0ms);
  c.renew(0ms);
  a.ask({.run = "earlier", .new_number = 7}, 10ms);
  a.lease.drain();
  a.renew(20ms);
  fake_daemon later(in, "a");
  later.renew(30ms);  // and never again
  later.ask({.run = "r", .new_number = 8}, 40ms);
  CHECK(b.ask({.run = "r", .new_number = 1}, 100ms).decision.is == home_decision::kind::elsewhere);
  const auto revision = [&] { return in.call({.key = host_key("t", "a")}).revision; };
  const std::uint64_t before = revision();
  CHECK(c.ask({.run = "earlier", .new_number = 1}, 600ms).decision.is == home_decision::kind::taken);
  REQUIRE(revision() > before);
  const auto step = b.ask({.run = "r", .new_number = 2, .was_elsewhere = true}, 1'200ms);
  REQUIRE(step.is == home_search::step::kind::done);
  CHECK(step.decision.is == home_decision::kind::taken);
}

TEST_CASE("a_drained_daemon_gives_up_its_runs_at_once_and_takes_them_back_if_nobody_did") {
  fake_bucket in;
  fake_daemon a(in, "a"), b(in, "b");
  a.renew(0ms);
  b.renew(0ms);
  a.ask({.run = "r", .new_number = 7}, 10ms);
  a.ask({.run = "other", .new_number = 8}, 10ms);
  a.lease.drain();
  CHECK_FALSE(a.lease.is_held(20ms));
  a.renew(20ms);
  REQUIRE(a.lease.is_drained());
  CHECK(b.ask({.run = "r", .new_number = 1}, 30ms).decision.is == home_decision::kind::taken);
  fake_daemon again(in, "a", a.lease.incarnation());
  again.renew(40ms);
  CHECK(again.ask({.run = "r", .number = 7, .new_number = 9}, 50ms).decision.is == home_decision::kind::elsewhere);
  const auto kept = again.ask({.run = "other", .number = 8, .new_number = 9}, 50ms);
  CHECK(kept.decision.is == home_decision::kind::kept);
  CHECK(kept.decision.home.epoch == 1);
}

TEST_CASE("a_pinned_run_stays_with_a_dead_host_until_that_drains") {
  fake_bucket in;
  fake_daemon a(in, "a"), b(in, "b");
  a.pins = true;
  a.renew(0ms);
  b.renew(0ms);
  a.ask({.run = "r", .new_number = 7}, 10ms);
  for (const auto now : {100ms, 5'000ms}) {
    CHECK(b.ask({.run = "r", .new_number = 1, .was_elsewhere = true}, now).decision.is ==
          home_decision::kind::elsewhere);
  }
  a.lease.drain();
  a.renew(6'000ms);
  CHECK(b.ask({.run = "r", .new_number = 1}, 6'100ms).decision.is == home_decision::kind::taken);
}

TEST_CASE("a_copy_that_its_archive_lost_is_taken_from_the_stream") {
  fake_bucket in;
  fake_daemon a(in, "a");
  a.renew(0ms);
  a.ask({.run = "r", .new_number = 7}, 10ms);
  const auto step = a.ask({.run = "r", .new_number = 8}, 20ms);
  REQUIRE(step.decision.is == home_decision::kind::taken);
  CHECK(step.decision.home.number == 8);
  CHECK(step.decision.home.origin_number == 7);
}

TEST_CASE("of_a_run_in_the_stream_the_order_decides_what_counts") {
  using use = run_parts::use;
  run_parts parts("r", "a", 7);
  const auto entry = [](std::string_view archive, std::uint64_t number, std::uint64_t n, std::uint64_t epoch) {
    stream_line line{.archive = archive, .run = "r", .number = number, .n = n, .epoch = epoch};
    if (epoch > 1) line.origin_archive = "a", line.origin_number = 7;
    return line;
  };
  CHECK(parts.take(entry("a", 6, 1, 1)) == use::foreign);  // an earlier run of the same name
  CHECK(parts.take(entry("a", 7, 1, 1)) == use::next);
  CHECK(parts.take(entry("a", 7, 2, 1)) == use::next);
  CHECK(parts.take(entry("a", 7, 2, 1)) == use::repeated);
  CHECK(parts.take(entry("b", 3, 3, 2)) == use::stale);  // of a home that has not fenced the other off
  const stream_line moved{.is = stream_line::kind::run_moved,
                          .archive = "b",
                          .run = "r",
                          .epoch = 2,
                          .origin_archive = "a",
                          .origin_number = 7};
  CHECK(parts.take(moved) == use::foreign);
  CHECK(parts.take(entry("a", 7, 3, 1)) == use::stale);
  CHECK(parts.take(entry("b", 3, 4, 2)) == use::early);
  CHECK(parts.take(entry("b", 3, 3, 2)) == use::next);
  CHECK(parts.entries() == 3);
  stream_line deleted = moved;
  deleted.is = stream_line::kind::run_deleted;
  CHECK(parts.take(deleted) == use::foreign);
  CHECK(parts.is_deleted());
}

TEST_CASE("records_of_homes_survive_their_encoding_and_others_are_refused") {
  const host_record host{"i", "p", "a", "ws://h", 9'000ms, host_record::state::drained, 3};
  CHECK(host_record_of(encode(host)) == host);
  const run_record run{"r \"1\"", "h", "i", "a", 4, 2, "o", 9, 12, true};
  CHECK(run_record_of(encode(run)) == run);
  for (const char* wrong : {"", "[]", "{}", R"({"run":1})"}) {
    CHECK_FALSE(host_record_of(wrong));
    CHECK_FALSE(run_record_of(wrong));
  }
  CHECK(run_key("t", "r1") == "run.t.82f3e9c695dc6b8d1b11818d5701919e");
}
