// Many runs at once: the cost of each, and the effect of a burst in one run on the latency of another.
//
//   digd-many-runs (--digd | --log-server) PORT:PID --echo PORT:PID [--runs N] [--connections N] [--seconds N]
//                  [--blocks N] [--burst-rate N] [--trips FILE]
//
// Opens `runs` runs at digd, each with a few events of which some stay live, and keeps `connections` of them connected.
// Then a probe sends one event every two milliseconds, at fixed times whether or not it gets answers; its latency
// counts from these times. In some blocks another connection sends 64 events at once, again and again: as soon as they
// are answered, or at a fixed rate. The echo server gets the same load in turn, as a measure of the machine's own
// delays. With --log-server, bench/log_server.cpp takes digd's place, and no runs are opened. At a fixed rate both
// servers get the same number of events; otherwise the faster server gets more, and costs the client more.
//
// Prints one JSON line: memory a run, seconds to open the runs, and for each server the latencies of the probe in each
// kind of block. `halves` has the latencies of every second block: how far a server differs from itself.
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

// After a block, until the server has stored its last events. Otherwise it would delay the other server.
constexpr std::chrono::milliseconds time_to_store{250};

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

// What the other connection does.
enum class burst_kind : std::uint8_t { none, unlimited, at_rate };
constexpr std::array burst_kinds{burst_kind::none, burst_kind::unlimited, burst_kind::at_rate};
constexpr std::array<const char*, 3> burst_names{"alone", "beside_a_burst", "beside_a_burst_at_rate"};

// Sends 64 events at once, as often as its kind says.
class burst {
 public:
  // `rate`: events a second, for burst_kind::at_rate.
  burst(int port, const std::string& run, bool echoes, double rate)
      : to_(port, run, event_bytes, echoes),
        interval_ns_(static_cast<std::uint64_t>(1e9 * burst_in_flight / rate)),
        thread_([this] { work(); }) {}
  ~burst() {
    stop_ = true;
    thread_.join();
  }
  void set(burst_kind kind) { kind_ = kind; }
  std::uint64_t answered() const { return answered_; }

 private:
  void work() {
    trip_log unkept;
    for (std::uint64_t due = 0; !stop_;) {
      const std::uint64_t now = now_ns();
      const burst_kind kind = kind_;
      const bool is_due = kind == burst_kind::unlimited || (kind == burst_kind::at_rate && now >= due);
      if (is_due) {
        while (to_.unanswered() < burst_in_flight) to_.add_event(now);
        if (kind == burst_kind::at_rate) due = std::max(due + interval_ns_, now - interval_ns_);  // makes up for one
      }
      const std::uint64_t patience = now + 5'000'000;
      answered_ += serve(to_, unkept, kind == burst_kind::at_rate ? std::min(due, patience) : patience);
    }
  }

  connection to_;
  std::uint64_t interval_ns_;
  std::atomic<burst_kind> kind_{burst_kind::none};
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> answered_{0};
  std::thread thread_;
};

class probed {
 public:
  probed(std::string name, server_place at, const std::string& runs, double rate)
      : name_(std::move(name)),
        probe_(at.port, runs + "probe", event_bytes, name_ != "digd"),
        burst_(at.port, runs + "burst", name_ != "digd", rate) {}

  // Plays a block. Block 0, a warm-up, does not count.
  void play(std::size_t kind, std::uint64_t ns, std::size_t block) {
    const bool counts = block > 0;
    trip_log unkept;
    trip_log& to = counts ? latencies_[kind][block % 2] : unkept;
    const std::uint64_t answered = burst_.answered(), begun = now_ns();
    burst_.set(burst_kinds[kind]);
    for (std::uint64_t due = begun; due < begun + ns; due += probe_every_ns) {
      while (now_ns() < due) serve(probe_, to, due);
      probe_.add_event(due);
      serve(probe_, to, due);
    }
    burst_.set(burst_kind::none);
    answer_all(probe_);
    if (!counts) return;
    burst_events_[kind] += burst_.answered() - answered;
    ns_[kind] += now_ns() - begun;
  }

  // Of the probe beside the unlimited burst.
  void write_trips(std::ostream& to) const {
    trip_log trips(true);
    for (const trip_log& half : latencies_[1]) trips.add(half);
    bench::write_trips(to, name_, trips);
  }

  std::string json() const {
    std::string out = "\"" + name_ + "\":{";
    for (std::size_t kind = 0; kind < burst_kinds.size(); ++kind) {
      const auto& halves = latencies_[kind];
      histogram latencies = halves[0];
      latencies.add(halves[1]);
      const double a_second = static_cast<double>(burst_events_[kind]) / (static_cast<double>(ns_[kind]) / 1e9);
      out += (kind > 0 ? ",\"" : "\"") + std::string(burst_names[kind]) + "\":{" + percentiles(latencies) +
             ",\"halves\":[{" + percentiles(halves[0]) + "},{" + percentiles(halves[1]) +
             "}],\"burst_per_second\":" + std::to_string(a_second) + "}";
    }
    return out + "}";
  }

 private:
  std::string name_;
  connection probe_;
  burst burst_;
  template <class T>
  using by_kind = std::array<T, burst_kinds.size()>;
  const trip_log kept_{true};
  by_kind<std::array<trip_log, 2>> latencies_{{{kept_, kept_}, {kept_, kept_}, {kept_, kept_}}};  // of even, odd blocks
  by_kind<std::uint64_t> burst_events_{}, ns_{};
};

int run(int argc, char** argv) {
  CLI::App app("Many runs at once: what each costs, and what a burst in one does to another.");
  std::string digd_at, echo_at, log_server_at, trips;
  std::size_t runs = 10'000, connections = 1'000, blocks = 5;
  double seconds = 1, burst_rate = 60'000;
  auto* measured = app.add_option_group("measured")->require_option(1);
  measured->add_option("--digd", digd_at, "PORT:PID");
  measured->add_option("--log-server", log_server_at, "PORT:PID");
  app.add_option("--echo", echo_at, "PORT:PID")->required();
  app.add_option("--runs", runs, "open at once")->check(CLI::Range(1, 1'000'000))->capture_default_str();
  app.add_option("--connections", connections, "kept of them")->check(CLI::Range(0, 10'000))->capture_default_str();
  app.add_option("--seconds", seconds, "a block")->check(CLI::Range(0.05, 600.0))->capture_default_str();
  app.add_option("--blocks", blocks, "without and with the burst, for each server")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  app.add_option("--burst-rate", burst_rate, "events a second, where the burst has a fixed rate")
      ->check(CLI::Range(1'000.0, 1e6))
      ->capture_default_str();
  app.add_option("--trips", trips, "the file for when the probe's events beside the burst were sent and answered");
  CLI11_PARSE(app, argc, argv);

  const bool is_digd = !digd_at.empty();
  const server_place place = place_of(is_digd ? digd_at : log_server_at);
  if (!is_digd) runs = 0;
  const std::string names = "many-" + stamp() + "-";
  std::deque<std::unique_ptr<connection>> kept;
  const std::uint64_t before = resident_bytes(place.pid), begun = now_ns();
  for (std::size_t i = 0; i < runs; ++i) {
    auto client = std::make_unique<connection>(place.port, names + std::to_string(i), event_bytes, false);
    for (std::size_t n = 0; n < events_a_run; ++n) client->add_event(now_ns());
    answer_all(*client);
    kept.push_back(std::move(client));
    if (kept.size() > connections) kept.pop_front();
  }
  const double opening = static_cast<double>(now_ns() - begun) / 1e9;
  const std::uint64_t after = resident_bytes(place.pid);

  std::deque<probed> servers;
  servers.emplace_back(is_digd ? "digd" : "log_server", place, names, burst_rate);
  servers.emplace_back("echo", place_of(echo_at), names, burst_rate);
  const auto ns = static_cast<std::uint64_t>(seconds * 1e9);
  for (std::size_t block = 0; block <= blocks; ++block) {
    for (std::size_t kind = 0; kind < burst_kinds.size(); ++kind) {
      for (probed& each : servers) {
        each.play(kind, ns, block);
        std::this_thread::sleep_for(time_to_store);
      }
    }
  }
  if (!trips.empty()) {
    std::ofstream file(trips);
    for (const probed& each : servers) each.write_trips(file);
    if (!file.flush()) fail("cannot write " + trips);
  }
  std::cout << "{\"runs\":" << runs << ",\"connections\":" << kept.size()
            << ",\"bytes_a_run\":" << (after > before && runs > 0 ? (after - before) / runs : 0)
            << ",\"opening_s\":" << opening;
  for (const probed& each : servers) std::cout << "," << each.json();
  std::cout << "}\n";
  return 0;
}

}  // namespace

}  // namespace digd::bench

int main(int argc, char** argv) {
  return digd::bench::as_tool("digd-many-runs", [&] { return digd::bench::run(argc, argv); });
}
