// A load on digd and on the bare echo in turn, block by block in one run, with the same bytes: what digd costs beside
// the socket.
//
//   digd-load --digd PORT:PID --echo PORT:PID [--connections N] [--in-flight N] [--events N] [--blocks N] [--rate R]
//   [--bytes N]
//
// One block is `events` events a connection to one of the two, then as many to the other. Each connection is a run of
// its own: root events of `bytes` bytes, and after every 16 an activation that consumes these, so that the frontier
// stays small. At digd an event is answered by its verdicts, at the echo by itself. With --rate the events go out at
// fixed times whether or not the server keeps up, and a latency counts from the time intended, so that a stall is not
// hidden by the requests that it held back (coordinated omission). Without, each connection keeps `in-flight` events
// unanswered.
//
// Prints one JSON line: for both, latencies in nanoseconds, events a second, and events a second of CPU
// (/proc/PID/task/*/schedstat): of the threads that serve sockets, which digd names engine-N, and of the whole process.
#include <poll.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "bench/histogram.h"
#include "bench/load_client.h"
#include "bench/tool.h"

namespace digd::bench {

namespace {

struct load_options {
  std::size_t connections = 1, in_flight = 1, events = 500, blocks = 40, bytes = 600;
  double rate = 0;  // events a second over all connections; 0: as fast as they are answered
};

// CPU nanoseconds that a process has used.
struct cpu_time {
  std::uint64_t serving = 0, all = 0;
};

cpu_time cpu_of(int pid) {
  cpu_time out;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream stat(task.path() / "schedstat"), comm(task.path() / "comm");
    std::uint64_t ns = 0;
    std::string name;
    if (!(stat >> ns) || !(comm >> name)) continue;
    out.all += ns;
    if (name.starts_with("engine-") || name.starts_with("digd-bench-echo")) out.serving += ns;
  }
  return out;
}

class server {
 public:
  server(std::string name, const std::string& where, const load_options& how) : name_(std::move(name)), how_(how) {
    const server_place at = place_of(where);
    pid_ = at.pid;
    const std::string runs = "load-" + stamp() + "-";
    for (std::size_t i = 0; i < how.connections; ++i) {
      all_.push_back(std::make_unique<connection>(at.port, runs + std::to_string(i), how.bytes, name_ == "echo"));
    }
  }

  // One block. `counts`: whether it is kept (the first warms up).
  void play(bool counts) {
    histogram unkept;
    histogram& to = counts ? latencies_ : unkept;
    const cpu_time cpu = cpu_of(pid_);
    const std::uint64_t begun = now_ns();
    const std::size_t all = how_.events * all_.size();
    std::size_t sent = 0, answered = 0;
    while (answered < all) {
      fill(sent, all, begun);
      answered += wait_and_read(to, sent < all ? due(sent, begun) : 0);
    }
    if (!counts) return;
    wall_ += now_ns() - begun;
    const cpu_time after = cpu_of(pid_);
    serving_ += after.serving - cpu.serving;
    cpu_ += after.all - cpu.all;
  }

  std::string json() const {
    const double events = static_cast<double>(latencies_.count());
    const auto per = [&](std::uint64_t ns) {
      return std::to_string(ns ? events / (static_cast<double>(ns) / 1e9) : 0);
    };
    return "\"" + name_ + "\":{\"events\":" + std::to_string(latencies_.count()) +
           ",\"p50_ns\":" + std::to_string(latencies_.at(0.5)) + ",\"p99_ns\":" + std::to_string(latencies_.at(0.99)) +
           ",\"p999_ns\":" + std::to_string(latencies_.at(0.999)) + ",\"max_ns\":" + std::to_string(latencies_.most()) +
           ",\"per_second\":" + per(wall_) + ",\"per_serving_cpu_second\":" + per(serving_) +
           ",\"per_cpu_second\":" + per(cpu_) + "}";
  }

 private:
  std::uint64_t due(std::size_t n, std::uint64_t begun) const {
    return how_.rate > 0 ? begun + static_cast<std::uint64_t>(static_cast<double>(n) / how_.rate * 1e9) : 0;
  }

  void fill(std::size_t& sent, std::size_t all, std::uint64_t begun) {
    if (how_.rate > 0) {
      for (; sent < all && due(sent, begun) <= now_ns(); ++sent) all_[sent % all_.size()]->add_event(due(sent, begun));
    } else {
      for (bool more = true; more;) {
        more = false;
        for (auto& one : all_) {
          if (sent == all || one->unanswered() >= how_.in_flight) continue;
          one->add_event(now_ns());
          ++sent;
          more = true;
        }
      }
    }
    for (auto& one : all_) one->write();
  }

  std::size_t wait_and_read(histogram& to, std::uint64_t until) {
    fds_.clear();
    for (auto& one : all_)
      fds_.push_back({one->fd(), static_cast<short>(POLLIN | (one->wants_to_write() ? POLLOUT : 0)), 0});
    const std::uint64_t now = now_ns();
    timespec patience{10, 0};
    if (until != 0) {
      const std::uint64_t left = until > now ? until - now : 0;
      patience = {static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
    }
    const int ready = ::ppoll(fds_.data(), fds_.size(), &patience, nullptr);
    if (ready == 0 && until == 0) fail(name_ + " has not answered for ten seconds");
    std::size_t answered = 0;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (fds_[i].revents & POLLOUT) all_[i]->write();
      if (fds_[i].revents & (POLLIN | POLLHUP | POLLERR)) answered += all_[i]->read(to);
    }
    return answered;
  }

  std::string name_;
  const load_options& how_;
  int pid_ = 0;
  std::vector<std::unique_ptr<connection>> all_;
  std::vector<pollfd> fds_;
  histogram latencies_;
  std::uint64_t wall_ = 0, serving_ = 0, cpu_ = 0;
};

int run(int argc, char** argv) {
  CLI::App app("A load on digd and on a bare echo in turn; digd's cost beside the socket's.");
  load_options how;
  std::string digd_at, echo_at;
  app.add_option("--digd", digd_at, "PORT:PID")->required();
  app.add_option("--echo", echo_at, "PORT:PID")->required();
  app.add_option("--connections", how.connections)->check(CLI::Range(1, 10'000))->capture_default_str();
  app.add_option("--in-flight", how.in_flight, "events unanswered, a connection")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--events", how.events, "a connection and block")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  app.add_option("--blocks", how.blocks, "for each server, after one that warms up")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--bytes", how.bytes, "of an event's message")->check(CLI::Range(120, 60'000))->capture_default_str();
  app.add_option("--rate", how.rate, "events a second, over all connections; 0: as they are answered")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  server digd("digd", digd_at, how), echo("echo", echo_at, how);
  for (std::size_t i = 0; i <= how.blocks; ++i) {
    // Who goes first changes, so that a drift of the machine falls on both.
    server& first = i % 2 == 0 ? digd : echo;
    server& second = i % 2 == 0 ? echo : digd;
    first.play(i > 0);
    second.play(i > 0);
  }
  std::cout << "{" << digd.json() << "," << echo.json() << "}\n";
  return 0;
}

}  // namespace

}  // namespace digd::bench

int main(int argc, char** argv) {
  return digd::bench::as_tool("digd-load", [&] { return digd::bench::run(argc, argv); });
}
