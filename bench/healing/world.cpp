#include "bench/healing/world.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace digd::bench {

namespace {

constexpr milliseconds beat_ms = 1'000;

}  // namespace

world::world(const cell& where, std::uint64_t seed, const parameters& parameters, monitor& to)
    : where_(where), parameters_(parameters), chance_(seed), task_(where.integers, chance_), monitor_(to) {
  for (int a = 0; a < where.agents; ++a) {
    names_.push_back("a" + std::to_string(a + 1));
    numbers_[names_.back()] = a;
    seat& seat = seats_.emplace_back();
    seat.mind.number = a;
    seat.mind.forgetful = chance_.chance(parameters.forgetful, purpose::forgetful, static_cast<std::uint64_t>(a), 0);
  }
}

outcome world::live() {
  begin();
  while (!answer_ && !queue_.empty() && queue_.top().at <= parameters_.time_limit_ms) {
    const due next = queue_.top();
    queue_.pop();
    now_ = next.at;
    switch (next.what_next) {
      case what_next::wake: wake(next.agent); break;
      case what_next::end: end(next.agent); break;
      case what_next::beat:
        intervene(tell({.type = message_type::time}));
        plan(now_ + beat_ms, what_next::beat, none);
        break;
    }
    if (on_settled) on_settled();
  }
  if (!answer_) now_ = parameters_.time_limit_ms;
  finish(counts_);
  return counts_;
}

// The problem goes to a few agents.
void world::begin() {
  monitor_.open(names_, parameters_);
  std::vector<int> order;
  for (int a = 0; a < where_.agents; ++a) order.push_back(a);
  chance_.at(purpose::root).shuffle(std::span<int>(order));
  order.resize(static_cast<std::size_t>(std::min(where_.agents, parameters_.root_recipients)));
  const int root = add_item({.kind = item_kind::problem, .part = task_.whole()});
  report r{.type = message_type::event};
  r.events.push_back(
      {.id = items_[static_cast<std::size_t>(root)].id, .kind = "problem", .recipients = names_of(order)});
  const instruction instruction = tell(r);
  intervene(instruction);
  obey(r, {root}, instruction);
  plan(beat_ms, what_next::beat, none);
}

int world::add_item(item item) {
  const int number = static_cast<int>(items_.size());
  if (item.id.empty()) item.id = "e" + std::to_string(number);
  items_by_id_[item.id] = number;
  items_.push_back(std::move(item));
  return number;
}

std::vector<std::string> world::names_of(const std::vector<int>& agents) const {
  std::vector<std::string> out;
  for (const int a : agents) out.push_back(a == no_such_agent ? "coordinator" : names_[static_cast<std::size_t>(a)]);
  return out;
}

instruction world::tell(report r) {
  r.ts = now_;
  if (on_told) on_told(r);
  instruction instruction = monitor_.hear(r);
  paused_until_ = std::max(paused_until_, instruction.paused_until);
  return instruction;
}

// ---- activations

void world::plan_wake(int a) {
  seat& who = seats_[static_cast<std::size_t>(a)];
  if (who.awake) return;
  who.awake = true;
  const auto spread = static_cast<std::uint32_t>(parameters_.pickup_most_ms - parameters_.pickup_least_ms + 1);
  const milliseconds pickup =
      parameters_.pickup_least_ms +
      chance_.at(purpose::pickup, static_cast<std::uint64_t>(a), who.mind.activations).below(spread);
  plan(std::max(now_ + pickup, paused_until_), what_next::wake, a);
}

milliseconds world::call_time(const seat& who) const {
  double ms =
      lognormal(chance_.at(purpose::call_time, static_cast<std::uint64_t>(who.mind.number), who.mind.activations),
                parameters_.call_median_ms, parameters_.call_spread);
  for (const int i : who.inputs) {
    const item& item = items_[static_cast<std::size_t>(i)];
    if (item.kind == item_kind::raw)
      ms += parameters_.call_ms_per_thousand * static_cast<double>(item.part.size()) / 1'000;
  }
  return std::max<milliseconds>(1, static_cast<milliseconds>(std::llround(ms)));
}

void world::wake(int a) {
  seat& who = seats_[static_cast<std::size_t>(a)];
  if (paused_until_ > now_) return plan(paused_until_, what_next::wake, a);
  ++who.mind.activations;
  ++counts_.calls;
  who.open = true;
  who.changed = false;
  who.activation = "v" + std::to_string(counts_.calls);
  who.inputs.clear();
  report r{.type = message_type::activation_started,
           .agent = names_[static_cast<std::size_t>(a)],
           .activation = who.activation};
  for (const presented& p : who.buffer) {
    who.inputs.push_back(p.number);
    r.inputs.push_back(items_[static_cast<std::size_t>(p.number)].id);
  }
  who.doing = act(who.mind, who.buffer, {parameters_, task_, chance_, where_.agents, items_, names_});
  const milliseconds takes = call_time(who);
  const bool hangs =
      chance_.chance(parameters_.hang, purpose::hang, static_cast<std::uint64_t>(a), who.mind.activations);
  intervene(tell(std::move(r)));
  if (!hangs) plan(now_ + takes, what_next::end, a);
}

void world::end(int a) {
  seat& who = seats_[static_cast<std::size_t>(a)];
  report r{.type = message_type::activation_ended,
           .agent = names_[static_cast<std::size_t>(a)],
           .activation = who.activation,
           .failed = who.doing.failed};
  std::vector<int> blocked;
  if (!who.doing.failed) {
    counts_.computed += who.doing.computed;
    react(who, r, blocked);
    put_out(who, r, blocked);
  }
  who.open = who.awake = false;
  const instruction instruction = tell(r);
  intervene(instruction);
  obey(r, blocked, instruction);
  if (!answer_ && who.changed && !who.buffer.empty()) plan_wake(a);
}

// The reactions take effect on the agent's own buffer. Rerouted items wait for their verdicts.
void world::react(seat& who, report& r, std::vector<int>& blocked) {
  for (std::size_t i = 0; i < who.inputs.size(); ++i) {
    const int number = who.inputs[i];
    const handled& h = who.doing.reactions[i];
    r.reactions.push_back({items_[static_cast<std::size_t>(number)].id, h.reaction, names_of(h.targets)});
    if (h.reaction == reaction::wait) continue;
    who.changed = true;
    std::erase_if(who.buffer, [&](const presented& p) { return p.number == number; });
    if (h.reaction == reaction::reroute) blocked.push_back(number);
  }
}

void world::put_out(seat& who, report& r, std::vector<int>& blocked) {
  for (output& o : who.doing.outputs) {
    const std::string kind(to_string(o.item.kind));
    const int number = add_item(std::move(o.item));
    note(items_[static_cast<std::size_t>(number)]);
    blocked.push_back(number);
    r.events.push_back({.id = items_[static_cast<std::size_t>(number)].id,
                        .kind = kind,
                        .recipients = names_of(o.recipients),
                        .submit = o.submit});
  }
}

// What can be known of a run by someone who sees into every buffer.
void world::note(const item& put_out) {
  if (put_out.kind != item_kind::solution) return;
  if (put_out.submitted && counts_.found_ms < 0 && put_out.result.counted.is_exactly(task_.whole()))
    counts_.found_ms = now_;
  if (counts_.known_ms >= 0) return;
  known_.add(put_out.result.counted);
  if (known_.missing_in(task_.whole()).empty()) counts_.known_ms = now_;
}

// ---- what the monitor says is done

void world::obey(const report& r, const std::vector<int>& blocked, const instruction& given_instruction) {
  std::size_t at = 0;
  const auto next = [&](const std::vector<std::string>& to, bool submit) {
    const instruction::verdict& v = given_instruction.verdicts[at];
    const int number = blocked[at++];
    counts_.interventions += v.action != action::deliver;
    if (v.action == action::reroute) {
      give(number, v.recipients, v.hints, true);
    } else if (submit) {
      if (!answer_) answer_ = number;
    } else {
      give(number, to, v.hints, false);
    }
  };
  for (const report::reacted& reacted : r.reactions) {
    if (reacted.reaction == reaction::reroute) next(reacted.targets, false);
  }
  for (const report::event& event : r.events) next(event.recipients, event.submit);
}

void world::intervene(const instruction& given_instruction) {
  for (const instruction::intervention& i : given_instruction.interventions) {
    ++counts_.interventions;
    const int number =
        i.action == action::create ? add_item({.id = i.id, .kind = item_kind::notice}) : items_by_id_.at(i.event);
    give(number, i.recipients, i.hints, i.action == action::reroute);
    if (!i.wants_report) continue;
    const applied current_applied = i.action == action::create ? applied::created : applied::rerouted;
    intervene(tell({.type = message_type::delivery, .of = i.id, .applied = current_applied}));
  }
}

// An item that lies in the buffer already is not given twice; what was said with it is added.
void world::give(int number, const std::vector<std::string>& recipients, std::vector<hint> hints, bool given_back) {
  for (hint& h : hints) h.number = ++hints_;
  for (const std::string& name : recipients) {
    const auto known = numbers_.find(name);
    if (known == numbers_.end()) continue;
    seat& who = seats_[static_cast<std::size_t>(known->second)];
    auto there =
        std::find_if(who.buffer.begin(), who.buffer.end(), [&](const presented& p) { return p.number == number; });
    if (there == who.buffer.end()) there = who.buffer.insert(there, {.number = number});
    there->hints.insert(there->hints.end(), hints.begin(), hints.end());
    there->given_back = there->given_back || given_back;
    who.changed = true;
    if (!who.open) plan_wake(known->second);
  }
}

// ---- the end

void world::finish(outcome& out) {
  table answer{};
  if (answer_) {
    const solution& given = items_[static_cast<std::size_t>(*answer_)].result;
    answer = given.counts;
    out.answered = true;
    out.valid = given.counted.is_exactly(task_.whole());
    out.missing = task_.whole().size() - given.counted.distinct();
    out.repeated = given.counted.counted() - given.counted.distinct();
  }
  out.rmse = task_.rmse(answer);
  out.time_ms = now_;
  tell({.type = message_type::run_ended, .outcome = out.valid ? run_outcome::success : run_outcome::failure});
  out.counted = monitor_.counted();
}

std::vector<std::string> world::buffer_of(int agent) const {
  std::vector<std::string> out;
  for (const presented& p : seats_[static_cast<std::size_t>(agent)].buffer) {
    out.push_back(items_[static_cast<std::size_t>(p.number)].id);
  }
  return out;
}

}  // namespace digd::bench
