// Many runs at once: the cost of each, and the effect of a burst in one run on the latency of another.
//
//   digd-many-runs --digd PORT:PID --echo PORT:PID [--runs N] [--connections N] [--seconds N] [--blocks N]
//
// Opens `runs` runs at digd, each with a few events of which some stay live, and keeps `connections` of them connected.
// Then a probe sends one event every two milliseconds, at fixed times whether or not it gets answers; its latency
// counts from these times. In every other block another connection sends as fast as answers arrive, with 64 events in
// flight. The echo server gets the same load in turn, as a measure of the machine's own delays.
//
// Prints one JSON line: memory a run, seconds to open the runs, and for both servers the latencies of the probe without
// and with the burst.
#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/load_client.h"
#include "bench/tool.h"

namespace digd::bench {

namespace {

constexpr std::uint64_t probe_every_ns = 2'000'000;
constexpr std::size_t burst_in_flight = 64, event_bytes = 600, events_a_run = 20;

std::uint64_t resident_bytes(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/statm");
  std::uint64_t total_pages = 0, resident = 0;
  if (!(in >> total_pages >> resident)) fail("there is no process " + std::to_string(pid));
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Waits at most until `until` for the connection, then reads. Returns the number of answered events.
std::size_t serve(connection& client, trip_log& to, std::uint64_t until) {
  client.write();
  pollfd fd{client.fd(), static_cast<short>(POLLIN | (client.wants_to_write() ? POLLOUT : 0)), 0};
  const std::uint64_t now = now_ns(), left = until > now ? until - now : 0;
  const timespec patience{static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
  if (::ppoll(&fd, 1, &patience, nullptr) <= 0) return 0;
  return (fd.revents & (POLLIN | POLLHUP | POLLERR)) != 0 ? client.read(to) : 0;
}

void answer_all(connection& client) {
  trip_log unkept;
  for (const std::uint64_t until = now_ns() + 10'000'000'000; client.unanswered() > 0 || client.wants_to_write();) {
    serve(client, unkept, until);
    if (now_ns() > until) fail("a server has not answered for ten seconds");
  }
}

// Sends as fast as answers arrive, while switched on.
class burst {
 public:
  burst(int port, const std::string& run, bool echoes)
      : to_(port, run, event_bytes, echoes), thread_([this] { work(); }) {}
  ~burst() {
    stop_ = true;
    thread_.join();
  }
  void set_active(bool on) { on_ = on; }
  std::uint64_t answered() const { return answered_; }

 private:
  void work() {
    trip_log unkept;
    while (!stop_) {
      while (on_ && to_.unanswered() < burst_in_flight) to_.add_event(now_ns());
      answered_ += serve(to_, unkept, now_ns() + 5'000'000);
    }
  }

  connection to_;
  std::atomic<bool> on_{false}, stop_{false};
  std::atomic<std::uint64_t> answered_{0};
  std::thread thread_;
};

class probed {
 public:
  probed(std::string name, server_place at, const std::string& runs)
      : name_(std::move(name)),
        probe_(at.port, runs + "probe", event_bytes, name_ == "echo"),
        burst_(at.port, runs + "burst", name_ == "echo") {}

  void play(bool with_burst, std::uint64_t ns, bool counts) {
    trip_log unkept;
    trip_log& to = counts ? latencies_[with_burst] : unkept;
    const std::uint64_t answered = burst_.answered(), begun = now_ns();
    burst_.set_active(with_burst);
    for (std::uint64_t due = begun; due < begun + ns; due += probe_every_ns) {
      while (now_ns() < due) serve(probe_, to, due);
      probe_.add_event(due);
      serve(probe_, to, due);
    }
    burst_.set_active(false);
    answer_all(probe_);
    if (counts && with_burst) {
      burst_events_ += burst_.answered() - answered;
      burst_ns_ += now_ns() - begun;
    }
  }

  std::string json() const {
    const auto of = [](const histogram& h) {
      return "{\"events\":" + std::to_string(h.count()) + ",\"p50_ns\":" + std::to_string(h.at(0.5)) +
             ",\"p99_ns\":" + std::to_string(h.at(0.99)) + "}";
    };
    return "\"" + name_ + "\":{\"alone\":" + of(latencies_[0]) + ",\"beside_a_burst\":" + of(latencies_[1]) +
           ",\"burst_per_second\":" +
           std::to_string(burst_ns_ ? static_cast<double>(burst_events_) / (static_cast<double>(burst_ns_) / 1e9) : 0) +
           "}";
  }

 private:
  std::string name_;
  connection probe_;
  burst burst_;
  std::array<trip_log, 2> latencies_;  // without, with the burst
  std::uint64_t burst_events_ = 0, burst_ns_ = 0;
};

int run(int argc, char** argv) {
  CLI::App app("Many runs at once: what each costs, and what a burst in one does to another.");
  std::string digd_at, echo_at;
  std::size_t runs = 10'000, connections = 1'000, blocks = 5;
  double seconds = 1;
  app.add_option("--digd", digd_at, "PORT:PID")->required();
  app.add_option("--echo", echo_at, "PORT:PID")->required();
  app.add_option("--runs", runs, "open at once")->check(CLI::Range(1, 1'000'000))->capture_default_str();
  app.add_option("--connections", connections, "kept of them")->check(CLI::Range(0, 10'000))->capture_default_str();
  app.add_option("--seconds", seconds, "a block")->check(CLI::Range(0.05, 600.0))->capture_default_str();
  app.add_option("--blocks", blocks, "without and with the burst, for each server")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  const server_place digd = place_of(digd_at), echo = place_of(echo_at);
  const std::string names = "many-" + stamp() + "-";
  std::deque<std::unique_ptr<connection>> kept;
  const std::uint64_t before = resident_bytes(digd.pid), begun = now_ns();
  for (std::size_t i = 0; i < runs; ++i) {
    auto client = std::make_unique<connection>(digd.port, names + std::to_string(i), event_bytes, false);
    for (std::size_t n = 0; n < events_a_run; ++n) client->add_event(now_ns());
    answer_all(*client);
    kept.push_back(std::move(client));
    if (kept.size() > connections) kept.pop_front();
  }
  const double opening = static_cast<double>(now_ns() - begun) / 1e9;
  const std::uint64_t after = resident_bytes(digd.pid);

  probed ours("digd", digd, names), theirs("echo", echo, names);
  const auto ns = static_cast<std::uint64_t>(seconds * 1e9);
  for (std::size_t i = 0; i <= blocks; ++i) {  // the first warms up
    for (const bool with_burst : {false, true}) {
      ours.play(with_burst, ns, i > 0);
      theirs.play(with_burst, ns, i > 0);
    }
  }
  std::cout << "{\"runs\":" << runs << ",\"connections\":" << kept.size()
            << ",\"bytes_a_run\":" << (after > before ? (after - before) / runs : 0) << ",\"opening_s\":" << opening
            << "," << ours.json() << "," << theirs.json() << "}\n";
  return 0;
}

}  // namespace

}  // namespace digd::bench

int main(int argc, char** argv) {
  return digd::bench::as_tool("digd-many-runs", [&] { return digd::bench::run(argc, argv); });
}
