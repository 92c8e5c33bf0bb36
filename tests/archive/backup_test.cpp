#include "archive/backup.h"

#include <sys/stat.h>

#include <atomic>
#include <fstream>

#include "tests/archive/support.h"

namespace digd::archive::testing {

namespace {

constexpr std::uint64_t messages = 2000;

void write_messages(const std::string& path) {
  reports seen;
  auto a = open_archive(path, seen);
  auto p = a->make_producer();
  push(*p, opening(1));
  for (std::uint64_t seq = 1; seq <= messages; ++seq) push(*p, message(1, seq));
}

bool exists(const std::string& path) { return std::filesystem::exists(path); }

}  // namespace

TEST_CASE("a_backup_is_a_whole_archive_that_only_its_owner_reads", "[archive]") {
  temporary_folder folder;
  const std::string copy = folder.file("copy's.sqlite");
  write_messages(folder.file());
  std::string problem;
  const auto made = back_up(folder.file(), copy, &problem);
  INFO(problem);
  REQUIRE(made.has_value());
  CHECK(made->runs == 1);
  CHECK(made->entries == messages + 1);
  CHECK(made->bytes == std::filesystem::file_size(copy));
  struct stat status {};
  REQUIRE(::stat(copy.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  CHECK_FALSE(exists(unfinished_copy_of(copy)));
  CHECK_FALSE(exists(copy + "-wal"));

  reports seen;
  const auto opened = open_archive(copy, seen);  // digd itself takes it
  CHECK(ask(copy, "SELECT count(*) FROM entries") == messages + 1);
  for (const char* kept : {"SELECT count(*) FROM sqlite_sequence", "PRAGMA user_version", "PRAGMA application_id"}) {
    INFO(kept);
    CHECK(ask(copy, kept) == ask(folder.file(), kept));
  }
}

TEST_CASE("a_backup_of_a_busy_archive_holds_everything_that_was_durable_when_it_began", "[archive]") {
  temporary_folder folder;
  reports seen;
  auto a = open_archive(folder.file(), seen);
  auto p = a->make_producer();
  push(*p, opening(1));
  push(*p, message(1, 1));
  REQUIRE(seen.wait_for_durable(1, 1));
  std::atomic<bool> stop = false;
  std::thread writes([&] {
    for (std::uint64_t seq = 2; !stop; ++seq) push(*p, message(1, seq));
  });
  std::string problem;
  for (int i = 0; i < 5; ++i) {
    const std::string copy = folder.file("copy" + std::to_string(i));
    const auto durable_before = static_cast<std::int64_t>(seen.durable_seq(1));
    const auto made = back_up(folder.file(), copy, &problem);
    INFO(problem);
    CHECK(made.has_value());
    if (!made) break;
    CHECK(ask(copy, "SELECT max(seq) FROM entries") >= durable_before);
    CHECK(ask(copy, "SELECT count(*) = max(n) FROM entries WHERE kind = 'message'") == 1);
  }
  stop = true;
  writes.join();
}

TEST_CASE("a_backup_overwrites_nothing_and_copies_only_archives", "[archive]") {
  temporary_folder folder;
  std::string problem;
  CHECK_FALSE(back_up(folder.file("none"), folder.file("copy"), &problem).has_value());
  CHECK(problem.find("there is no file") != std::string::npos);
  std::ofstream(folder.file("text")) << "no archive, only some text that is long enough to be read";
  CHECK_FALSE(back_up(folder.file("text"), folder.file("copy"), &problem).has_value());
  write_messages(folder.file());
  std::ofstream(folder.file("mine")) << "mine";
  CHECK_FALSE(back_up(folder.file(), folder.file("mine"), &problem).has_value());
  CHECK(problem.find("exists already") != std::string::npos);
  CHECK(std::filesystem::file_size(folder.file("mine")) == 4);
  CHECK_FALSE(exists(folder.file("copy")));
  CHECK_FALSE(exists(unfinished_copy_of(folder.file("copy"))));
}

TEST_CASE("a_damaged_copy_is_not_restored", "[archive]") {
  temporary_folder folder;
  const std::string copy = folder.file("copy");
  write_messages(folder.file());
  REQUIRE(back_up(folder.file(), copy, nullptr).has_value());
  {
    std::fstream file(copy, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(copy) / 2));
    file << std::string(20'000, 'x');
  }
  std::string problem;
  CHECK_FALSE(restore(copy, folder.file("other.sqlite"), false, &problem).has_value());
  INFO(problem);
  CHECK_FALSE(problem.empty());
  CHECK_FALSE(exists(folder.file("other.sqlite")));
  CHECK_FALSE(exists(unfinished_copy_of(folder.file("other.sqlite"))));
}

TEST_CASE("restore_keeps_the_archive_that_was_there", "[archive]") {
  temporary_folder folder;
  const std::string copy = folder.file("copy");
  write_messages(folder.file());
  REQUIRE(back_up(folder.file(), copy, nullptr).has_value());
  std::ofstream(folder.file() + "-wal") << "a log of the old file";
  std::string problem;
  CHECK_FALSE(restore(copy, folder.file(), false, &problem).has_value());
  CHECK(problem.find("--replace") != std::string::npos);
  const auto done = restore(copy, folder.file(), true, &problem);
  INFO(problem);
  REQUIRE(done.has_value());
  CHECK(exists(done->aside));
  CHECK(exists(done->aside + "-wal"));
  CHECK_FALSE(exists(folder.file() + "-wal"));
  CHECK(ask(folder.file(), "SELECT count(*) FROM entries") == messages + 1);
  CHECK(ask(copy, "SELECT count(*) FROM entries") == messages + 1);
}

TEST_CASE("a_restored_archive_is_not_replaced_by_what_an_interrupted_salvage_left", "[archive]") {
  temporary_folder folder;
  const std::string copy = folder.file("copy"), left = folder.file() + ".salvaged";
  write_messages(folder.file());
  REQUIRE(back_up(folder.file(), copy, nullptr).has_value());
  std::filesystem::copy_file(copy, left);
  REQUIRE(restore(copy, folder.file(), true, nullptr).has_value());
  CHECK_FALSE(exists(left));
}

TEST_CASE("restore_is_refused_while_the_archive_is_open", "[archive]") {
  temporary_folder folder;
  const std::string copy = folder.file("copy");
  write_messages(folder.file());
  REQUIRE(back_up(folder.file(), copy, nullptr).has_value());
  reports seen;
  const auto opened = open_archive(folder.file(), seen);
  std::string problem;
  CHECK_FALSE(restore(copy, folder.file(), true, &problem).has_value());
  CHECK(problem.find("stop it first") != std::string::npos);
}

}  // namespace digd::archive::testing
