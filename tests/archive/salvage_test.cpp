// Damaged archives: runs continue as far as they can be read; the damaged file stays for people to examine.
#include "archive/salvage.h"

#include <fstream>
#include <random>

#include "archive/reader.h"
#include "tests/archive/support.h"

namespace digd::archive::testing {

namespace {

constexpr std::uint64_t runs = 40, messages_of_each = 60;

// Each tenth has a detection, and each hundredth is longer than a page.
entry long_message(std::uint64_t run, std::uint64_t seq) {
  entry made = message(run, seq);
  made.n = seq + 1;
  const std::string filling(seq % 100 == 0 ? 10'000 : 200, 'x');
  made.frame = R"({"type":"time","seq":)" + std::to_string(seq) + R"(,"x":")" + filling + "\"}";
  if (seq % 10 == 0) {
    made.detections.push_back({.rule = "deadlock",
                               .severity = "failure",
                               .session = {},
                               .at = seq,
                               .ts = 1,
                               .event = {},
                               .agent = {},
                               .healed = false,
                               .healing = {},
                               .cause = "mode",
                               .reason = "why",
                               .json = R"({"reason":"why"})"});
  }
  return made;
}

void write_runs(const std::string& path) {
  reports seen;
  auto a = open_archive(path, seen);
  auto p = a->make_producer();
  for (std::uint64_t run = 1; run <= runs; ++run) {
    entry first = opening(run, "r" + std::to_string(run));
    first.n = 1;
    push(*p, std::move(first));
    for (std::uint64_t seq = 1; seq <= messages_of_each; ++seq) {
      push(*p, long_message(run, seq));
    }
  }
}

std::size_t damage(const std::string& path, unsigned seed, std::size_t pages) {
  std::mt19937 dice(seed);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto size = std::filesystem::file_size(path);
  constexpr std::size_t page = 4096;
  for (std::size_t i = 0; i < pages; ++i) {
    file.seekp(static_cast<std::streamoff>((1 + dice() % (size / page - 1)) *
                                           page));  // the first page stays: it identifies the archive
    for (std::size_t at = 0; at < page; ++at) file.put(static_cast<char>(dice()));
  }
  return size / page;
}

// Three runs at a time, as long as two levels of inner pages need.
void write_long_runs(const std::string& path, std::uint64_t seqs) {
  reports seen;
  auto a = open_archive(path, seen);
  auto p = a->make_producer();
  for (std::uint64_t run = 1; run <= 3; ++run) {
    entry first = opening(run, "r" + std::to_string(run));
    first.n = 1;
    push(*p, std::move(first));
  }
  for (std::uint64_t seq = 1; seq <= seqs; ++seq) {
    for (std::uint64_t run = 1; run <= 3; ++run) push(*p, long_message(run, seq));
  }
}

void overwrite_last_quarter(const std::string& path, char with) {
  const auto size = std::filesystem::file_size(path);
  const auto from = size / 4 * 3 / 4096 * 4096;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(from));
  file << std::string(size - from, with);
}

// Each run's entries and detections, as texts.
std::map<std::int64_t, std::vector<std::string>> everything(const std::string& path) {
  connection db;
  REQUIRE_FALSE(db.open(path, open_mode::read_only, {}));
  std::map<std::int64_t, std::vector<std::string>> map;
  for (const char* sql : {"SELECT run, id || ' ' || n || ' ' || frame FROM entries ORDER BY id",
                          "SELECT run, id || ' ' || entry || ' ' || json || reason FROM detections ORDER BY id"}) {
    statement rows;
    REQUIRE_FALSE(db.prepare(sql, rows));
    failure fault;
    while (rows.step(fault)) map[rows.integer(0)].push_back(rows.text(1));
    REQUIRE_FALSE(fault);
  }
  return map;
}

std::uint64_t entries_in(const std::string& path, std::int64_t run) {
  return static_cast<std::uint64_t>(
      ask(path, "SELECT count(*) FROM entries WHERE n > 0 AND run = " + std::to_string(run)));
}

// The texts of a run's first entries, and of the detections that they have: that of each tenth message.
std::vector<std::string> beginning_of(const std::vector<std::string>& whole, std::uint64_t entries,
                                      std::uint64_t messages_of_run = messages_of_each) {
  std::vector<std::string> beginning(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(entries));
  const std::uint64_t detections = (entries - 1) / 10;
  const auto first = whole.begin() + static_cast<std::ptrdiff_t>(messages_of_run) + 1;
  beginning.insert(beginning.end(), first, first + static_cast<std::ptrdiff_t>(detections));
  return beginning;
}

}  // namespace

TEST_CASE("whole_entries_are_kept_unchanged_whichever_pages_are_damaged", "[archive]") {
  temporary_folder folder;
  const std::string whole = folder.file("whole.sqlite");
  write_runs(whole);
  const auto expected = everything(whole);
  std::uint64_t kept_of_all = 0, cut_of_all = 0;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    const std::string path = folder.file("d" + std::to_string(seed) + ".sqlite");
    std::filesystem::copy_file(whole, path);
    damage(path, seed, 1 + seed % 4);
    std::string problem;
    const auto done = set_damage_aside(path, {}, &problem);
    INFO("seed " << seed << ": " << problem);
    REQUIRE(done.has_value());
    CHECK(std::filesystem::exists(done->aside));
    const auto found = everything(path);
    CHECK(found.size() == done->runs_kept);
    std::uint64_t cut = 0;
    for (const auto& [run, texts] : found) {
      cut += texts != expected.at(run);
      CHECK(texts == beginning_of(expected.at(run), entries_in(path, run)));
    }
    CHECK(cut <= done->runs_cut);  // a run may have been cut behind its last detection
    if (done->was_readable) CHECK(done->runs_kept + done->runs_lost >= runs);
    kept_of_all += done->runs_kept;
    cut_of_all += done->runs_cut;
    CHECK(ask(path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'") == 0);
    CHECK(ask(path, "SELECT count(*) FROM pragma_foreign_key_check") == 0);
    reports seen;
    auto again = open_archive(path, seen);  // and it is an archive like any other
    if (done->was_readable) CHECK(again->next_run_number() > runs);
    auto p = again->make_producer();
    push(*p, opening(again->next_run_number(), "new"));
  }
  CHECK(kept_of_all > 0);
  CHECK(cut_of_all > 0);
}

// SQLite reaches no entry: all inner pages of their table are in the last quarter.
TEST_CASE("whole_entries_are_kept_when_the_inner_pages_are_lost", "[archive]") {
  temporary_folder folder;
  constexpr std::uint64_t seqs = 2'700;
  const std::string whole = folder.file("whole.sqlite");
  write_long_runs(whole, seqs);
  const auto first_inner = ask(whole,
                               "SELECT min(pageno) FROM dbstat WHERE name = 'entries' AND pagetype = 'internal'"
                               " AND path <> '/'");
  REQUIRE(first_inner > ask(whole, "SELECT count(*) FROM dbstat") * 3 / 4 + 2);  // each page has a row, but for a few
  const auto expected = everything(whole);
  for (const char with : {'\0', '\r', '\xa5'}) {
    INFO("overwritten with " << static_cast<int>(with));
    const std::string path = folder.file("d" + std::to_string(static_cast<unsigned char>(with)) + ".sqlite");
    std::filesystem::copy_file(whole, path);
    overwrite_last_quarter(path, with);
    std::string problem;
    const auto done = set_damage_aside(path, {}, &problem);
    INFO(problem);
    REQUIRE(done.has_value());
    CHECK(done->runs_kept == 3);
    CHECK(done->runs_cut == 3);
    CHECK(done->runs_lost == 0);
    CHECK(done->entries_kept > 3 * seqs * 7 / 10);
    for (const auto& [run, texts] : everything(path)) {
      CHECK(texts == beginning_of(expected.at(run), entries_in(path, run), seqs));
    }
    CHECK(ask(path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'") == 0);
    CHECK(ask(path, "SELECT count(*) FROM pragma_foreign_key_check") == 0);
    reports seen;
    CHECK(open_archive(path, seen)->next_run_number() > 3);
    CHECK(ask(path, "SELECT seq FROM sqlite_sequence WHERE name = 'entries'") >=
          static_cast<std::int64_t>(3 * (seqs + 1)));
    CHECK_FALSE(std::filesystem::exists(path + ".salvaging-rows"));
  }
}

TEST_CASE("runs_are_kept_when_the_beginning_of_the_file_is_lost", "[archive]") {
  temporary_folder folder;
  const std::string path = folder.file();
  write_long_runs(path, 500);
  const auto expected = everything(path);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file << "SQLite format 3" << '\0' << std::string(84, 'x');
  }
  std::string problem;
  const auto done = set_damage_aside(path, {}, &problem);
  INFO(problem);
  REQUIRE(done.has_value());
  CHECK(done->was_readable);
  CHECK(done->runs_kept == 3);
  const auto found = everything(path);
  for (const auto& [run, texts] : found) {
    CHECK(entries_in(path, run) >= 490);  // the last detection may have been followed by another one
    CHECK(texts == beginning_of(expected.at(run), entries_in(path, run), 500));
  }
}

TEST_CASE("a_file_of_which_nothing_can_be_read_is_set_aside_too", "[archive]") {
  temporary_folder folder;
  write_runs(folder.file());
  std::filesystem::resize_file(folder.file(), 4096 + 100);
  std::string problem;
  const auto done = set_damage_aside(folder.file(), {}, &problem);
  REQUIRE(done.has_value());
  CHECK(done->runs_kept == 0);
  CHECK(std::filesystem::file_size(done->aside) == 4096 + 100);
  CHECK(ask(folder.file(), "SELECT count(*) FROM runs") == 0);
}

// The states after a kill: between the steps, and in the middle of the first.
TEST_CASE("an_interrupted_salvage_starts_again_or_completes", "[archive]") {
  temporary_folder folder;
  const std::string path = folder.file();
  write_runs(path);
  damage(path, 2, 1);
  std::filesystem::copy_file(path, folder.file("damaged"));
  std::ofstream(path + ".salvaging") << "half of something";
  std::string problem;
  const auto done = set_damage_aside(path, {}, &problem);
  INFO(problem);
  REQUIRE(done.has_value());
  CHECK(done->runs_kept > 0);
  const auto expected = everything(path);

  // The new file is made, and the damaged one still in its place.
  std::filesystem::rename(path, path + ".salvaged");
  std::filesystem::copy_file(folder.file("damaged"), path);
  {
    reports seen;
    auto again = open_archive(path, seen);
    CHECK(again->next_run_number() > runs);
  }
  CHECK(everything(path) == expected);
  CHECK_FALSE(std::filesystem::exists(path + ".salvaged"));
}

TEST_CASE("a_damaged_number_does_not_prolong_the_salvage", "[archive]") {
  temporary_folder folder;
  write_runs(folder.file());
  ask(folder.file(), "UPDATE sqlite_sequence SET seq = 9223372036854775807 WHERE name = 'runs'");
  std::string problem;
  const auto done = set_damage_aside(folder.file(), {}, &problem);
  INFO(problem);
  REQUIRE(done.has_value());
  CHECK(done->runs_kept == runs);
  CHECK(done->runs_lost == 0);
}

TEST_CASE("no_file_is_set_aside_while_a_process_has_it_open", "[archive]") {
  temporary_folder folder;
  reports seen;
  auto open = open_archive(folder.file(), seen);
  std::string problem;
  CHECK_FALSE(set_damage_aside(folder.file(), {}, &problem).has_value());
  CHECK_FALSE(problem.empty());
  CHECK(std::filesystem::exists(folder.file()));
}

}  // namespace digd::archive::testing
