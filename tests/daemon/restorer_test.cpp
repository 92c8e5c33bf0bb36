// Restores from a model of the stream: which entries count, and which runs stay incomplete.
#include "daemon/fleet/restorer.h"

#include <catch2/catch.hpp>

#include "tests/daemon/fleet_folder.h"

namespace digd::daemon {
namespace {

std::string entry_at(std::uint64_t n) {
  return R"({"format":1,"entry":1,"run":"r","run_number":9,"kind":")" + std::string(n == 1 ? "run_opened" : "firing") +
         R"(","n":)" + std::to_string(n) + R"(,"frame":"{}","detections":[],"interventions":[],"outcomes":[]})";
}

// A stream with entries of the run "r" in the given order, and the mark of its new home.
class short_stream final : public stream {
 public:
  short_stream(std::vector<std::uint64_t> positions, std::string scan_problem)
      : positions_(std::move(positions)), scan_problem_(std::move(scan_problem)) {}
  bool is_closed() const override { return false; }
  std::string publish(std::span<const stream_message>, const std::function<bool()>&) override { return {}; }
  std::string publish_marker(const stream_message&, std::uint64_t& sequence) override {
    sequence = 5;
    return {};
  }
  std::string read_bounds(stream_bounds& bounds) override {
    bounds = {1, 5};
    return {};
  }
  std::string scan(std::uint64_t, std::uint64_t, const scan_handler& each) override {
    for (const std::uint64_t n : positions_) each("b:" + std::to_string(n), entry_at(n));
    each("a:moved:1:2", R"({"format":1,"kind":"run_moved","run":"r","run_number":1,"epoch":2,)"
                        R"("origin_archive":"b","origin_run_number":9})");
    return scan_problem_;
  }
  std::size_t max_message_bytes() const override { return 1'000'000; }
  void announce(std::string_view, bool) override {}

 private:
  const std::vector<std::uint64_t> positions_;
  const std::string scan_problem_;
};

struct restoring_daemon {
  restoring_daemon() : runs(folder) { REQUIRE_FALSE(homes.open(folder.file("homes.db"), "a")); }

  restorer make(restorer::barrier durable) {
    return {runs.get(), runs.producer(), homes, "a", std::move(durable), [] { return false; }};
  }
  restorer::result restore(std::vector<std::uint64_t> positions, std::string scan_problem = {}) {
    short_stream from(std::move(positions), std::move(scan_problem));
    const run_record home{.run = "r",
                          .host = "h",
                          .incarnation = "i",
                          .archive = "a",
                          .number = number,
                          .epoch = 2,
                          .origin_archive = "b",
                          .origin_number = 9};
    return make([this] { return runs.wait_until_durable(); }).restore(from, {home}).front();
  }

  const fleet_folder folder;
  fleet_archive runs;
  home_store homes;
  const std::uint64_t number = runs.get().next_run_number();
};

}  // namespace

TEST_CASE("a_restored_run_is_whole_once_its_entries_are_durable") {
  restoring_daemon daemon;
  const restorer::result done = daemon.restore({1});
  CHECK(done.problem.empty());
  CHECK(done.entries == 1);
  CHECK_FALSE(daemon.homes.is_incomplete(daemon.number));
  CHECK(daemon.homes.adopted(daemon.number)->kept == 1);
}

TEST_CASE("entries_that_were_published_again_are_restored_in_their_order") {
  restoring_daemon daemon;
  const restorer::result done = daemon.restore({3, 1, 4, 3, 2, 6});  // entry 5 is missing, so entry 6 does not count
  CHECK(done.problem.empty());
  CHECK(done.entries == 4);
  std::vector<std::uint64_t> positions;
  const auto read = daemon.runs.get().each_entry(daemon.number, [&](const archive::stored_entry& entry) {
    positions.push_back(entry.n);
    return true;
  });
  CHECK(read);
  CHECK(positions == std::vector<std::uint64_t>{1, 2, 3, 4});
}

TEST_CASE("a_run_whose_first_entries_the_stream_has_forgotten_is_not_restored") {
  restoring_daemon daemon;
  CHECK(daemon.restore({2, 3}).problem == "entries of the run are missing in the stream");
}

TEST_CASE("a_failed_restore_stays_incomplete_until_its_removal_is_durable") {
  restoring_daemon daemon;
  CHECK(daemon.restore({1}, "the server is away").problem == "the server is away");
  CHECK(daemon.homes.is_incomplete(daemon.number));
  CHECK(daemon.make([] { return "the disk is away"; }).remove_incomplete() == "the disk is away");
  CHECK(daemon.homes.is_incomplete(daemon.number));
  CHECK(daemon.make([&] { return daemon.runs.wait_until_durable(); }).remove_incomplete().empty());
  CHECK_FALSE(daemon.homes.is_incomplete(daemon.number));
  CHECK(daemon.runs.get().numbers_of("r")->empty());
}

}  // namespace digd::daemon
