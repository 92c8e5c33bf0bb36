// Synthetic runs of hostile shapes, for measuring the cost of an event: the benchmark measures nanoseconds
// (bench/growth.cpp), the tests count elements looked at (tests/engine/growth_test.cpp).
//
// The engine alone: graph and rules, no JSON, no disk. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "bench/histogram.h"
#include "bench/story.h"
#include "engine/policy.h"
#include "engine/run.h"

namespace digd::bench {

inline hello greeting() {
  hello h;
  h.protocol = 1;
  h.run = "bench";
  h.mode = mode::enforce;
  h.clock = clock_kind::trace;
  h.budget = 1'000'000'000;
  h.rules[index_of(rule_id::early_termination)].max_attempts = 1'000'000'000;
  return h;
}

class judged_run {
 public:
  // The measured quantity: a count that only grows.
  using meter = std::function<std::uint64_t(const run&)>;

  explicit judged_run(meter of)
      : of_(std::move(of)), first_(greeting()), run_(effective_settings(first_, run_policy()), first_) {
    run_.join(first_);
  }

  // The cost of a message. Throws if the engine refuses it, since nothing was measured then.
  std::uint64_t take(const message& m) {
    const std::uint64_t before = of_(run_);
    run_.apply(m, who_, 0, answer_);
    const std::uint64_t spent = of_(run_) - before;
    if (answer_.refused)
      throw std::runtime_error("the made run was refused: " + std::string(to_string(answer_.refused.code)) + " " +
                               answer_.refused.field);
    return spent;
  }

  const graph::graph& graph() const { return run_.graph(); }
  std::uint64_t detections() const { return run_.detections(); }

 private:
  meter of_;
  hello first_;
  run run_;
  speaker who_;
  answer answer_;
};

// Plays a shape of a given size and adds the cost of each relevant event to the histogram.
using shape = std::function<void(std::uint64_t size, judged_run&, histogram&)>;

inline void pending_at_one_agent(std::uint64_t size, judged_run& run, histogram& to) {
  message_builder t;
  for (std::uint64_t i = 0; i < size; ++i) {
    message& m = t.begin(message_type::event);
    t.event(t.name("e", i), "a");
    to.add(run.take(m));
  }
}

// Each activation of b merges the last result with one from a new root; the result has one more generator each time.
inline void generators_in_a_chain(std::uint64_t size, judged_run& run, histogram& to) {
  message_builder t;
  message* m = &t.begin(message_type::event);
  t.event(t.name("r", 0), "b");
  run.take(*m);
  for (std::uint64_t i = 1; i <= size; ++i) {
    run.take(t.starts("make", i, "a"));
    m = &t.ends("make", i);
    t.event(t.name("f", i), "b");
    t.event(t.name("g", i), "c");
    to.add(run.take(*m));
    m = &t.starts("merge", i, "b");
    m->inputs.push_back(t.name("r", i - 1));
    m->inputs.push_back(t.name("f", i));
    run.take(*m);
    m = &t.ends("merge", i);
    t.event(t.name("r", i), "b");
    to.add(run.take(*m));
    m = &t.starts("drop", i, "c");
    m->inputs.push_back(t.name("g", i));
    run.take(*m);
    run.take(t.ends("drop", i));
  }
}

// One event for `size` agents. Its cost is divided among its deliveries.
inline void recipients(std::uint64_t size, judged_run& run, histogram& to) {
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < size; ++i) names.push_back("agent-" + std::to_string(i));
  message_builder t;
  for (std::uint64_t round = 0; round < 5; ++round) {
    message& m = t.begin(message_type::event);
    event_draft& e = t.event(t.name("e", round), names[0]);
    if (round % 2 == 0) {
      e.recipients.assign(names.begin(), names.end());
    } else {  // the order of recipients must not matter
      e.recipients.assign(names.rbegin(), names.rend());
    }
    const std::uint64_t each = (run.take(m) + size - 1) / size;
    for (std::uint64_t i = 0; i < size; ++i) to.add(each);
  }
}

inline void submits_in_a_row(std::uint64_t size, judged_run& run, histogram& to) {
  message_builder t;
  message* m = &t.begin(message_type::event);
  t.event("open work", "b");
  run.take(*m);
  for (std::uint64_t i = 0; i < size; ++i) {
    run.take(t.starts("v", i, "a"));
    m = &t.ends("v", i);
    event_draft& e = m->events.emplace_back();
    e.id = t.name("s", i);
    e.submit = true;
    to.add(run.take(*m));
    m = &t.starts("w", i, "a");  // consumes the event that was given back, or it would pile up
    m->inputs.push_back(t.name("s", i));
    run.take(*m);
    run.take(t.ends("w", i));
  }
}

// One activation takes `size` events as inputs.
inline void inputs(std::uint64_t size, judged_run& run, histogram& to) {
  std::vector<std::string> names;
  message_builder t;
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
  for (std::uint64_t i = 0; i < size; ++i) to.add((spent + size - 1) / size);
}

// All work of one split is pending at one agent, so cross_lineage_aggregation compares each new event with all of it.
inline void lineage_pending_at_one_agent(std::uint64_t size, judged_run& run, histogram& to) {
  message_builder t;
  message* m = &t.begin(message_type::activation_started);
  m->activation = "split";
  m->agent = "a";
  run.take(*m);
  for (std::uint64_t i = 0; i < size; ++i) {
    m = &t.begin(message_type::event);
    t.event(t.name("e", i), "b").source = "split";
    to.add(run.take(*m));
  }
}

// One activation with `size` inputs and `size` outputs, which another takes: a layer that settles in one message.
inline void layer_that_settles(std::uint64_t size, judged_run& run, histogram& to) {
  message_builder t;
  std::vector<std::string> in, out;
  for (std::uint64_t i = 0; i < size; ++i) {
    in.push_back("in" + std::to_string(i));
    out.push_back("out" + std::to_string(i));
    message& m = t.begin(message_type::event);
    t.event(in.back(), "a");
    run.take(m);
  }
  std::uint64_t spent = 0;
  const auto start = [&](std::string_view name, std::string_view agent, const std::vector<std::string>& inputs) {
    message& m = t.begin(message_type::activation_started);
    m.activation = name;
    m.agent = agent;
    m.inputs.assign(inputs.begin(), inputs.end());
    spent += run.take(m);
  };
  start("v1", "a", in);
  message* m = &t.begin(message_type::activation_ended);
  m->activation = "v1";
  for (const std::string& name : out) t.event(name, "b");
  spent += run.take(*m);
  start("v2", "b", out);
  m = &t.begin(message_type::event);  // its lineage includes all of them
  t.event("middle", "c").source = "v2";
  spent += run.take(*m);
  m = &t.begin(message_type::activation_ended);
  m->activation = "v2";
  spent += run.take(*m);
  for (std::uint64_t i = 0; i < size; ++i) to.add((spent + size - 1) / size);
}

// `size` events of as many splits wait at one agent, and one activation of it consumes them all.
inline void lineages_consumed_at_once(std::uint64_t size, judged_run& run, histogram& to) {
  message_builder t;
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < size; ++i) {
    names.push_back("e" + std::to_string(i));
    run.take(t.starts("split", i, "a"));
    message& m = t.ends("split", i);
    t.event(names.back(), "b");
    run.take(m);
  }
  message* m = &t.starts("take", 0, "b");
  m->inputs.assign(names.begin(), names.end());
  std::uint64_t spent = run.take(*m);
  m = &t.ends("take", 0);
  t.event("out", "c");
  spent += run.take(*m);
  for (std::uint64_t i = 0; i < size; ++i) to.add((spent + size - 1) / size);
}

// `size` agents each send an event that its recipient discards. The windows of these orphans fire at the same time.
inline void orphans_at_one_time(std::uint64_t size, judged_run& run, histogram& to) {
  message_builder t;
  const auto take = [&](message& m, milliseconds ts) {
    m.ts = ts;
    return run.take(m);
  };
  for (std::uint64_t i = 0; i < size; ++i) {
    message* m = &t.begin(message_type::event);
    t.event(t.name("r", i), t.name("agent-", i));
    take(*m, 1);
    m = &t.starts("send", i);
    m->agent = t.name("agent-", i);
    m->inputs.push_back(t.name("r", i));
    take(*m, 1);
    m = &t.ends("send", i);
    t.event(t.name("e", i), "a");
    take(*m, 1);
    m = &t.starts("drop", i, "a");
    m->inputs.push_back(t.name("e", i));
    take(*m, 1);
    m = &t.ends("drop", i);
    reaction_draft& drop = m->reactions.emplace_back();
    drop.input = t.name("e", i);
    drop.reaction = reaction::discard;
    take(*m, 1);
  }
  const std::uint64_t spent = take(t.begin(message_type::time), 1'000'000);
  if (run.detections() < size) throw std::runtime_error("not all windows fired");
  for (std::uint64_t i = 0; i < size; ++i) to.add((spent + size - 1) / size);
}

// Name, size, shape. Each shape is measured at its size and at ten times its size.
inline const std::vector<std::tuple<const char*, std::uint64_t, shape>>& shapes() {
  static const std::vector<std::tuple<const char*, std::uint64_t, shape>> list{
      {"events pending at one agent", 1'000, pending_at_one_agent},
      {"events of one lineage pending at one agent", 1'000, lineage_pending_at_one_agent},
      {"generators merged in a chain", 10'000, generators_in_a_chain},
      {"recipients of one event", 1'000, recipients},
      {"submits in a row", 100, submits_in_a_row},
      {"inputs of one activation", 1'000, inputs},
      {"events of a layer that settles at once", 1'000, layer_that_settles},
      {"lineages that one activation consumes", 200, lineages_consumed_at_once},
      {"orphans whose windows fire at one time", 1'000, orphans_at_one_time}};
  return list;
}

}  // namespace digd::bench
