#include "cli/progress.h"

#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>
#include <ostream>
#include <sstream>
#include <string>

namespace digd::cli {

namespace {

using namespace std::chrono_literals;

// A terminal that tests can wait for.
class screen : public std::stringbuf {
 public:
  void wait_for(const std::string& text) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 60s, [&] { return shown_.find(text) != std::string::npos; });
    CHECK(shown_.find(text) != std::string::npos);
  }
  std::string shown() {
    const std::lock_guard lock(mutex_);
    return shown_;
  }

 private:
  int sync() override {
    const std::lock_guard lock(mutex_);
    shown_ += str();
    str({});
    changed_.notify_all();
    return 0;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string shown_;
};

constexpr progress::timing at_once{.after = 0ms, .every = 1ms}, never{.after = 24h, .every = 1ms};

}  // namespace

TEST_CASE("AProgressLineNamesThePhaseTheAmountAndTheTime", "[cli]") {
  const progress::phase logs{.name = "importing", .total = 200, .unit = "logs"};
  CHECK(progress_line(logs, 0, 2) == "importing: 0 of 200 logs, 2 s");
  CHECK(progress_line(logs, 50, 2) == "importing: 50 of 200 logs, 6 s left");
  CHECK(progress_line({.name = "Shapley values", .total = 300}, 100, 4) == "Shapley values: 33 %, 8 s left");
  const progress::phase file{.name = "reading", .total = 12'345'678, .unit = "bytes"};
  CHECK(progress_line(file, 6'172'839, 5) == "reading: 50 % of 12.3 MB, 5 s left");
  CHECK(progress_line({.name = "reading", .unit = "bytes"}, 999, 5) == "reading: 999 B, 5 s");
  CHECK(progress_line({.name = "replaying", .unit = "messages"}, 7, 5) == "replaying: 7 messages, 5 s");
  CHECK(progress_line({.name = "learning"}, 0, 61.2) == "learning: 61 s");
}

TEST_CASE("AProgressLineNeverPromisesMoreThanAll", "[cli]") {
  CHECK(progress_line({.name = "copying", .total = 100}, 170, 3) == "copying: 100 %, 0 s left");
}

TEST_CASE("ProgressIsShownAfterTheFirstUnitOfWorkAndClearedAtTheEnd", "[cli]") {
  screen terminal;
  std::ostream to(&terminal);
  {
    progress shown(to, at_once);
    shown.begin({.name = "importing", .total = 3, .unit = "logs"});
    terminal.wait_for("importing: 0 of 3 logs");
    shown.add();
    terminal.wait_for("importing: 1 of 3 logs");
    shown.begin({.name = "writing", .measure = [] { return 1; }});
    terminal.wait_for("writing: ");
    shown.set(1, 4);
    terminal.wait_for("writing: 25 %");
  }
  CHECK(terminal.shown().ends_with("\r\x1b[K"));
}

TEST_CASE("APausedProgressLeavesTheTerminalToItsHolder", "[cli]") {
  screen terminal;
  std::ostream to(&terminal);
  progress shown(to, at_once);
  shown.begin({.name = "checking"});
  terminal.wait_for("checking");
  {
    const auto held = shown.pause();
    const std::string before = terminal.shown();
    CHECK(before.ends_with("\r\x1b[K"));
    to << "ok      run\n" << std::flush;
    CHECK(terminal.shown() == before + "ok      run\n");
  }
  terminal.wait_for("ok      run\n\r\x1b[Kchecking");
}

TEST_CASE("AFastCommandShowsNoProgress", "[cli]") {
  screen terminal;
  std::ostream to(&terminal);
  {
    progress shown(to, never);
    shown.begin({.name = "importing"});
    shown.add();
    CHECK(shown.pause().owns_lock());
  }
  CHECK(terminal.shown().empty());
}

}  // namespace digd::cli
