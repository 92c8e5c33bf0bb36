// Does the cost of judging grow with the length of a run or with its shape? The engine alone: graph and rules, no JSON,
// no disk.
//
//   digd-growth long [--events N]     one run of N events: nanoseconds an event at each length, memory, slowest steps
//   digd-growth kept [--events N]     bytes of an event that is settled and remembered
//   digd-growth shapes                hostile shapes, each at a size and at ten times that size
//   digd-growth chain                 a chain of agents, each activation consuming one event and making the next, for
//                                     comparison with measurements of the paper's own library
//   digd-growth picture               reads what `long` printed; prints the chart of docs/performance.md as SVG
//
// All others print JSON. Each run is played twice: a step counts as slow only if it was slow both times, since the
// machine interrupts too.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "bench/growth_chart.h"
#include "bench/histogram.h"
#include "bench/shapes.h"
#include "bench/story.h"
#include "bench/tool.h"

namespace digd::bench {

namespace {

using steady = std::chrono::steady_clock;

// A `judged_run::meter`.
std::uint64_t nanoseconds(const run&) { return static_cast<std::uint64_t>(steady::now().time_since_epoch().count()); }

std::uint64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::uint64_t total_pages = 0, resident = 0;
  in >> total_pages >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// ---- one long run

struct stretch {
  std::uint64_t until = 0, resident = 0;
  histogram ns;
};

struct pass {
  std::vector<stretch> stretches;
  std::map<std::uint64_t, std::uint64_t> slow;  // message → ns
};

constexpr std::uint64_t slow_ns = 200'000;

pass play_long(std::uint64_t events) {
  pass out;
  judged_run run(nanoseconds);
  long_run story;
  std::uint64_t messages = 0, announced = 1;
  run.take(story.first());
  for (std::uint64_t until = 1'000; until <= events; until *= 10) {
    stretch& at = out.stretches.emplace_back();
    at.until = until;
    while (announced < until) {
      const message& m = story.next();
      const std::uint64_t spent = run.take(m);
      ++messages;
      announced += m.events.size();
      at.ns.add(spent);
      if (spent > slow_ns) out.slow[messages] = spent;
    }
    at.resident = resident_bytes();
  }
  return out;
}

// ---- what is remembered

// Root events, each sixteen consumed by one activation: the memory of an event without its payload.
void kept_table(std::uint64_t events) {
  constexpr std::uint64_t at_once = 16;
  judged_run run(nanoseconds);
  message_builder t;
  std::uint64_t made = 0;
  const auto make = [&](std::uint64_t until) {
    while (made < until) {
      for (std::uint64_t i = 0; i < at_once; ++i) {
        message& m = t.begin(message_type::event);
        t.event(t.name("event-", made++), "a");
        run.take(m);
      }
      message& m = t.starts("activation-", made, "a");
      for (std::uint64_t i = 0; i < at_once; ++i) m.inputs.push_back(t.name("event-", made - at_once + i));
      run.take(m);
      run.take(t.ends("activation-", made));
    }
  };
  make(events / 100);  // memory that every run takes
  const std::uint64_t before = resident_bytes(), had = made;
  make(events);
  const double each = static_cast<double>(resident_bytes() - before) / static_cast<double>(made - had);
  if (run.graph().remembered_events() < made)
    throw std::runtime_error("some were forgotten; at most as many as limits.settled_events");
  std::cout << "{\"events\":" << made << ",\"bytes_an_event\":" << each << ",\"of_them_the_id\":" << sizeof(std::string)
            << "}\n";
}

std::uint64_t slowest_of_both(const pass& a, const pass& b) {
  std::uint64_t slowest = 0;
  for (const auto& [message, ns] : a.slow) {
    if (const auto same = b.slow.find(message); same != b.slow.end())
      slowest = std::max(slowest, std::min(ns, same->second));
  }
  return slowest;
}

void long_table(std::uint64_t events) {
  const pass first = play_long(events), second = play_long(events);
  std::cout << "{\"stretches\":[";
  for (std::size_t i = 0; i < first.stretches.size(); ++i) {
    const stretch& s = first.stretches[i];
    const std::uint64_t median = std::min(s.ns.at(0.5), second.stretches[i].ns.at(0.5));
    std::cout << (i ? "," : "") << "{\"events\":" << s.until << ",\"p50_ns\":" << median
              << ",\"p99_ns\":" << std::min(s.ns.at(0.99), second.stretches[i].ns.at(0.99))
              << ",\"resident_bytes\":" << s.resident << "}";
  }
  std::cout << "],\"slowest_step_ns\":" << slowest_of_both(first, second) << ",\"slow_steps_above_ns\":" << slow_ns
            << "}\n";
}

void shapes_table() {
  std::cout << "{\"shapes\":[";
  bool first = true;
  for (const auto& [name, size, play] : shapes()) {
    std::array<double, 2> ns{};
    std::array<std::uint64_t, 2> bytes{};
    for (std::size_t i = 0; i < 2; ++i) {
      const std::uint64_t n = i == 0 ? size : 10 * size;
      const std::uint64_t before = resident_bytes();
      judged_run run(nanoseconds);
      histogram spent;
      play(n, run, spent);
      ns[i] = static_cast<double>(spent.at(0.5));
      const std::uint64_t after = resident_bytes();
      bytes[i] = after > before ? after - before : 0;
    }
    std::cout << (first ? "" : ",") << "{\"shape\":\"" << name << "\",\"size\":" << size << ",\"p50_ns\":" << ns[0]
              << ",\"p50_ns_at_ten_times\":" << ns[1] << ",\"resident_bytes\":" << bytes[0]
              << ",\"resident_bytes_at_ten_times\":" << bytes[1] << "}";
    first = false;
  }
  std::cout << "]}\n";
}

// ---- a chain of activations

double chain_ns_a_node(std::uint64_t nodes) {
  judged_run run(nanoseconds);
  message_builder t;
  message* m = &t.begin(message_type::event);
  t.event(t.name("e", 0), "agent-0");
  std::uint64_t spent = run.take(*m);
  for (std::uint64_t i = 0; i < nodes; ++i) {
    m = &t.starts("v", i);
    m->agent = t.name("agent-", i % 10);
    m->inputs.push_back(t.name("e", i));
    spent += run.take(*m);
    m = &t.ends("v", i);
    t.event(t.name("e", i + 1), t.name("agent-", (i + 1) % 10));
    spent += run.take(*m);
  }
  return static_cast<double>(spent) / static_cast<double>(nodes);
}

void chain_table() {
  std::cout << "{\"chain\":[";
  for (const std::uint64_t nodes : {1'000, 10'000}) {
    double best = chain_ns_a_node(nodes);
    for (int again = 0; again < 4; ++again) best = std::min(best, chain_ns_a_node(nodes));
    std::cout << (nodes == 1'000 ? "" : ",") << "{\"nodes\":" << nodes << ",\"ns_a_node\":" << best << "}";
  }
  std::cout << "]}\n";
}

}  // namespace

}  // namespace digd::bench

int main(int argc, char** argv) {
  CLI::App app("Does judging cost more the longer a run is, or the more hostile its shape?");
  app.require_subcommand(1);
  std::uint64_t events = 10'000'000;
  CLI::App* long_one = app.add_subcommand("long", "one run, at each length");
  long_one->add_option("--events", events)->check(CLI::Range(1'000, 1'000'000'000))->capture_default_str();
  std::uint64_t kept_events = 96'000;
  CLI::App* kept = app.add_subcommand("kept", "bytes of an event that is settled and remembered");
  kept->add_option("--events", kept_events)->check(CLI::Range(1'600, 100'000))->capture_default_str();
  CLI::App* shapes = app.add_subcommand("shapes", "hostile shapes, at a size and at ten times it");
  CLI::App* chain =
      app.add_subcommand("chain", "nanoseconds a node of a chain of 1,000 and 10,000 activations; the best of five");
  CLI::App* picture = app.add_subcommand("picture", "draws what `long` printed, which it reads from standard input");
  CLI11_PARSE(app, argc, argv);
  return digd::bench::as_tool("digd-growth", [&] {
    if (*chain) digd::bench::chain_table();
    if (*kept) digd::bench::kept_table(kept_events);
    if (*long_one) digd::bench::long_table(events);
    if (*shapes) digd::bench::shapes_table();
    if (*picture) std::cout << digd::bench::growth_chart(std::string(std::istreambuf_iterator<char>(std::cin), {}));
    return 0;
  });
}
