#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "archive/reader.h"
#include "archive/schema.h"
#include "tests/archive/support.h"

namespace digd::archive::testing {

namespace {

// The error from opening the file, and its text.
archive_error error_of(const std::string& path, std::string& problem) {
  options options;
  options.path = path;
  auto opened = archive::open(options, {}, &problem);
  if (opened) return archive_error::none;
  CHECK_FALSE(problem.empty());
  CHECK_FALSE(opened.error().message().empty());
  return static_cast<archive_error>(opened.error().value());
}

archive_error error_of(const std::string& path) {
  std::string problem;
  return error_of(path, problem);
}

void write_some(const std::string& path, std::uint64_t messages = 2000) {
  reports seen;
  auto a = open_archive(path, seen);
  auto p = a->make_producer();
  push(*p, opening(1));
  for (std::uint64_t seq = 1; seq <= messages; ++seq) push(*p, message(1, seq));
}

void overwrite(const std::string& path, std::int64_t at, const std::string& with) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(at);
  file << with;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a_new_file_carries_digds_mark_and_version", "[archive]") {
  temporary_folder folder;
  write_some(folder.file());
  CHECK(ask(folder.file(), "PRAGMA application_id") == application_id);
  CHECK(ask(folder.file(), "PRAGMA user_version") == schema_version);
  CHECK(ask(folder.file(), "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'") == 0);
  CHECK(ask(folder.file(), "SELECT count(*) FROM pragma_foreign_key_check") == 0);
}

TEST_CASE("only_its_owner_may_read_the_archive_with_any_umask", "[archive]") {
  using std::filesystem::perms;
  temporary_folder folder;
  const mode_t before = ::umask(0);
  const auto check_private = [&](std::uint64_t run) {
    reports seen;
    auto a = open_archive(folder.file(), seen);
    auto p = a->make_producer();
    push(*p, opening(run, "r" + std::to_string(run)));
    while (a->queued() > 0) std::this_thread::yield();
    for (const char* part : {"", "-wal", "-shm", ".lock"}) {
      INFO(part);
      CHECK(std::filesystem::status(folder.file() + part).permissions() == (perms::owner_read | perms::owner_write));
    }
  };
  check_private(1);
  // As an earlier digd left it.
  std::filesystem::permissions(folder.file(), perms::group_read | perms::others_read,
                               std::filesystem::perm_options::add);
  check_private(2);
  ::umask(before);
}

TEST_CASE("a_newer_schema_is_refused_and_left_unchanged", "[archive]") {
  temporary_folder folder;
  write_some(folder.file());
  const std::string newer = std::to_string(schema_version + 1);
  ask(folder.file(), "PRAGMA user_version = " + newer);
  const auto before = content(folder.file());
  std::string problem;
  CHECK(error_of(folder.file(), problem) == archive_error::newer_schema);
  CHECK(problem.find("version " + newer) != std::string::npos);
  CHECK(content(folder.file()) == before);
  auto read = reader::open(folder.file());
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error() == archive_error::newer_schema);
}

TEST_CASE("another_programs_file_is_refused_and_left_unchanged", "[archive]") {
  temporary_folder folder;
  {
    connection db;
    REQUIRE_FALSE(db.open(folder.file(), open_mode::create, {}));
    REQUIRE_FALSE(db.execute("CREATE TABLE shopping (item)"));
  }
  std::ofstream(folder.file("letter")) << "Dear reader, this is no database at all, and it is long enough to be one.";
  const auto before = content(folder.file());
  CHECK(error_of(folder.file()) == archive_error::not_an_archive);
  CHECK(content(folder.file()) == before);
  CHECK(error_of(folder.file("letter")) == archive_error::not_an_archive);
  CHECK(content(folder.file("letter")).starts_with("Dear reader"));
}

TEST_CASE("a_second_daemon_on_the_same_file_is_locked_out", "[archive]") {
  temporary_folder folder;
  reports seen;
  auto a = open_archive(folder.file(), seen);
  CHECK(error_of(folder.file()) == archive_error::locked);
  a->stop();
  CHECK(error_of(folder.file()) == archive_error::locked);  // it still has it open
  a.reset();
  CHECK(error_of(folder.file()) == archive_error::none);
}

TEST_CASE("a_folder_that_is_not_there_cannot_be_opened", "[archive]") {
  temporary_folder folder;
  CHECK(error_of(folder.file("none/digd.sqlite")) == archive_error::cannot_open);
}

TEST_CASE("a_file_cut_short_is_damaged", "[archive]") {
  temporary_folder folder;
  write_some(folder.file());
  std::filesystem::resize_file(folder.file(), std::filesystem::file_size(folder.file()) - 8192);
  std::string problem;
  CHECK(error_of(folder.file(), problem) == archive_error::corrupt);
  CHECK(problem.find("damaged") != std::string::npos);
}

TEST_CASE("a_damaged_page_is_found", "[archive]") {
  temporary_folder folder;
  write_some(folder.file());
  auto leaf =
      ask(folder.file(), "SELECT pageno FROM dbstat WHERE name = 'entries' AND pagetype = 'leaf' LIMIT 1 OFFSET 3");
  overwrite(folder.file(), (leaf - 1) * 4096, std::string(300, '\xee'));
  CHECK(error_of(folder.file()) == archive_error::corrupt);
}

TEST_CASE("a_damaged_beginning_is_not_taken_for_another_programs_file", "[archive]") {
  temporary_folder folder;
  write_some(folder.file());
  overwrite(folder.file(), 0, "rubbish rubbish");
  CHECK(error_of(folder.file()) == archive_error::corrupt);
}

TEST_CASE("missing_tables_are_damage", "[archive]") {
  temporary_folder folder;
  write_some(folder.file());
  ask(folder.file(), "DROP TABLE outcomes");
  CHECK(error_of(folder.file()) == archive_error::corrupt);
}

TEST_CASE("a_reader_of_its_own_sees_what_the_daemon_writes", "[archive]") {
  temporary_folder folder;
  reports seen;
  auto a = open_archive(folder.file(), seen);
  auto r = reader::open(folder.file());
  REQUIRE(r.has_value());
  auto p = a->make_producer();
  push(*p, opening(1));
  push(*p, message(1, 1));
  REQUIRE(seen.wait_for_durable(1, 1));
  auto runs = (*r)->runs();
  REQUIRE(runs.has_value());
  CHECK(runs->size() == 1);
}

TEST_CASE("a_long_log_held_by_a_reader_does_not_look_like_damage", "[archive]") {
  temporary_folder folder;
  connection other;  // opened first, so that closing the archive leaves the log
  reports seen;
  {
    auto a = open_archive(folder.file(), seen);
    REQUIRE_FALSE(other.open(folder.file(), open_mode::read_only, {}));
    auto p = a->make_producer();
    push(*p, opening(1));
    push(*p, message(1, 1));
    REQUIRE(seen.wait_for_durable(1, 1));
    REQUIRE_FALSE(other.execute("BEGIN; SELECT count(*) FROM entries"));
    for (std::uint64_t seq = 2; seq <= 5000; ++seq) push(*p, message(1, seq));
  }
  auto a = open_archive(folder.file(), seen);
  CHECK(entries_of(*a, 1).size() == 5001);
}

}  // namespace digd::archive::testing
