#include "bench/healing/world.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/healing/reading.h"

namespace digd::bench {

namespace {

constexpr milliseconds beat_ms = 1'000;

}  // namespace

world::world(const cell& where, std::uint64_t seed, const parameters& parameters, monitor& to)
    : where_(where), parameters_(parameters), chance_(seed), task_(where.integers, chance_), monitor_(to) {
  for (int a = 0; a < where.agents; ++a) {
    names_.push_back("a" + std::to_string(a + 1));
    numbers_[names_.back()] = a;
    agent_slot& agent_slot = slots_.emplace_back();
    agent_slot.mind.number = a;
    agent_slot.mind.forgetful =
        chance_.chance(parameters.forgetful, purpose::forgetful, static_cast<std::uint64_t>(a), 0);
  }
}

outcome world::live() {
  begin();
  while (!answer_ && !queue_.empty() && queue_.top().at <= parameters_.time_limit_ms) {
    const due next = queue_.top();
    queue_.pop();
    now_ = next.at;
    switch (next.kind) {
      case due_kind::wake: wake(next.agent); break;
      case due_kind::end: end(next.agent); break;
      case due_kind::beat:
        intervene(tell({.type = message_type::time}));
        plan(now_ + beat_ms, due_kind::beat, none);
        break;
    }
    if (on_settled) on_settled();
  }
  if (!answer_) now_ = parameters_.time_limit_ms;
  finish(counts_);
  return counts_;
}

// Gives the problem to one agent, sometimes to one or two more.
void world::begin() {
  monitor_.open(names_, parameters_);
  std::vector<int> order;
  for (int a = 0; a < where_.agents; ++a) order.push_back(a);
  chance_.at(purpose::root).shuffle(std::span<int>(order));
  random_stream more = chance_.at(purpose::root, 0, 0, 1);
  const int recipients = 1 + more.chance(parameters_.second_root) + more.chance(parameters_.second_root);
  order.resize(static_cast<std::size_t>(std::min(where_.agents, recipients)));
  const int root = add_item({.kind = item_kind::problem, .part = task_.whole()});
  report r{.type = message_type::event};
  r.events.push_back({.id = items_[static_cast<std::size_t>(root)].id,
                      .kind = "problem",
                      .recipients = names_of(order),
                      .label = cover(task_.whole())});
  const instruction instruction = tell(r);
  intervene(instruction);
  obey(r, {root}, instruction);
  plan(beat_ms, due_kind::beat, none);
}

int world::add_item(item item) {
  const int number = static_cast<int>(items_.size());
  if (item.id.empty()) item.id = "e" + std::to_string(number);
  items_by_id_[item.id] = number;
  items_.push_back(std::move(item));
  histories_.emplace_back();
  return number;
}

std::vector<std::string> world::names_of(const std::vector<int>& agents) const {
  std::vector<std::string> out;
  for (const int a : agents) out.push_back(a == no_such_agent ? "coordinator" : names_[static_cast<std::size_t>(a)]);
  return out;
}

instruction world::tell(report r) {
  r.ts = now_;
  if (on_report) on_report(r);
  instruction instruction = monitor_.hear(r);
  paused_until_ = std::max(paused_until_, instruction.paused_until);
  counts_.tokens += instruction.tokens;
  return instruction;
}

// ---- activations

void world::plan_wake(int a) {
  agent_slot& slot = slots_[static_cast<std::size_t>(a)];
  if (slot.awake) return;
  slot.awake = true;
  const auto spread = static_cast<std::uint32_t>(parameters_.pickup_most_ms - parameters_.pickup_least_ms + 1);
  const milliseconds pickup =
      parameters_.pickup_least_ms +
      chance_.at(purpose::pickup, static_cast<std::uint64_t>(a), slot.mind.activations).below(spread);
  plan(std::max(now_ + pickup, paused_until_), due_kind::wake, a);
}

milliseconds world::call_time(const agent_slot& slot) const {
  double ms =
      lognormal(chance_.at(purpose::call_time, static_cast<std::uint64_t>(slot.mind.number), slot.mind.activations),
                parameters_.call_median_ms, parameters_.call_spread);
  for (const int i : slot.inputs) {
    const item& item = items_[static_cast<std::size_t>(i)];
    if (item.kind == item_kind::raw)
      ms += parameters_.call_ms_per_thousand * static_cast<double>(item.part.size()) / 1'000;
  }
  return std::max<milliseconds>(1, static_cast<milliseconds>(std::llround(ms)));
}

void world::wake(int a) {
  agent_slot& slot = slots_[static_cast<std::size_t>(a)];
  if (paused_until_ > now_) return plan(paused_until_, due_kind::wake, a);
  ++slot.mind.activations;
  ++counts_.calls;
  slot.open = true;
  slot.changed = false;
  slot.activation = "v" + std::to_string(counts_.calls);
  slot.inputs.clear();
  report r{.type = message_type::activation_started,
           .agent = names_[static_cast<std::size_t>(a)],
           .activation = slot.activation};
  for (const presented& p : slot.buffer) {
    slot.inputs.push_back(p.number);
    r.inputs.push_back(items_[static_cast<std::size_t>(p.number)].id);
  }
  count_tokens(slot);
  slot.doing = act(slot.mind, slot.buffer, {parameters_, task_, chance_, where_.agents, items_, names_, items_by_id_});
  counts_.texts_read += slot.doing.texts_read;
  counts_.texts_followed += slot.doing.texts_followed;
  const milliseconds takes = call_time(slot);
  const bool hangs =
      chance_.chance(parameters_.hang, purpose::hang, static_cast<std::uint64_t>(a), slot.mind.activations);
  intervene(tell(std::move(r)));
  if (!hangs) plan(now_ + takes, due_kind::end, a);
}

void world::count_tokens(const agent_slot& slot) {
  double tokens = parameters_.tokens_of_call + parameters_.tokens_of_completion;
  for (const presented& p : slot.buffer) {
    const item& item = items_[static_cast<std::size_t>(p.number)];
    tokens += parameters_.tokens_of_input + parameters_.tokens_of_text * static_cast<double>(p.hints.size());
    if (item.kind == item_kind::raw) tokens += parameters_.tokens_of_integer * static_cast<double>(item.part.size());
  }
  counts_.tokens += tokens;
}

void world::end(int a) {
  agent_slot& slot = slots_[static_cast<std::size_t>(a)];
  report r{.type = message_type::activation_ended,
           .agent = names_[static_cast<std::size_t>(a)],
           .activation = slot.activation,
           .failed = slot.doing.failed};
  std::vector<int> blocked;
  if (!slot.doing.failed) {
    counts_.computed += slot.doing.computed;
    react(slot, r, blocked);
    put_out(slot, r, blocked);
  }
  slot.open = slot.awake = false;
  const instruction instruction = tell(r);
  intervene(instruction);
  obey(r, blocked, instruction);
  if (!answer_ && slot.changed && !slot.buffer.empty()) plan_wake(a);
}

// Applies the reactions to the agent's buffer. Rerouted items become blocked events.
void world::react(agent_slot& slot, report& r, std::vector<int>& blocked) {
  for (std::size_t i = 0; i < slot.inputs.size(); ++i) {
    const int number = slot.inputs[i];
    const handled& h = slot.doing.reactions[i];
    r.reactions.push_back({items_[static_cast<std::size_t>(number)].id, h.reaction, names_of(h.targets)});
    if (h.reaction == reaction::wait) continue;
    item_history& history = histories_[static_cast<std::size_t>(number)];
    history.consumed |= h.reaction == reaction::consume;
    history.reroutes += h.reaction == reaction::reroute;
    slot.changed = true;
    std::erase_if(slot.buffer, [&](const presented& p) { return p.number == number; });
    if (h.reaction == reaction::reroute) blocked.push_back(number);
  }
}

void world::put_out(agent_slot& slot, report& r, std::vector<int>& blocked) {
  for (output& o : slot.doing.outputs) {
    const std::string kind(to_string(o.item.kind));
    const int number = add_item(std::move(o.item));
    const item& added = items_[static_cast<std::size_t>(number)];
    note(added);
    blocked.push_back(number);
    r.events.push_back({.id = added.id,
                        .kind = kind,
                        .recipients = names_of(o.recipients),
                        .submit = o.submit,
                        .label = added.kind != item_kind::solution ? cover(added.part)
                                 : added.vague                     ? cover()
                                                                   : added.label});
  }
}

// Updates `known_ms` and `found_ms`, which need a view of all buffers.
void world::note(const item& put_out) {
  if (put_out.kind != item_kind::solution) return;
  counts_.answers += put_out.submitted;
  if (put_out.submitted && counts_.found_ms < 0 && put_out.result.counted.is_exactly(task_.whole()))
    counts_.found_ms = now_;
  if (counts_.known_ms >= 0) return;
  known_.add(put_out.result.counted);
  if (known_.missing_in(task_.whole()).empty()) counts_.known_ms = now_;
}

// ---- the monitor's answers

void world::obey(const report& r, const std::vector<int>& blocked, const instruction& response) {
  std::size_t at = 0;
  const auto next = [&](const std::vector<std::string>& to, bool submit) {
    const instruction::verdict& v = response.verdicts[at];
    const int number = blocked[at++];
    counts_.interventions += v.action != action::deliver;
    if (v.action == action::reroute) {
      counts_.valid_returned +=
          submit && items_[static_cast<std::size_t>(number)].result.counted.is_exactly(task_.whole());
      give(number, v.recipients, v.text, true);
    } else if (submit) {
      if (!answer_) accept(number);
    } else {
      give(number, to, v.text, false);
    }
  };
  for (const report::reacted& reacted : r.reactions) {
    if (reacted.reaction == reaction::reroute) next(reacted.targets, false);
  }
  for (const report::event& event : r.events) next(event.recipients, event.submit);
}

void world::intervene(const instruction& response) {
  for (const instruction::intervention& i : response.interventions) {
    ++counts_.interventions;
    const int number =
        i.action == action::create ? add_item({.id = i.id, .kind = item_kind::notice}) : items_by_id_.at(i.event);
    give(number, i.recipients, i.text, i.action == action::reroute);
    if (!i.wants_report) continue;
    const applied applied_as = i.action == action::create ? applied::created : applied::rerouted;
    intervene(tell({.type = message_type::delivery, .of = i.id, .applied = applied_as}));
  }
}

// A monitor that takes its time over an answer delays it, perhaps beyond the time limit.
void world::accept(int number) {
  const milliseconds at = std::max(now_, paused_until_);
  if (at > parameters_.time_limit_ms) return;
  answer_ = number;
  answer_ms_ = at;
}

hint world::hint_of(int number, const std::string& text, bool given_back) {
  const item& item = items_[static_cast<std::size_t>(number)];
  hint h{.names = names_in(text), .number = ++hints_};
  if (given_back) {
    h.form = item.submitted ? form::answer_returned : form::event_returned;
  } else {
    h.form = item.kind == item_kind::notice ? form::notice : form::note;
  }
  return h;
}

// Puts an item into the buffers of the recipients. If it is there already, only the text is added.
void world::give(int number, const std::vector<std::string>& recipients, const std::string& text, bool given_back) {
  std::vector<hint> hints;
  if (!text.empty()) hints.push_back(hint_of(number, text, given_back));
  for (const std::string& name : recipients) {
    const auto known = numbers_.find(name);
    if (known == numbers_.end()) continue;
    agent_slot& slot = slots_[static_cast<std::size_t>(known->second)];
    auto there =
        std::find_if(slot.buffer.begin(), slot.buffer.end(), [&](const presented& p) { return p.number == number; });
    if (there == slot.buffer.end()) there = slot.buffer.insert(there, {.number = number});
    there->hints.insert(there->hints.end(), hints.begin(), hints.end());
    there->given_back = there->given_back || given_back;
    slot.changed = true;
    if (!slot.open) plan_wake(known->second);
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
  out.time_ms = answer_ ? answer_ms_ : now_;
  for (const agent_slot& slot : slots_) {
    for (const presented& p : slot.buffer) histories_[static_cast<std::size_t>(p.number)].held = true;
  }
  out.scored = score({task_.whole(), items_, items_by_id_, histories_, answer_}, monitor_.detections());
  tell({.type = message_type::run_ended, .outcome = out.valid ? run_outcome::success : run_outcome::failure});
  out.counted = monitor_.counted();
}

std::vector<std::string> world::buffer_of(int agent) const {
  std::vector<std::string> out;
  for (const presented& p : slots_[static_cast<std::size_t>(agent)].buffer) {
    out.push_back(items_[static_cast<std::size_t>(p.number)].id);
  }
  return out;
}

}  // namespace digd::bench
