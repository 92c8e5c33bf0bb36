// Messages of synthetic runs for the engine alone. The builder owns the names, so that no JSON is part of the
// measurement.
//
// Thread: one at a time. Lifetime: a message and its names hold until the next one. Bounds: `max_names` names.
#pragma once

#include <array>
#include <string>

#include "model/message.h"

namespace digd::bench {

// Builds one message after another in place and owns the names that it views.
class message_builder {
 public:
  message& begin(message_type type) {
    m_.clear();
    m_.type = type;
    m_.seq = ++seq_;
    m_.ts = static_cast<milliseconds>(seq_);
    used_ = 0;
    return m_;
  }
  const message& current() const { return m_; }

  // A name that lives until the next `begin`; at most `max_names` of them.
  std::string_view name(std::string_view prefix, std::uint64_t number) {
    std::string& at = names_[used_++];
    at.assign(prefix);
    at += std::to_string(number);
    return at;
  }

  // The start or end of an activation; the caller adds inputs and outputs.
  message& starts(std::string_view prefix, std::uint64_t number, std::string_view agent = {}) {
    message& m = begin(message_type::activation_started);
    m.activation = name(prefix, number);
    m.agent = agent;
    return m;
  }
  message& ends(std::string_view prefix, std::uint64_t number) {
    message& m = begin(message_type::activation_ended);
    m.activation = name(prefix, number);
    return m;
  }

  event_draft& event(std::string_view id, std::string_view to) {
    event_draft& made = m_.events.emplace_back();
    made.id = id;
    made.recipients.push_back(to);
    return made;
  }

 private:
  static constexpr std::size_t max_names = 64;
  message m_;
  std::uint64_t seq_ = 0;
  std::array<std::string, max_names> names_;
  std::size_t used_ = 0;
};

// An endless run with few live events: a planner splits a task in three, three coders solve the parts, a tester joins
// the answers, and the joined answer is the next task. Ten messages a round, under ten live events.
class long_run {
 public:
  const message& next() {
    switch (step_++) {
      case 0: return started("plan-", n_, "planner", "task-", n_);
      case 1: return ended_with_parts();
      case 2:
      case 4:
      case 6: {
        const std::uint64_t part = 3 * n_ + (step_ - 3) / 2;
        return started("solve-", part, coders[part % 3], "part-", part);
      }
      case 3:
      case 5:
      case 7: {
        const std::uint64_t part = 3 * n_ + (step_ - 4) / 2;
        message& m = builder_.ends("solve-", part);
        builder_.event(builder_.name("answer-", part), "tester");
        return m;
      }
      case 8: {
        message& m = builder_.starts("join-", n_, "tester");
        for (std::uint64_t i = 0; i < 3; ++i) m.inputs.push_back(builder_.name("answer-", 3 * n_ + i));
        return m;
      }
      default: {
        message& m = builder_.ends("join-", n_);
        builder_.event(builder_.name("task-", ++n_), "planner");
        step_ = 0;
        return m;
      }
    }
  }

  // The first task. Call it once, before `next`.
  const message& first() {
    message& m = builder_.begin(message_type::event);
    builder_.event(builder_.name("task-", n_), "planner");
    return m;
  }

  static constexpr std::array<std::string_view, 3> coders{"coder-1", "coder-2", "coder-3"};

 private:
  const message& started(std::string_view kind, std::uint64_t number, std::string_view agent, std::string_view input,
                         std::uint64_t of) {
    message& m = builder_.starts(kind, number, agent);
    m.inputs.push_back(builder_.name(input, of));
    return m;
  }

  const message& ended_with_parts() {
    message& m = builder_.ends("plan-", n_);
    for (std::uint64_t i = 0; i < 3; ++i) builder_.event(builder_.name("part-", 3 * n_ + i), coders[(3 * n_ + i) % 3]);
    return m;
  }

  message_builder builder_;
  std::uint64_t n_ = 0;
  unsigned step_ = 0;
};

}  // namespace digd::bench
