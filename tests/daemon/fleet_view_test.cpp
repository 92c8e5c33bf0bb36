// A viewer whose process hangs: everyone who waits gets an answer, and the viewer stops in time.
#include "daemon/fleet/view/fleet_view.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <future>

#include "tests/daemon/fleet_folder.h"

namespace digd::daemon {
namespace {

namespace http = boost::beast::http;
using namespace std::chrono_literals;

// A viewer whose interpreter is a shell script.
class scripted_view {
 public:
  explicit scripted_view(const std::string& script, const fleet_view::time_limits& limits = {}) {
    const std::string program = folder_.file("program");
    std::ofstream(program) << "#!/bin/sh\n" << script << '\n';
    ::chmod(program.c_str(), 0700);
    ::setenv("DIGD_PYTHON", program.c_str(), 1);
    fleet_settings fleet;
    fleet.view = {"nats://user:secret@h"};
    view_ = std::make_unique<fleet_view>(fleet, folder_.path(), limits);
    REQUIRE(view_->prepare().empty());
    view_->start({.changed = [] {}, .removed = [](std::uint64_t) {}});
    while (view_->problem() == "the fleet is being read") std::this_thread::yield();
  }
  ~scripted_view() { ::unsetenv("DIGD_PYTHON"); }

  fleet_view& operator*() { return *view_; }
  fleet_view* operator->() { return view_.get(); }
  std::string file(const char* name) const { return folder_.file(name); }

 private:
  fleet_folder folder_;
  std::unique_ptr<fleet_view> view_;
};

std::future<http_response> ask(fleet_view& view, const char* question) {
  auto answered = std::make_shared<std::promise<http_response>>();
  view.ask(question, {}, [answered](http_response&& answer) { answered->set_value(std::move(answer)); });
  return answered->get_future();
}

std::future<bool> open(fleet_view& view, const std::string& run) {
  auto opened = std::make_shared<std::promise<bool>>();
  view.open(run, [opened](std::optional<http_response> refusal) { opened->set_value(!refusal); });
  return opened->get_future();
}

}  // namespace

TEST_CASE("a_viewer_stops_though_its_process_does_not_end_with_its_input") {
  scripted_view view("exec sleep 600", {.max_end = 100ms});
  auto answer = ask(*view, "fleet");
  const auto began = std::chrono::steady_clock::now();
  view->stop();
  CHECK(std::chrono::steady_clock::now() - began < 15s);
  REQUIRE(answer.wait_for(0s) == std::future_status::ready);
  CHECK(answer.get().result() == http::status::service_unavailable);
  auto late = ask(*view, "fleet");
  REQUIRE(late.wait_for(0s) == std::future_status::ready);
}

TEST_CASE("a_process_that_answers_nothing_is_ended_and_those_who_wait_are_answered") {
  scripted_view view("exec sleep 600", {.max_answer = 100ms});
  auto answer = ask(*view, "fleet");
  auto opened = open(*view, "r");
  REQUIRE(answer.wait_for(20s) == std::future_status::ready);
  CHECK(answer.get().result() == http::status::service_unavailable);
  REQUIRE(opened.wait_for(20s) == std::future_status::ready);
  CHECK_FALSE(opened.get());
}

TEST_CASE("an_opening_without_a_number_is_refused") {
  scripted_view view(R"(while read line; do echo 'answer 1 200 {}'; done)");
  auto opened = open(*view, "r");
  REQUIRE(opened.wait_for(20s) == std::future_status::ready);
  CHECK_FALSE(opened.get());
}

TEST_CASE("beyond_32_runs_the_oldest_is_closed_and_can_be_opened_again") {
  // Answers each question with its id as the number.
  scripted_view view(
      R"(while read line; do id=${line#*:}; id=${id%%,*}; echo "answer $id 200 {\"number\":$id}"; done)");
  for (int run = 0; run <= 32; ++run) {
    auto opened = open(*view, "r" + std::to_string(run));
    REQUIRE(opened.wait_for(20s) == std::future_status::ready);
    REQUIRE(opened.get());
  }
  CHECK(view->counted().runs.load() == 32);
  CHECK(view->counted().evicted.load() == 1);
  auto again = open(*view, "r0");
  REQUIRE(again.wait_for(20s) == std::future_status::ready);
  CHECK(again.get());
}

TEST_CASE("a_run_that_is_closed_after_it_was_opened_again_is_not_open") {
  // Numbers each run by its name. Answers to closings wait until r0 is opened again.
  scripted_view view(R"(
while read line; do
  id=${line#*:}; id=${id%%,*}
  run=${line##*\"r}; run=${run%%\"*}
  case $line in
    *'"close"'*) closing="$closing $id"; continue ;;
    *'"open"'*) echo "answer $id 200 {\"number\":$((run + 1))}" ;;
    *) echo "answer $id 200 {}" ;;
  esac
  case $line in *'"r0"'*) [ -z "$closing" ] || for id in $closing; do echo "answer $id 200 {}"; done; closing= ;; esac
done)");
  const auto open_and_wait = [&](int run) {
    auto opened = open(*view, "r" + std::to_string(run));
    REQUIRE(opened.wait_for(20s) == std::future_status::ready);
    REQUIRE(opened.get());
  };
  for (int run = 0; run <= 32; ++run) open_and_wait(run);
  open_and_wait(0);
  REQUIRE(ask(*view, "fleet").wait_for(20s) == std::future_status::ready);  // the closings are answered
  const std::uint64_t before = view->counted().questions.load();
  open_and_wait(0);
  CHECK(view->counted().questions.load() > before);
}

TEST_CASE("the_arguments_of_the_viewers_process_have_no_password") {
  scripted_view view(R"(echo "$*" > "$0.args"; echo "$DIGD_VIEW_URLS" > "$0.urls"; read line; exec sleep 600)",
                     {.max_end = 100ms});
  const auto read = [&](const char* name) {
    std::string text;
    for (int i = 0; i < 2'000 && text.empty(); ++i) {
      std::ifstream file(view.file(name));
      std::getline(file, text);
      std::this_thread::sleep_for(5ms);
    }
    return text;
  };
  CHECK(read("program.urls") == "nats://user:secret@h");
  const std::string arguments = read("program.args");
  CHECK(arguments.find("digd.fleet") != arguments.npos);
  CHECK(arguments.find("secret") == arguments.npos);
}

}  // namespace digd::daemon
