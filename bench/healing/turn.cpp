#include "bench/healing/turn.h"

#include <algorithm>
#include <cmath>

namespace digd::bench {

namespace {

constexpr std::size_t max_asked = 2;  // agents, in one activation

}  // namespace

decision act(agent& self, const std::vector<presented>& inputs, const surroundings& about) {
  return turn(self, inputs, about).take();
}

turn::turn(agent& self, const std::vector<presented>& inputs, const surroundings& about)
    : me_(self),
      in_(inputs),
      about_(about),
      parameters_(about.parameters),
      pressed_(inputs.size()),
      minded_(inputs.size()) {
  out_.reactions.resize(inputs.size());
}

decision turn::take() {
  read_texts();
  read_notices();
  answer_requests();
  see_to_returned_events();
  const bool done = see_to_answer() || combine() || compute() || take_up() || finish();
  static_cast<void>(done);  // if no step applied, everything waits
  return std::move(out_);
}

random_stream turn::draw(purpose purpose, std::uint64_t sub) const {
  return about_.chance.at(purpose, static_cast<std::uint64_t>(me_.number), me_.activations, sub);
}

int turn::other_agent(purpose purpose, std::uint64_t sub) const {
  const int n = static_cast<int>(draw(purpose, sub).below(static_cast<std::uint32_t>(about_.agents - 1)));
  return n < me_.number ? n : n + 1;
}

// ---- interventions

// Whether an agent follows a text is drawn once, when it reads it first.
bool turn::follows(const hint& h, std::size_t texts_at_once) {
  if (const auto known = me_.follows.find(h.number); known != me_.follows.end()) return known->second;
  std::uint64_t& before = me_.read_before[static_cast<std::size_t>(h.form)];
  const double p = parameters_.follow * std::pow(parameters_.share_attention, static_cast<double>(texts_at_once - 1)) *
                   std::pow(parameters_.wear, static_cast<double>(before));
  ++before;
  const bool followed = about_.chance.chance(p, purpose::follow, static_cast<std::uint64_t>(me_.number), h.number);
  ++out_.texts_read;
  out_.texts_followed += followed;
  return me_.follows[h.number] = followed;
}

void turn::read_texts() {
  std::size_t unread = 0;
  for (const presented& p : in_) {
    for (const hint& h : p.hints) unread += !me_.follows.contains(h.number);
  }
  for (std::size_t i = 0; i < in_.size(); ++i) {
    for (const hint& h : in_[i].hints) {
      if (follows(h, std::max<std::size_t>(1, unread))) take_note(h, i);
    }
  }
  for (std::size_t i = 0; i < in_.size(); ++i) {
    if (named_events_.contains(item_at(i).id)) pressed_[i] = true;
  }
}

void turn::take_note(const hint& h, std::size_t input) {
  careful_ = true;
  stirred_ |= h.form == form::notice;
  pressed_[input] = minded_[input] = true;
  for (const std::string& name : h.names) {
    const auto found = std::find(about_.names.begin(), about_.names.end(), name);
    if (found == about_.names.end()) {
      if (about_.items_by_id.contains(name)) named_events_.insert(name);
      continue;
    }
    const int a = static_cast<int>(found - about_.names.begin());
    if (a != me_.number && std::find(named_agents_.begin(), named_agents_.end(), a) == named_agents_.end()) {
      named_agents_.push_back(a);
    }
  }
}

void turn::read_notices() {
  for (std::size_t i = 0; i < in_.size(); ++i) {
    if (item_at(i).kind == item_kind::notice) consume(i);
  }
}

// Sends its results to the agents that ask. An agent without results ignores the request.
void turn::answer_requests() {
  for (std::size_t i = 0; i < in_.size(); ++i) {
    const item& asked = item_at(i);
    if (asked.kind != item_kind::request) continue;
    consume(i);
    if (asked.source < 0 || asked.source == me_.number) continue;
    const std::vector<std::size_t> fresh = results_at_hand();
    const view v = count_visited(fresh);
    if (v.sum.counted.empty() || !draw(purpose::reply, i).chance(parameters_.answer_request)) continue;
    keep(fresh);
    keep_only(v);
    send_result(v, asked.source);
  }
}

// Sends events of its own that came back on to an agent, or drops them.
void turn::see_to_returned_events() {
  for (std::size_t i = 0; i < in_.size(); ++i) {
    const item& item = item_at(i);
    const bool mine = in_[i].given_back && item.source == me_.number && !item.submitted;
    if (!mine || item.kind == item_kind::notice || out_.reactions[i].reaction != reaction::wait) continue;
    if (alone()) continue;  // it handles the event itself
    if (minded_[i] && item.kind == item_kind::solution && item.reply_to >= 0 && item.reply_to != me_.number) {
      reroute(i, item.reply_to);
    } else if (minded_[i] && !named_agents_.empty()) {
      const auto n = draw(purpose::reroute_target, i).below(static_cast<std::uint32_t>(named_agents_.size()));
      reroute(i, named_agents_[n]);
    } else if (minded_[i] || draw(purpose::resend, i).chance(parameters_.resend)) {
      reroute(i, other_agent(purpose::reroute_target, i));
    } else {
      out_.reactions[i].reaction = reaction::discard;
    }
  }
}

// Handles its own answer, returned. An agent that does not follow the text submits the same answer again.
bool turn::see_to_answer() {
  std::optional<std::size_t> answer;
  for (std::size_t i = 0; i < in_.size(); ++i) {
    const item& item = item_at(i);
    if (item.submitted && item.source == me_.number && out_.reactions[i].reaction == reaction::wait) answer = i;
  }
  if (!answer) return false;
  if (!minded_[*answer]) {
    const view same = count_visited({*answer});
    keep({*answer});
    submit(same);
    return true;
  }
  const std::vector<std::size_t> fresh = results_at_hand();
  const view now = count_visited(fresh);
  if (reconsider(*answer, now)) return false;  // it waits, and continues with other inputs
  keep(fresh);
  if (now.complete() || me_.chases >= max_chases) {
    submit(now);
  } else {
    keep_only(now);
    hand_out(now.gaps);
  }
  return true;
}

// An agent that follows a returned answer, and sees gaps or knows of open work that it does not hold, waits or asks.
bool turn::reconsider(std::size_t answer, const view& now) {
  bool open_elsewhere = false;
  for (const std::string& id : named_events_) {
    const auto held = [&](const auto& p) { return about_.items[static_cast<std::size_t>(p.number)].id == id; };
    open_elsewhere |= std::none_of(in_.begin(), in_.end(), held);
  }
  if (now.complete() && !open_elsewhere) return false;
  const auto once = static_cast<std::uint64_t>(in_[answer].number);
  const bool arrived = in_.size() > 1;  // something else came since; a wait that brought nothing is not repeated
  if (about_.chance.chance(parameters_.patience, purpose::patience, static_cast<std::uint64_t>(me_.number), once,
                           me_.activations) &&
      (arrived || stirred_ == false)) {
    answer_waits_ = true;
    return true;
  }
  std::vector<int> mates = named_agents_;
  if (mates.empty()) mates = silent_mates(now);
  if (!mates.empty() && draw(purpose::ask, once).chance(parameters_.ask_named)) {
    ask(mates);
    answer_waits_ = true;
    return true;
  }
  return false;
}

// Agents that got a part from it, where the labels at hand do not name that part.
std::vector<int> turn::silent_mates(const view& v) const {
  std::vector<int> mates;
  for (const handed_part& p : me_.handed) {
    if (p.to == me_.number || p.to < 0 || v.label.missing_in(p.part).empty()) continue;
    if (std::find(mates.begin(), mates.end(), p.to) == mates.end()) mates.push_back(p.to);
  }
  return mates;
}

void turn::ask(const std::vector<int>& agents) {
  for (std::size_t k = 0; k < std::min(agents.size(), max_asked); ++k) {
    send({.kind = item_kind::request, .reply_to = me_.number}, {agents[k]});
  }
}

// ---- raw data

bool turn::compute() {
  for (std::size_t i = 0; i < in_.size(); ++i) {
    const item& raw = item_at(i);
    if (raw.kind != item_kind::raw || out_.reactions[i].reaction != reaction::wait) continue;
    if (static_cast<double>(raw.part.size()) > parameters_.context) {
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
    if (raw.part == about_.task.whole()) {
      view v{.sum = result, .label = cover(raw.part), .share = 1};
      complete(v);
    } else {
      share(result, raw.part, raw.reply_to);
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
    const bool urged = pressed_[i] || stirred();
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
    me_.handed.push_back({range, to.front()});
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

void turn::submit(const view& answer) {
  me_.memory.clear();  // the answer is everything that it knows
  out_.outputs.push_back({.item = {.kind = item_kind::solution,
                                   .result = answer.sum,
                                   .label = answer.label,
                                   .source = me_.number,
                                   .reply_to = me_.number,
                                   .submitted = true},
                          .recipients = {},
                          .submit = true});
}

// Hands out the gaps that it sees: to agents that a text names, else first to others, later to itself.
void turn::hand_out(const std::vector<range>& gaps) {
  const bool to_itself = alone() || me_.chases > 0;
  ++me_.chases;
  std::uint64_t n = 0;
  for (const range gap : gaps) {
    const auto parts = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::ceil(static_cast<double>(gap.size()) * 4 / parameters_.context)));
    for (std::int64_t k = 0; k < parts; ++k) {
      const range range{gap.begin + gap.size() * k / parts, gap.begin + gap.size() * (k + 1) / parts};
      const int to = !named_agents_.empty() ? named_agents_[n++ % named_agents_.size()]
                     : to_itself            ? me_.number
                                            : other_agent(purpose::chase, n++);
      me_.handed.push_back({range, to});
      send({.kind = item_kind::problem, .part = range, .reply_to = me_.number}, {to});
    }
  }
}

// A stirred agent with nothing else to do: submits what it believes complete, else hands gaps out.
bool turn::finish() {
  if (!stirred() || answer_waits_ || me_.memory.empty()) return false;
  const view v = count_visited({});
  if (v.complete() || me_.chases >= max_chases) {
    submit(v);
  } else {
    hand_out(v.gaps);
  }
  return true;
}

}  // namespace digd::bench
