// Entries that cross to the writer in parcels, and the entries and parcels that are filled again.
#include "archive/parcel.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "archive/parcel_pool.h"
#include "archive/spare_entries.h"
#include "archive/store.h"
#include "tests/archive/support.h"

namespace digd::archive::testing {

namespace {

plain_entry full_content(std::string_view frame) {
  return {.kind = entry_kind::refused,
          .only_deliveries = true,
          .run_number = 1,
          .seq = 2,
          .n = 3,
          .ts = 4,
          .arrived_ms = 5,
          .session = "session",
          .type = "type",
          .frame = frame,
          .code = "code",
          .verdicts = "verdicts",
          .ended = "ended",
          .answered = "answered",
          .used = usage_amounts{1, 2, 3, 4, 5}};
}

entry_ptr full_entry(std::size_t frame_bytes = 500) {
  auto made = std::make_unique<entry>();
  made->assign(full_content(std::string(frame_bytes, 'f')));
  made->run = made->token = "text";
  made->detections.emplace_back();
  made->interventions.emplace_back();
  made->outcomes.emplace_back();
  made->opinion = std::make_shared<judgement_row>();
  return made;
}

void check_is_empty(const entry& e) {
  CHECK(e.kind == entry_kind::message);
  CHECK((e.run_number == 0 && e.seq == 0 && e.n == 0 && e.ts == 0 && e.arrived_ms == 0));
  CHECK(e.run + e.session + e.type + e.frame + e.code + e.token + e.verdicts + e.ended == "");
  CHECK_FALSE((e.answered || e.only_deliveries));
  CHECK((e.detections.empty() && e.interventions.empty() && e.outcomes.empty()));
  CHECK_FALSE(e.used);
  CHECK_FALSE(e.opinion);
  CHECK(e.bytes() == entry{}.bytes());
}

void check_has_full_content(const entry& e, const std::string& frame) {
  CHECK(e.kind == entry_kind::refused);
  CHECK((e.run_number == 1 && e.seq == 2 && e.n == 3 && e.ts == 4 && e.arrived_ms == 5));
  CHECK((e.session == "session" && e.type == "type" && e.frame == frame && e.code == "code"));
  CHECK((e.verdicts == "verdicts" && e.only_deliveries && e.ended == "ended" && e.answered == "answered"));
  CHECK(e.used == usage_amounts{1, 2, 3, 4, 5});
}

}  // namespace

TEST_CASE("a_parcel_gives_the_entries_that_were_packed_in_their_order", "[archive]") {
  parcel packed;
  spare_entries spare;
  const std::string long_frame(3 * parcel::max_packed_bytes, 'x');
  packed.add({.run_number = 7, .seq = 1, .type = "event"});
  CHECK_FALSE(packed.is_full());
  packed.add(full_content("frame"));
  packed.add(full_content(long_frame));
  CHECK(packed.is_full());
  packed.add(boxed(message(7, 4)));
  CHECK(packed.entries() == 4);

  batch entries;
  entries.push_back(boxed(message(7, 0)));  // what is there stays
  const std::size_t bytes = packed.bytes();
  packed.unpack(entries, spare);
  REQUIRE(entries.size() == 5);
  CHECK((entries[1]->kind == entry_kind::message && entries[1]->run_number == 7 && entries[1]->type == "event"));
  CHECK_FALSE(entries[1]->answered);
  CHECK_FALSE(entries[1]->used);
  check_has_full_content(*entries[2], "frame");
  check_has_full_content(*entries[3], long_frame);
  CHECK((entries[4]->seq == 4 && entries[4]->frame == message(7, 4).frame));

  std::size_t sum = 0;
  for (std::size_t i = 1; i < entries.size(); ++i) sum += entries[i]->bytes();
  CHECK(bytes == sum);  // the queue counts one against the other
  CHECK((packed.entries() == 0 && packed.bytes() == 0 && !packed.is_full()));
  CHECK(packed.memory() <= sizeof packed + parcel::max_spare_bytes);
}

TEST_CASE("a_parcel_gives_back_an_entry_that_was_not_packed", "[archive]") {
  parcel alone;
  entry_ptr whole = boxed(message(1, 1));
  const entry* const before = whole.get();
  alone.add(std::move(whole));
  CHECK(alone.is_full());
  CHECK(alone.take_whole().get() == before);
  CHECK((alone.entries() == 0 && alone.bytes() == 0 && !alone.is_full()));
}

TEST_CASE("a_parcel_of_small_entries_is_full_at_its_size", "[archive]") {
  parcel packed;
  while (!packed.is_full()) packed.add(full_content("frame"));
  CHECK(packed.entries() > 20);
  CHECK(packed.memory() <= sizeof packed + 2 * parcel::max_packed_bytes);
}

TEST_CASE("an_entry_comes_back_empty_with_the_memory_of_its_texts", "[archive]") {
  spare_entries spare;
  batch done;
  done.push_back(full_entry());
  const entry* used = done[0].get();
  const char* text = used->frame.data();
  spare.give_back(done);
  CHECK(done.empty());

  const entry_ptr taken = spare.take();
  CHECK(taken.get() == used);
  check_is_empty(*taken);
  CHECK(taken->frame.data() == text);
  CHECK((spare.size() == 0 && spare.bytes() == 0));
}

TEST_CASE("small_entries_are_kept_up_to_a_number_of_bytes", "[archive]") {
  spare_entries spare;
  batch large;
  large.push_back(full_entry(spare_entries::max_kept_bytes + 1));
  spare.give_back(large);
  CHECK(spare.size() == 0);

  const auto give_back = [&](std::size_t frame_bytes) {
    batch done;
    for (int n = 0; n < 1'000; ++n) done.push_back(full_entry(frame_bytes));
    spare.give_back(done);
    CHECK(done.empty());
  };
  for (int i = 0; i < 10; ++i) give_back(10);
  const std::size_t small_entries = spare.size();
  CHECK(spare.bytes() <= spare_entries::max_bytes);
  CHECK(spare.bytes() > spare_entries::max_bytes - 1'000);

  while (spare.size() > 0) static_cast<void>(spare.take());
  CHECK(spare.bytes() == 0);
  for (int i = 0; i < 10; ++i) give_back(3'000);
  CHECK(spare.bytes() <= spare_entries::max_bytes);
  CHECK(spare.size() < small_entries / 2);
}

TEST_CASE("parcels_are_kept_up_to_a_number_of_bytes", "[archive]") {
  parcel_pool pool;
  spare_entries spare;
  batch entries;
  std::vector<parcel_ptr> done, taken;
  for (int n = 0; n < 2'000; ++n) {
    done.push_back(std::make_unique<parcel>());
    done.back()->add(full_content("frame"));
    done.back()->unpack(entries, spare);
  }
  const parcel* const first = done[0].get();
  pool.give_back(done);
  CHECK(done.empty());
  CHECK(pool.bytes() <= parcel_pool::max_bytes);
  CHECK(pool.bytes() > parcel_pool::max_bytes - 2 * parcel::min_bytes);

  pool.take(taken);
  CHECK(taken.size() == parcel_pool::max_parcels_at_once);
  while (pool.bytes() > 0) pool.take(taken);
  CHECK(taken.back().get() == first);
}

TEST_CASE("the_archive_stores_parcels_and_entries_alone_in_their_order", "[archive]") {
  temporary_folder folder;
  reports seen;
  auto a = open_archive(folder.file("a.db"), seen);
  auto p = a->make_producer();
  push(*p, opening(1));
  constexpr std::uint64_t rounds = 300;
  std::uint64_t n = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    parcel_ptr packed = p->make_parcel();
    const auto add = [&] {
      const entry content = message(1, ++n);
      packed->add({.run_number = 1,
                   .seq = content.seq,
                   .n = content.n,
                   .ts = content.ts,
                   .arrived_ms = content.arrived_ms,
                   .session = content.session,
                   .type = content.type,
                   .frame = content.frame});
    };
    for (std::uint64_t i = 0; i <= round % 40; ++i) add();
    if (round % 3 == 0) packed->add(boxed(message(1, ++n)));
    while (!p->try_push(packed)) std::this_thread::yield();
    CHECK_FALSE(packed);
    if (round % 7 == 0) push(*p, message(1, ++n));
  }
  REQUIRE(seen.wait_for_durable(1, n));
  std::uint64_t next = 0;
  REQUIRE(a->each_entry(1, [&](const stored_entry& stored) {
    if (stored.kind == entry_kind::message) {
      CHECK(stored.seq == ++next);
      CHECK(stored.frame == message(1, stored.seq).frame);
    }
    return true;
  }));
  CHECK(next == n);
  CHECK(a->queued() == 0);
  CHECK(a->spare_bytes() > 0);
  CHECK(a->spare_bytes() <= parcel_pool::max_bytes + spare_entries::max_bytes);
}

}  // namespace digd::archive::testing
