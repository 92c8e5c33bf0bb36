#include "bench/healing/agent.h"

#include <algorithm>

#include "bench/healing/turn.h"

namespace digd::bench {

std::string_view to_string(item_kind kind) {
  constexpr std::string_view names[] = {"problem", "raw", "solution", "notice"};
  return names[static_cast<std::size_t>(kind)];
}

decision act(agent& self, const std::vector<presented>& inputs, const surroundings& about) {
  return turn(self, inputs, about).take();
}

turn::turn(agent& self, const std::vector<presented>& inputs, const surroundings& about)
    : me_(self), in_(inputs), about_(about), parameters_(about.parameters), asked_of_(inputs.size()) {
  out_.reactions.resize(inputs.size());
}

decision turn::take() {
  read_hints();
  read_notices();
  see_to_orphans();
  const bool done = see_to_answer() || put_together() || compute() || take_up() || finish();
  static_cast<void>(done);  // if no step applied, everything waits
  return std::move(out_);
}

random_stream turn::draw(purpose why, std::uint64_t sub) const {
  return about_.chance.at(why, static_cast<std::uint64_t>(me_.number), me_.activations, sub);
}

int turn::other_agent(purpose why, std::uint64_t sub) const {
  const int n = static_cast<int>(draw(why, sub).below(static_cast<std::uint32_t>(about_.agents - 1)));
  return n < me_.number ? n : n + 1;
}

// ---- hints

// Whether a hint is followed is drawn once, however often the agent reads the event.
bool turn::follows(const hint& h) const {
  return about_.chance.chance(parameters_.follow, purpose::follow, static_cast<std::uint64_t>(me_.number), h.number);
}

void turn::read_hints() {
  for (std::size_t i = 0; i < in_.size(); ++i) {
    for (const hint& h : in_[i].hints) {
      if (!follows(h)) continue;
      asked_[index_of(h.rule)] = true;
      asked_of_[i][index_of(h.rule)] = true;
      apply_request(h.asks);
      if (h.rule == rule_id::cross_lineage_aggregation) me_.warned.insert(h.evidence.begin(), h.evidence.end());
      if (h.rule == rule_id::cross_lineage_aggregation || h.rule == rule_id::repeated_subproblem) {
        me_.warned.insert(h.event);
      }
    }
  }
}

void turn::apply_request(const request& asks) {
  request_.count_once |= asks.count_once;
  request_.wait |= asks.wait;
  request_.not_wait |= asks.not_wait;
  request_.redo |= asks.redo;
  me_.only_whole |= asks.only_whole;
  me_.again |= asks.again;
  if (!asks.pass_on_to.empty()) request_.pass_on_to = asks.pass_on_to;
  if (!asks.to.empty()) request_.to = asks.to;
  if (!asks.reader.empty() && number_of(asks.reader) != me_.number) return;
  for (std::size_t i = 0; i < in_.size(); ++i) {
    const bool is_part = item_at(i).kind == item_kind::problem || item_at(i).kind == item_kind::raw;
    if (is_part && std::find(asks.take_in.begin(), asks.take_in.end(), item_at(i).id) != asks.take_in.end()) consume(i);
  }
}

int turn::number_of(const std::string& name) const {
  const auto found = std::find(about_.names.begin(), about_.names.end(), name);
  return found == about_.names.end() ? none : static_cast<int>(found - about_.names.begin());
}

// Consumes notices. A notice about an event of its own that reached nobody makes the agent send it again.
void turn::read_notices() {
  for (std::size_t i = 0; i < in_.size(); ++i) {
    if (item_at(i).kind != item_kind::notice) continue;
    consume(i);
    if (!asked_of_[i][index_of(rule_id::orphaned_event)] || alone()) continue;
    for (const item& lost : about_.items) {
      const bool mine = lost.source == me_.number && !in_[i].hints.empty() && lost.id == in_[i].hints.front().event;
      if (mine && lost.kind != item_kind::notice && !lost.submitted)
        send(lost, {other_agent(purpose::reroute_target, i)});
    }
  }
}

// Sends events of its own that came back because they reached nobody to an existing agent, or drops them.
void turn::see_to_orphans() {
  for (std::size_t i = 0; i < in_.size(); ++i) {
    const item& item = item_at(i);
    if (!in_[i].given_back || item.submitted || item.source != me_.number) continue;
    if (!asked_of_[i][index_of(rule_id::orphaned_event)]) {
      out_.reactions[i].reaction = reaction::discard;
    } else if (!alone()) {
      const bool author_known = item.kind == item_kind::solution && item.reply_to >= 0 && item.reply_to != me_.number;
      reroute(i, author_known ? item.reply_to : other_agent(purpose::reroute_target, i));
    }
  }
}

// Handles its own answer, given back. If it does not follow the hint, it submits the answer again.
bool turn::see_to_answer() {
  std::optional<std::size_t> answer;
  for (std::size_t i = 0; i < in_.size(); ++i) {
    if (item_at(i).submitted && item_at(i).source == me_.number) answer = i;
  }
  if (!answer) return false;
  if (!asked_of_[*answer][index_of(rule_id::early_termination)]) {
    consume(*answer);
    submit(item_at(*answer).result);
    return true;
  }
  std::vector<std::size_t> fresh = results_at_hand();
  if (request_.redo && item_at(*answer).result.counted.repeats()) {
    consume(*answer);
    std::erase(fresh, *answer);
  }
  const solution sum = merge(fresh);
  const bool urged = is_asked(rule_id::deadlock) || is_asked(rule_id::missing_termination);
  const bool waits = request_.wait || about_.chance.chance(parameters_.wait_when_early, purpose::patience,
                                                           static_cast<std::uint64_t>(me_.number),
                                                           static_cast<std::uint64_t>(in_[*answer].number));
  const bool patient = waits && !request_.not_wait;
  if (is_whole(sum.counted)) {
    keep(fresh);
    submit(sum);
  } else if (hands_on(sum.counted)) {
    hand_on(*answer, fresh);
  } else if (patient && !urged) {
    answer_waits_ = true;
    return false;  // and goes on with other inputs
  } else {
    keep(fresh);
    if (request_.count_once)
      me_.memory = {{own_results + me_.activations, {}, sum}};  // the answer includes everything it knew
    hand_out_missing(sum.counted);
  }
  return true;
}

// ---- raw data

bool turn::compute() {
  for (std::size_t i = 0; i < in_.size(); ++i) {
    const item& raw = item_at(i);
    if (raw.kind != item_kind::raw || out_.reactions[i].reaction != reaction::wait) continue;
    if (raw.part.size() > parameters_.context) {
      if (me_.overflowed.insert(in_[i].number).second) {
        out_.failed = true;
      } else {
        split(i, raw.part);
      }
      return true;
    }
    consume(i);
    out_.computed = raw.part.size();
    const solution result = about_.task.count(raw.part, parameters_, draw(purpose::error));
    if (is_whole(result.counted)) {
      complete(result);
    } else {
      share(result, raw.reply_to);
    }
    return true;
  }
  return false;
}

// ---- problems

bool turn::would_pass_on(std::size_t i) const {
  const auto number = static_cast<std::uint64_t>(in_[i].number);
  return about_.chance.chance(parameters_.hot_potato, purpose::potato, 0, number) &&
         draw(purpose::pass_potato).chance(parameters_.pass_potato);
}

bool turn::take_up() {
  for (std::size_t i = 0; i < in_.size(); ++i) {
    const item& item = item_at(i);
    if (item.kind != item_kind::problem || out_.reactions[i].reaction != reaction::wait) continue;
    const bool urged = is_asked(rule_id::deadlock) || asked_of_[i][index_of(rule_id::excessive_rerouting)];
    const bool whole = item.part == about_.task.whole();
    const double splitting = alone() ? 0 : whole ? parameters_.split_whole : parameters_.split_part;
    const double rerouting = alone() || urged ? 0 : whole ? parameters_.reroute_whole : parameters_.reroute_part;
    const double discarding = alone() || urged ? 0 : whole ? parameters_.discard_whole : parameters_.discard_part;
    const double waiting = urged ? 0 : whole ? parameters_.wait_whole : parameters_.wait_part;
    const double u = draw(purpose::take_up).uniform();
    const int to = alone() ? none : other_agent(purpose::reroute_target, i);
    if (!urged && !alone() && would_pass_on(i)) {
      reroute(i, to);
    } else if (u < splitting && item.part.size() >= 2 * parameters_.smallest_split) {
      split(i, item.part);
    } else if (u < splitting) {
      fetch(i);
    } else if (u < splitting + rerouting) {
      reroute(i, to);
    } else if (u < splitting + rerouting + discarding) {
      out_.reactions[i].reaction = reaction::discard;
    } else if (u < splitting + rerouting + discarding + waiting) {
      return false;
    } else {
      fetch(i);
    }
    return true;
  }
  return false;
}

void turn::fetch(std::size_t i) {
  consume(i);
  const item& p = item_at(i);
  send({.kind = item_kind::raw, .part = p.part, .reply_to = p.source == none ? me_.number : p.source}, {me_.number});
}

void turn::split(std::size_t i, range part) {
  consume(i);
  random_stream s = draw(purpose::parts);
  const bool as_agents = s.chance(parameters_.parts_as_agents);
  const int wanted = as_agents ? std::min(about_.agents, parameters_.most_parts) : 2 + static_cast<int>(s.below(4));
  const auto parts =
      std::clamp<std::int64_t>(wanted, 2, std::max<std::int64_t>(2, part.size() / parameters_.smallest_split));
  std::vector<int> order;
  for (int a = 0; a < about_.agents; ++a) order.push_back(a);
  draw(purpose::part_recipient).shuffle(std::span<int>(order));
  for (std::int64_t k = 0; k < parts; ++k) {
    const range range{part.begin + part.size() * k / parts, part.begin + part.size() * (k + 1) / parts};
    const auto at = static_cast<std::size_t>(k);
    std::vector<int> to{order[at % order.size()]};
    if (!alone() && draw(purpose::given_twice, at).chance(parameters_.given_twice))
      to.push_back(order[(at + 1) % order.size()]);
    send({.kind = item_kind::problem, .part = range, .reply_to = me_.number}, std::move(to));
  }
}

// ---- sending

void turn::reroute(std::size_t i, int to) {
  out_.reactions[i].reaction = reaction::reroute;
  out_.reactions[i].targets = {to};
}

// Addresses some events to nobody, or to a name that does not exist.
void turn::send(item item, std::vector<int> to) {
  random_stream s = draw(purpose::lost, out_.outputs.size());
  const bool to_itself = to.size() == 1 && to.front() == me_.number;
  if (!to_itself && s.chance(parameters_.lost_recipient)) {
    to = s.chance(0.5) ? std::vector<int>{} : std::vector<int>{no_such_agent};
  }
  item.id.clear();
  item.source = me_.number;
  out_.outputs.push_back({.item = std::move(item), .recipients = std::move(to)});
}

void turn::submit(const solution& answer) {
  out_.outputs.push_back({.item = {.kind = item_kind::solution,
                                   .result = answer,
                                   .source = me_.number,
                                   .reply_to = me_.number,
                                   .submitted = true},
                          .submit = true});
}

}  // namespace digd::bench
