// Entries that are filled again.
#include "archive/entry_pool.h"

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>

#include "archive/store.h"
#include "tests/archive/support.h"

namespace digd::archive::testing {

namespace {

entry_ptr full_entry(std::size_t frame_bytes = 500) {
  auto made = std::make_unique<entry>();
  made->kind = entry_kind::refused;
  made->run_number = 1;
  made->run = made->session = made->type = made->code = made->token = made->ended = "text";
  made->seq = made->n = 2;
  made->ts = made->arrived_ms = 3;
  made->frame = std::string(frame_bytes, 'f');
  made->verdicts = "verdicts";
  made->answered = "i1";
  made->detections.emplace_back();
  made->interventions.emplace_back();
  made->outcomes.emplace_back();
  made->used.emplace();
  made->opinion = std::make_shared<judgement_row>();
  return made;
}

void check_is_empty(const entry& e) {
  CHECK(e.kind == entry_kind::message);
  CHECK((e.run_number == 0 && e.seq == 0 && e.n == 0 && e.ts == 0 && e.arrived_ms == 0));
  CHECK(e.run + e.session + e.type + e.frame + e.code + e.token + e.verdicts + e.ended == "");
  CHECK_FALSE(e.answered);
  CHECK((e.detections.empty() && e.interventions.empty() && e.outcomes.empty()));
  CHECK_FALSE(e.used);
  CHECK_FALSE(e.opinion);
  CHECK(e.bytes() == entry{}.bytes());
}

}  // namespace

TEST_CASE("an_entry_comes_back_empty_with_the_memory_of_its_texts", "[archive]") {
  entry_pool pool;
  batch done;
  done.push_back(full_entry());
  const entry* used = done[0].get();
  const char* text = used->frame.data();
  pool.give_back(done);
  CHECK(done.empty());

  batch empty;
  pool.take(empty);
  REQUIRE(empty.size() == 1);
  CHECK(empty[0].get() == used);
  check_is_empty(*empty[0]);
  CHECK(empty[0]->frame.data() == text);
  CHECK(pool.size() == 0);
}

TEST_CASE("the_pool_keeps_small_entries_up_to_a_number_of_bytes", "[archive]") {
  entry_pool pool;
  batch large;
  large.push_back(full_entry(entry_pool::max_kept_bytes + 1));
  pool.give_back(large);
  CHECK(pool.size() == 0);

  const auto give_back = [&](std::size_t frame_bytes) {
    batch done;
    for (int n = 0; n < 1'000; ++n) done.push_back(full_entry(frame_bytes));
    pool.give_back(done);
    CHECK(done.empty());
  };
  for (int i = 0; i < 10; ++i) give_back(10);
  const std::size_t small_entries = pool.size();
  CHECK(pool.bytes() <= entry_pool::max_bytes);
  CHECK(pool.bytes() > entry_pool::max_bytes - 1'000);

  batch all;
  while (pool.size() > 0) pool.take(all);
  CHECK(pool.bytes() == 0);
  for (int i = 0; i < 10; ++i) give_back(3'000);
  CHECK(pool.bytes() <= entry_pool::max_bytes);
  CHECK(pool.size() < small_entries / 2);

  batch taken;
  pool.take(taken);
  CHECK(taken.size() == entry_pool::entries_at_once);
}

TEST_CASE("what_was_archived_before_leaves_no_trace_in_an_entry_that_is_filled_again", "[archive]") {
  temporary_folder folder;
  reports seen;
  auto a = open_archive(folder.file("a.db"), seen);
  auto p = a->make_producer();
  push(*p, opening(1));
  entry_ptr first = p->make_entry();
  *first = message(1, 1);
  first->answered = "i1";
  first->ended = "success";
  REQUIRE(p->try_push(first));
  REQUIRE(seen.wait_for_durable(1, 1));

  entry_ptr second;
  for (int i = 0; i < 10'000 && (!second || second->frame.capacity() < 20); ++i) second = p->make_entry();
  REQUIRE(second->frame.capacity() >= 20);  // it was used before
  check_is_empty(*second);
}

}  // namespace digd::archive::testing
