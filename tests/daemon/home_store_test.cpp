// homes.db: what it keeps after a restart, and that failed calls change nothing.
#include "daemon/fleet/home_store.h"

#include <catch2/catch.hpp>

#include "tests/daemon/fleet_folder.h"

namespace digd::daemon {
namespace {

constexpr const char* homes_file = "homes.db";

void open_homes(home_store& store, const fleet_folder& in) {
  const archive::failure failed = store.open(in.file(homes_file), "a");
  INFO(failed.words);
  REQUIRE_FALSE(failed);
}

}  // namespace

TEST_CASE("homes_that_moved_are_kept_once_they_are_saved") {
  const fleet_folder in;
  {
    home_store store;
    open_homes(store, in);
    store.note_moved(3);
    CHECK(store.has_moved(3));
    CHECK(in.number(homes_file, "SELECT count(*) FROM moved") == 0);
    CHECK_FALSE(store.save_moved());
    store.note_moved(4);  // lost, so that the daemon finds out again
  }
  home_store again;
  open_homes(again, in);
  CHECK(again.has_moved(3));
  CHECK_FALSE(again.has_moved(4));
  CHECK_FALSE(again.forget(3));
  CHECK_FALSE(again.has_moved(3));
  CHECK(in.number(homes_file, "SELECT count(*) FROM moved") == 0);
}

TEST_CASE("an_adoption_is_incomplete_until_it_is_completed_also_after_a_restart") {
  const fleet_folder in;
  {
    home_store store;
    open_homes(store, in);
    CHECK_FALSE(store.begin_adoption({{.number = 5, .epoch = 2, .origin_archive = "b", .origin_number = 9}}));
    CHECK(store.is_incomplete(5));
  }
  home_store again;
  open_homes(again, in);
  CHECK(again.incomplete() == std::vector<std::uint64_t>{5});
  CHECK_FALSE(again.complete_adoption(5, 12));
  CHECK_FALSE(again.is_incomplete(5));
  CHECK(again.adopted(5)->kept == 12);
}

TEST_CASE("a_failed_write_of_homes_changes_neither_the_file_nor_the_memory") {
  const fleet_folder in;
  home_store store;
  open_homes(store, in);
  store.note_moved(3);
  CHECK_FALSE(store.save_moved());
  CHECK_FALSE(store.begin_adoption({{.number = 5, .epoch = 2, .origin_archive = "b", .origin_number = 9}}));
  in.execute(homes_file,
             "CREATE TRIGGER no_delete BEFORE DELETE ON adopted BEGIN SELECT RAISE(ABORT, 'refused'); END;"
             "CREATE TRIGGER no_move BEFORE INSERT ON moved BEGIN SELECT RAISE(ABORT, 'refused'); END;");
  CHECK(store.forget(5));
  CHECK(store.is_incomplete(5));
  store.note_moved(6);
  CHECK(store.save_moved());
  CHECK(store.has_moved(6));
  in.execute(homes_file, "DROP TRIGGER no_move");
  CHECK_FALSE(store.save_moved());  // what was not saved is saved later
  CHECK(in.number(homes_file, "SELECT count(*) FROM moved WHERE number = 6") == 1);
}

TEST_CASE("homes_of_an_earlier_digd_are_opened_and_get_an_id_of_their_own") {
  const fleet_folder in;
  {
    home_store store;
    open_homes(store, in);
    store.note_moved(3);
    CHECK_FALSE(store.save_moved());
  }
  for (const char* former : {"0x64696768", "0"}) {
    in.execute(homes_file, std::string("PRAGMA application_id = ") + former);
    home_store store;
    open_homes(store, in);
    CHECK(store.has_moved(3));
    CHECK(in.number(homes_file, "PRAGMA application_id") == home_store::application_id);
  }
}

TEST_CASE("a_file_that_has_no_homes_is_refused") {
  const fleet_folder in;
  SECTION("of webhooks, which had the same id") {
    in.execute(homes_file, "CREATE TABLE callbacks (id); PRAGMA application_id = 0x64696768; PRAGMA user_version = 1");
    home_store store;
    CHECK(store.open(in.file(homes_file), "a").words == "another program, or another part of digd, wrote the file");
  }
  SECTION("of a later digd") {
    {
      home_store store;
      open_homes(store, in);
    }
    in.execute(homes_file, "PRAGMA user_version = 2");
    home_store store;
    CHECK(store.open(in.file(homes_file), "a").words ==
          "another version of digd wrote the file: expected version 1, got 2");
  }
}

}  // namespace digd::daemon
