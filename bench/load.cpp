// Loads two servers in turn, block by block in one run, with the same bytes. Usually they are digd and the bare echo
// server, which shows the cost of digd beyond the socket.
//
//   digd-load (--digd | --log-server) PORT:PID (--echo | --plain) PORT:PID [--connections N] [--in-flight N]
//             [--events N] [--blocks N] [--rate R] [--bytes N] [--outputs] [--trips FILE]
//
// --log-server: bench/log_server.cpp. --plain: a second digd with other settings. With --outputs the events are outputs
// of activations that report their usage, which guards judge.
//
// One block is `events` events a connection to one server, then as many to the other. Each connection is a run of its
// own: root events of `bytes` bytes, and after every 16 events an activation that consumes them, so that few events
// stay live. digd answers an event with its verdicts, the echo server with the event itself. With --rate, events go out
// at fixed times whether or not the server keeps up, and a latency counts from the intended time, so that a stall does
// not hide the requests that it delayed (coordinated omission). Without it, each connection keeps `in-flight` events
// unanswered.
//
// --trips FILE: writes when each event was sent and answered, as write_trips says.
//
// Prints one JSON line: for both servers, latencies in nanoseconds, events a second, and events a second of CPU time
// (/proc/PID/task/*/schedstat), both of the threads that serve sockets, which digd names engine-N, and of the whole
// process. `halves` has the latencies of every second block: how far a server differs from itself.
#include <poll.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <ranges>
#include <string>
#include <thread>
#include <vector>

#include "bench/histogram.h"
#include "bench/load_client.h"
#include "bench/tool.h"

namespace digd::bench {

namespace {

struct load_options {
  std::size_t connections = 1, in_flight = 1, events = 500, blocks = 40, bytes = 600;
  double rate = 0;  // events a second over all connections; 0: as fast as answers arrive
  bool outputs = false;
  std::string trips;
};

// CPU nanoseconds of a process.
struct cpu_time {
  std::uint64_t serving = 0, process = 0;
};

// After a block, until the server has stored its last events. Otherwise it would delay the other server.
constexpr std::chrono::milliseconds time_to_store{50};

cpu_time cpu_of(int pid) {
  cpu_time out;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream stat(task.path() / "schedstat"), comm(task.path() / "comm");
    std::uint64_t ns = 0;
    std::string name;
    if (!(stat >> ns) || !(comm >> name)) continue;
    out.process += ns;
    if (name.starts_with("engine-") || name.starts_with("digd-bench-")) out.serving += ns;
  }
  return out;
}

class server {
 public:
  server(std::string name, const std::string& where, const load_options& options)
      : name_(std::move(name)),
        options_(options),
        halves_{trip_log(!options.trips.empty()), trip_log(!options.trips.empty())} {
    const server_place at = place_of(where);
    pid_ = at.pid;
    const std::string runs = "load-" + stamp() + "-";
    for (std::size_t i = 0; i < options.connections; ++i) {
      connections_.push_back(std::make_unique<connection>(at.port, runs + std::to_string(i), options.bytes,
                                                          name_ == "echo" || name_ == "log_server", options.outputs));
    }
  }

  // Plays a block. Block 0, a warm-up, does not count.
  void play(std::size_t block) {
    const bool counts = block > 0;
    trip_log unkept;
    trip_log& to = counts ? halves_[block % 2] : unkept;
    const cpu_time cpu = cpu_of(pid_);
    const std::uint64_t begun = now_ns();
    const std::size_t total = options_.events * connections_.size();
    std::size_t sent = 0, answered = 0;
    while (answered < total) {
      fill(sent, total, begun);
      answered += wait_and_read(to, sent < total ? due(sent, begun) : 0);
    }
    if (!counts) return;
    wall_ += now_ns() - begun;
    const cpu_time after = cpu_of(pid_);
    serving_ += after.serving - cpu.serving;
    cpu_ += after.process - cpu.process;
  }

  std::string json() const {
    const trip_log latencies = all_trips();
    const double events = static_cast<double>(latencies.count());
    const auto per = [&](std::uint64_t ns) {
      return std::to_string(ns ? events / (static_cast<double>(ns) / 1e9) : 0);
    };
    return "\"" + name_ + "\":{" + percentiles(latencies) + ",\"halves\":[{" + percentiles(halves_[0]) + "},{" +
           percentiles(halves_[1]) + "}],\"per_second\":" + per(wall_) +
           ",\"per_serving_cpu_second\":" + per(serving_) + ",\"per_cpu_second\":" + per(cpu_) + "}";
  }

  void write_trips(std::ostream& to) const { bench::write_trips(to, name_, all_trips()); }

 private:
  trip_log all_trips() const {
    trip_log out(true);
    for (const trip_log& half : halves_) out.add(half);
    return out;
  }

  std::uint64_t due(std::size_t n, std::uint64_t begun) const {
    return options_.rate > 0 ? begun + static_cast<std::uint64_t>(static_cast<double>(n) / options_.rate * 1e9) : 0;
  }

  void fill(std::size_t& sent, std::size_t total, std::uint64_t begun) {
    if (options_.rate > 0) {
      for (; sent < total && due(sent, begun) <= now_ns(); ++sent)
        connections_[sent % connections_.size()]->add_event(due(sent, begun));
    } else {
      for (bool more = true; more;) {
        more = false;
        for (auto& client : connections_) {
          if (sent == total || client->unanswered() >= options_.in_flight) continue;
          client->add_event(now_ns());
          ++sent;
          more = true;
        }
      }
    }
    for (auto& client : connections_) client->write();
  }

  std::size_t wait_and_read(trip_log& to, std::uint64_t until) {
    fds_.clear();
    for (auto& client : connections_)
      fds_.push_back({client->fd(), static_cast<short>(POLLIN | (client->wants_to_write() ? POLLOUT : 0)), 0});
    const std::uint64_t now = now_ns();
    timespec patience{10, 0};
    if (until != 0) {
      const std::uint64_t left = until > now ? until - now : 0;
      patience = {static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
    }
    const int ready = ::ppoll(fds_.data(), fds_.size(), &patience, nullptr);
    if (ready == 0 && until == 0) fail(name_ + " has not answered for ten seconds");
    std::size_t answered = 0;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      if (fds_[i].revents & POLLOUT) connections_[i]->write();
      if (fds_[i].revents & (POLLIN | POLLHUP | POLLERR)) answered += connections_[i]->read(to);
    }
    return answered;
  }

  std::string name_;
  const load_options& options_;
  int pid_ = 0;
  std::vector<std::unique_ptr<connection>> connections_;
  std::vector<pollfd> fds_;
  std::array<trip_log, 2> halves_;  // of the even and the odd blocks
  std::uint64_t wall_ = 0, serving_ = 0, cpu_ = 0;
};

int run(int argc, char** argv) {
  CLI::App app("A load on digd and on a bare echo in turn; digd's cost beside the socket's.");
  load_options options;
  std::string digd_at, echo_at, plain_at, log_server_at;
  auto* measured = app.add_option_group("measured")->require_option(1);
  measured->add_option("--digd", digd_at, "PORT:PID");
  measured->add_option("--log-server", log_server_at, "PORT:PID");
  auto* baseline = app.add_option_group("baseline")->require_option(1);
  baseline->add_option("--echo", echo_at, "PORT:PID");
  baseline->add_option("--plain", plain_at, "PORT:PID of another digd");
  app.add_flag("--outputs", options.outputs, "events are outputs of activations that report their usage");
  app.add_option("--connections", options.connections)->check(CLI::Range(1, 10'000))->capture_default_str();
  app.add_option("--in-flight", options.in_flight, "events unanswered, a connection")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--events", options.events, "a connection and block")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  app.add_option("--blocks", options.blocks, "for each server, after one that warms up")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--bytes", options.bytes, "of an event's message")
      ->check(CLI::Range(120, 60'000))
      ->capture_default_str();
  app.add_option("--rate", options.rate, "events a second, over all connections; 0: as they are answered")
      ->capture_default_str();
  app.add_option("--trips", options.trips, "the file for when each event was sent and answered");
  CLI11_PARSE(app, argc, argv);
  std::deque<server> servers;
  const auto add = [&](const char* name, const std::string& at) {
    if (!at.empty()) servers.emplace_back(name, at, options);
  };
  add("digd", digd_at);
  add("log_server", log_server_at);
  add("echo", echo_at);
  add("plain", plain_at);
  for (std::size_t i = 0; i <= options.blocks; ++i) {
    // The order alternates, so that a drift of the machine affects both.
    for (const std::size_t next : {i % 2, (i + 1) % 2}) {
      servers[next].play(i);
      std::this_thread::sleep_for(time_to_store);
    }
  }
  if (!options.trips.empty()) {
    std::ofstream file(options.trips);
    for (const server& each : servers) each.write_trips(file);
    if (!file.flush()) fail("cannot write " + options.trips);
  }
  for (const server& each : servers) std::cout << (&each == &servers.front() ? "{" : ",") << each.json();
  std::cout << "}\n";
  return 0;
}

}  // namespace

}  // namespace digd::bench

int main(int argc, char** argv) {
  return digd::bench::as_tool("digd-load", [&] { return digd::bench::run(argc, argv); });
}
