#include "daemon/process/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "daemon/process/supervisor.h"

namespace digd::daemon {
namespace {

// The other end: what systemd would hear.
class notify_socket {
 public:
  notify_socket() : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    name_ = "@digd-test-" + std::to_string(::getpid());
    std::memcpy(at.sun_path + 1, name_.data() + 1, name_.size() - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    REQUIRE(::bind(fd_, reinterpret_cast<sockaddr*>(&at), size) == 0);
    ::setenv("NOTIFY_SOCKET", name_.c_str(), 1);
  }
  ~notify_socket() {
    ::close(fd_);
    ::unsetenv("NOTIFY_SOCKET");
  }
  std::string next(int flags = 0) {
    char text[4096];
    const ssize_t n = ::recv(fd_, text, sizeof text, flags);
    return n < 0 ? std::string() : std::string(text, static_cast<std::size_t>(n));
  }
  std::vector<std::string> messages() {
    std::vector<std::string> heard;
    for (std::string text = next(MSG_DONTWAIT); !text.empty(); text = next(MSG_DONTWAIT)) heard.push_back(text);
    return heard;
  }

 private:
  int fd_;
  std::string name_;
};

std::size_t count(const std::vector<std::string>& texts, const std::string& text) {
  return static_cast<std::size_t>(std::count(texts.begin(), texts.end(), text));
}

TEST_CASE("the_service_manager_hears_each_state_as_a_message") {
  notify_socket systemd;
  service_manager manager;
  manager.ready("listening on \"x\"\nREADY=0");
  CHECK(systemd.next() == "READY=1\nSTATUS=listening on \"x\" READY=0");
  manager.reloading();
  CHECK(systemd.next().starts_with("RELOADING=1\nMONOTONIC_USEC="));
  manager.alive();
  CHECK(systemd.next() == "WATCHDOG=1");
  manager.stopping();
  CHECK(systemd.next().starts_with("STOPPING=1\nSTATUS="));
  CHECK(std::getenv("NOTIFY_SOCKET") == nullptr);
}

TEST_CASE("without_a_service_manager_nothing_is_sent") {
  ::unsetenv("NOTIFY_SOCKET");
  service_manager manager;
  manager.ready("");
  CHECK(manager.watchdog().count() == 0);
  CHECK(manager.sockets().empty());
}

TEST_CASE("a_watchdog_and_sockets_of_another_process_are_not_ours") {
  const std::string other = std::to_string(::getppid());
  ::setenv("WATCHDOG_USEC", "1000000", 1);
  ::setenv("WATCHDOG_PID", other.c_str(), 1);
  ::setenv("LISTEN_FDS", "1", 1);
  ::setenv("LISTEN_PID", other.c_str(), 1);
  service_manager manager;
  CHECK(manager.watchdog().count() == 0);
  CHECK(manager.sockets().empty());
  CHECK(std::getenv("LISTEN_FDS") == nullptr);
}

TEST_CASE("a_watchdog_of_ours_has_its_interval") {
  ::setenv("WATCHDOG_USEC", "1000000", 1);
  CHECK(service_manager().watchdog() == std::chrono::seconds(1));
  CHECK(service_manager().watchdog().count() == 0);  // it was taken
}

TEST_CASE("a_loop_that_runs_answers_and_one_that_hangs_does_not") {
  boost::asio::io_context runs(1), hangs(1);
  heartbeat beats({&runs, &hangs});
  CHECK(beats.all_answered());
  beats.ask();
  runs.poll();
  CHECK_FALSE(beats.all_answered());
  hangs.poll();
  CHECK(beats.all_answered());
}

TEST_CASE("the_watchdog_is_fed_only_while_every_loop_answers") {
  notify_socket systemd;
  ::setenv("WATCHDOG_USEC", "30000", 1);
  service_manager manager;
  boost::asio::io_context runs(1), hangs(1);
  auto work = boost::asio::make_work_guard(runs);
  std::thread alive([&] { runs.run(); });
  int statuses = 0;
  // The status is asked for at every tick, fed or not: after enough of them, the end.
  const supervised supervised{.reload = [] {},
                              .status =
                                  [&] {
                                    if (++statuses == 5) ::raise(SIGTERM);
                                    return std::string("well");
                                  }};
  caught_signals signals;
  supervise(manager, heartbeat({&runs, &hangs}), supervised, signals);
  work.reset();
  alive.join();
  const auto heard = systemd.messages();
  CHECK(count(heard, "WATCHDOG=1") == 1);  // before the first question was asked
  CHECK(count(heard, "STATUS=well") == 1);
  CHECK(heard.back().starts_with("STOPPING=1"));
}

TEST_CASE("the_watchdog_is_fed_and_a_hangup_reloads") {
  notify_socket systemd;
  ::setenv("WATCHDOG_USEC", "60000", 1);
  service_manager manager;
  boost::asio::io_context runs(1);
  auto work = boost::asio::make_work_guard(runs);
  std::thread alive([&] { runs.run(); });
  constexpr int max_ticks = 1'000;  // many more than a busy machine needs
  int ticks = 0, reloads = 0;
  std::size_t fed = 0;
  const supervised supervised{.reload = [&] { ++reloads; },
                              .status =
                                  [&] {
                                    ++ticks;
                                    if (ticks == 2) ::raise(SIGHUP);
                                    fed += count(systemd.messages(), "WATCHDOG=1");
                                    if (fed >= 3 || ticks == max_ticks) ::raise(SIGTERM);
                                    return std::string("well");
                                  }};
  caught_signals signals;
  supervise(manager, heartbeat({&runs}), supervised, signals);
  work.reset();
  alive.join();
  CHECK(reloads == 1);
  CHECK(fed >= 3);
}

TEST_CASE("signals_that_come_while_it_starts_wait_until_it_is_supervised") {
  notify_socket systemd;
  service_manager manager;
  int reloads = 0;
  const supervised supervised{.reload = [&] { ++reloads; }, .status = [] { return std::string("well"); }};
  expect_signals();
  ::raise(SIGHUP);
  caught_signals signals;
  ::raise(SIGTERM);  // a moment ago the end of this process
  supervise(manager, heartbeat({}), supervised, signals);
  CHECK(reloads == 1);
  CHECK(systemd.messages().back().starts_with("STOPPING=1"));
}

}  // namespace
}  // namespace digd::daemon
