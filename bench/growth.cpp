// Does judging cost more the longer a run is, or the more hostile its shape? The engine alone: graph and rules, no JSON, no disk.
//
//   digd-growth long [--events N]     one run of N events: nanoseconds an event at each length, memory, the slowest steps
//   digd-growth shapes                the shapes that grow most, at a size and at ten times it
//   digd-growth chain                 agents in a chain, each activation consumes one event and makes the next: for comparison with
//                                     what the paper's own library was measured at
//
// Prints JSON. Each is played twice: a step counts as slow only if it was slow both times, since the machine interrupts too.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "bench/histogram.h"
#include "bench/story.h"
#include "engine/run.h"

namespace digd::bench {

namespace {

using steady = std::chrono::steady_clock;

std::uint64_t now_ns() { return static_cast<std::uint64_t>(steady::now().time_since_epoch().count()); }

std::uint64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::uint64_t all = 0, resident = 0;
  in >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

hello greeting() {
  hello h;
  h.protocol = 1;
  h.run = "bench";
  h.how = mode::enforce;
  h.clock = clock_kind::trace;
  h.budget = 1'000'000'000;
  return h;
}

class judged_run {
 public:
  judged_run() : first_(greeting()), run_(settle(first_, run_policy()), first_) { run_.join(first_); }

  // Nanoseconds; complains if the message was refused, since then nothing was measured.
  std::uint64_t take(const message& m) {
    const std::uint64_t before = now_ns();
    run_.apply(m, who_, 0, answer_);
    const std::uint64_t spent = now_ns() - before;
    if (answer_.refused) throw std::runtime_error("the made run was refused: " + std::string(to_string(answer_.refused.code)) + " " + answer_.refused.field);
    return spent;
  }

  const graph::graph& graph() const { return run_.graph(); }

 private:
  hello first_;
  run run_;
  speaker who_;
  answer answer_;
};

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
  judged_run run;
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

std::uint64_t slowest_of_both(const pass& a, const pass& b) {
  std::uint64_t most = 0;
  for (const auto& [message, ns] : a.slow) {
    if (const auto same = b.slow.find(message); same != b.slow.end()) most = std::max(most, std::min(ns, same->second));
  }
  return most;
}

void long_table(std::uint64_t events) {
  const pass first = play_long(events), second = play_long(events);
  std::cout << "{\"stretches\":[";
  for (std::size_t i = 0; i < first.stretches.size(); ++i) {
    const stretch& s = first.stretches[i];
    const std::uint64_t median = std::min(s.ns.at(0.5), second.stretches[i].ns.at(0.5));
    std::cout << (i ? "," : "") << "{\"events\":" << s.until << ",\"p50_ns\":" << median << ",\"p99_ns\":" << std::min(s.ns.at(0.99), second.stretches[i].ns.at(0.99))
              << ",\"resident_bytes\":" << s.resident << "}";
  }
  std::cout << "],\"slowest_step_ns\":" << slowest_of_both(first, second) << ",\"slow_steps_above_ns\":" << slow_ns << "}\n";
}

// ---- hostile shapes

// Plays a shape of a size; gives the nanoseconds of each event that is to be counted.
using shape = std::function<void(std::uint64_t size, judged_run&, histogram&)>;

void pending_at_one_agent(std::uint64_t size, judged_run& run, histogram& to) {
  told t;
  for (std::uint64_t i = 0; i < size; ++i) {
    message& m = t.begin(message_type::event);
    t.event(t.name("e", i), "a");
    to.add(run.take(m));
  }
}

// Each activation of b takes the last result and a fresh root's, and merges: the result has one more generator.
void generators_in_a_chain(std::uint64_t size, judged_run& run, histogram& to) {
  told t;
  message* m = &t.begin(message_type::event);
  t.event(t.name("r", 0), "b");
  run.take(*m);
  for (std::uint64_t i = 1; i <= size; ++i) {
    m = &t.begin(message_type::activation_started);
    m->activation = t.name("make", i);
    m->agent = "a";
    run.take(*m);
    m = &t.begin(message_type::activation_ended);
    m->activation = t.name("make", i);
    t.event(t.name("f", i), "b");
    t.event(t.name("g", i), "c");
    to.add(run.take(*m));
    m = &t.begin(message_type::activation_started);
    m->activation = t.name("merge", i);
    m->agent = "b";
    m->inputs.push_back(t.name("r", i - 1));
    m->inputs.push_back(t.name("f", i));
    run.take(*m);
    m = &t.begin(message_type::activation_ended);
    m->activation = t.name("merge", i);
    t.event(t.name("r", i), "b");
    to.add(run.take(*m));
    m = &t.begin(message_type::activation_started);
    m->activation = t.name("drop", i);
    m->agent = "c";
    m->inputs.push_back(t.name("g", i));
    run.take(*m);
    m = &t.begin(message_type::activation_ended);
    m->activation = t.name("drop", i);
    run.take(*m);
  }
}

// An event to `size` agents, each of which then takes it: what the event costs is shared among its deliveries.
void recipients(std::uint64_t size, judged_run& run, histogram& to) {
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < size; ++i) names.push_back("agent-" + std::to_string(i));
  told t;
  for (std::uint64_t round = 0; round < 5; ++round) {
    message& m = t.begin(message_type::event);
    event_draft& e = t.event(t.name("e", round), names[0]);
    e.recipients.assign(names.begin(), names.end());
    const std::uint64_t each = run.take(m) / size;
    for (std::uint64_t i = 0; i < size; ++i) to.add(each);
  }
}

void submits_in_a_row(std::uint64_t size, judged_run& run, histogram& to) {
  told t;
  message* m = &t.begin(message_type::event);
  t.event("open work", "b");
  run.take(*m);
  for (std::uint64_t i = 0; i < size; ++i) {
    m = &t.begin(message_type::activation_started);
    m->activation = t.name("v", i);
    m->agent = "a";
    run.take(*m);
    m = &t.begin(message_type::activation_ended);
    m->activation = t.name("v", i);
    event_draft& e = m->events.emplace_back();
    e.id = t.name("s", i);
    e.submit = true;
    to.add(run.take(*m));
    m = &t.begin(message_type::activation_started);  // what was given back is taken, or it would pile up
    m->activation = t.name("w", i);
    m->agent = "a";
    m->inputs.push_back(t.name("s", i));
    try {
      run.take(*m);
    } catch (const std::runtime_error&) {
      continue;  // it went through
    }
    m = &t.begin(message_type::activation_ended);
    m->activation = t.name("w", i);
    run.take(*m);
  }
}

// One activation takes `size` events at once.
void inputs(std::uint64_t size, judged_run& run, histogram& to) {
  std::vector<std::string> names;
  told t;
  for (std::uint64_t i = 0; i < size; ++i) {
    names.push_back("e" + std::to_string(i));
    message& m = t.begin(message_type::event);
    t.event(names.back(), "a");
    run.take(m);
  }
  message* m = &t.begin(message_type::activation_started);
  m->activation = "v";
  m->agent = "a";
  m->inputs.assign(names.begin(), names.end());
  std::uint64_t spent = run.take(*m);
  m = &t.begin(message_type::activation_ended);
  m->activation = "v";
  t.event("out", "b");
  spent += run.take(*m);
  for (std::uint64_t i = 0; i < size; ++i) to.add(spent / size);
}

void shapes_table() {
  const std::vector<std::tuple<const char*, std::uint64_t, shape>> all{
      {"events pending at one agent", 1'000, pending_at_one_agent},
      {"generators merged in a chain", 10'000, generators_in_a_chain},
      {"recipients of one event", 1'000, recipients},
      {"submits in a row", 100, submits_in_a_row},
      {"inputs of one activation", 1'000, inputs}};
  std::cout << "{\"shapes\":[";
  bool first = true;
  for (const auto& [name, size, play] : all) {
    std::array<double, 2> ns{};
    std::array<std::uint64_t, 2> bytes{};
    for (std::size_t i = 0; i < 2; ++i) {
      const std::uint64_t n = i == 0 ? size : 10 * size;
      const std::uint64_t before = resident_bytes();
      judged_run run;
      histogram spent;
      play(n, run, spent);
      ns[i] = static_cast<double>(spent.at(0.5));
      const std::uint64_t after = resident_bytes();
      bytes[i] = after > before ? after - before : 0;
    }
    std::cout << (first ? "" : ",") << "{\"shape\":\"" << name << "\",\"size\":" << size << ",\"p50_ns\":" << ns[0] << ",\"p50_ns_at_ten_times\":" << ns[1]
              << ",\"resident_bytes\":" << bytes[0] << ",\"resident_bytes_at_ten_times\":" << bytes[1] << "}";
    first = false;
  }
  std::cout << "]}\n";
}

// ---- a chain of activations

double chain_ns_a_node(std::uint64_t nodes) {
  judged_run run;
  told t;
  message* m = &t.begin(message_type::event);
  t.event(t.name("e", 0), "agent-0");
  std::uint64_t spent = run.take(*m);
  for (std::uint64_t i = 0; i < nodes; ++i) {
    m = &t.begin(message_type::activation_started);
    m->activation = t.name("v", i);
    m->agent = t.name("agent-", i % 10);
    m->inputs.push_back(t.name("e", i));
    spent += run.take(*m);
    m = &t.begin(message_type::activation_ended);
    m->activation = t.name("v", i);
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
  CLI::App* shapes = app.add_subcommand("shapes", "hostile shapes, at a size and at ten times it");
  CLI::App* chain = app.add_subcommand("chain", "nanoseconds a node of a chain of 1,000 and 10,000 activations; the best of five");
  CLI11_PARSE(app, argc, argv);
  try {
    if (*chain) digd::bench::chain_table();
    if (*long_one) digd::bench::long_table(events);
    if (*shapes) digd::bench::shapes_table();
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "digd-growth: " << e.what() << '\n';
    return 2;
  }
}
