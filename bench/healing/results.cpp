// How agents treat results: combining, sharing, and noticing what is missing or counted twice.
#include <algorithm>

#include "bench/healing/turn.h"

namespace digd::bench {

namespace {

constexpr std::uint64_t max_chases = 3;  // then the agent submits what it has

}  // namespace

std::vector<std::size_t> turn::results_at_hand() const {
  std::vector<std::size_t> fresh;
  for (std::size_t i = 0; i < in_.size(); ++i) {
    if (item_at(i).kind == item_kind::solution && out_.reactions[i].reaction == reaction::wait) fresh.push_back(i);
  }
  return fresh;
}

double turn::share_of(const cover& c) const {
  return static_cast<double>(c.distinct()) / static_cast<double>(about_.task.whole().size());
}

// Whether the agent sees that `result` overlaps and must not simply be added.
bool turn::sees_overlap(const held_result& result, const cover& so_far) const {
  if (me_.warned.contains(result.id) || request_.count_once) return true;
  const double p = is_whole(so_far)                             ? parameters_.see_complete
                   : so_far.holds_all_of(result.result.counted) ? parameters_.see_same
                                                                : parameters_.see_mixed;
  return about_.chance.chance(p, purpose::see, static_cast<std::uint64_t>(me_.number), result.number);
}

// The sum of its memory and these inputs, largest first. Leaves out results whose overlap it sees.
solution turn::merge(const std::vector<std::size_t>& fresh) const {
  std::vector<held_result> results = me_.memory;
  for (const std::size_t i : fresh) {
    results.push_back({static_cast<std::uint64_t>(in_[i].number), item_at(i).id, item_at(i).result});
  }
  if (request_.redo) std::erase_if(results, [](const held_result& result) { return result.result.counted.repeats(); });
  std::stable_sort(results.begin(), results.end(), [](const held_result& a, const held_result& b) {
    return a.result.counted.distinct() > b.result.counted.distinct();
  });
  solution sum;
  for (const held_result& result : results) {
    if (sum.counted.overlaps(result.result.counted) && sees_overlap(result, sum.counted)) continue;
    sum.counted.add(result.result.counted);
    for (std::size_t v = 0; v < sum.counts.size(); ++v) sum.counts[v] += result.result.counts[v];
  }
  return sum;
}

// Consumes these results and remembers them.
void turn::keep(const std::vector<std::size_t>& fresh) {
  for (const std::size_t i : fresh) {
    consume(i);
    me_.memory.push_back({static_cast<std::uint64_t>(in_[i].number), item_at(i).id, item_at(i).result});
  }
}

bool turn::put_together() {
  const std::vector<std::size_t> fresh = results_at_hand();
  if (fresh.empty() || answer_waits_) return false;
  const solution sum = merge(fresh);
  const bool several = fresh.size() + me_.memory.size() > 1;
  if (is_whole(sum.counted)) {
    keep(fresh);
    complete(sum);
    return true;
  }
  const double share = share_of(sum.counted);
  if (several && (!me_.only_whole || me_.again) && draw(purpose::early).chance(parameters_.early_submit * share)) {
    keep(fresh);
    if (me_.only_whole) {
      hand_out_missing(sum.counted);
    } else {
      submit(sum);
    }
    return true;
  }
  if (is_asked(rule_id::deadlock) || is_asked(rule_id::missing_termination)) {
    if (alone() || (share >= 0.5 && me_.chases < max_chases)) {
      keep(fresh);
      hand_out_missing(sum.counted);
    } else {
      hand_back(fresh);
    }
    return true;
  }
  if (several && !alone() && draw(purpose::combine).chance(parameters_.combine_and_pass)) {
    pass_on(fresh, sum);
    return true;
  }
  drop_duplicates(fresh);
  return false;  // waits for more results and goes on with other inputs
}

void turn::drop_duplicates(const std::vector<std::size_t>& fresh) {
  cover known;
  for (const held_result& result : me_.memory) known.add(result.result.counted);
  for (const std::size_t i : fresh) {
    const cover& counted = item_at(i).result.counted;
    const bool drop = known.holds_all_of(counted) && about_.chance.chance(parameters_.drop_duplicate, purpose::drop,
                                                                          static_cast<std::uint64_t>(me_.number),
                                                                          static_cast<std::uint64_t>(in_[i].number));
    if (drop) out_.reactions[i].reaction = reaction::discard;
    known.add(counted);
  }
}

// Submits an answer that its author believes complete, or leaves it to others to submit.
void turn::complete(const solution& answer) {
  const bool reported = me_.only_whole || is_asked(rule_id::early_termination) ||
                        is_asked(rule_id::missing_termination) || is_asked(rule_id::deadlock);
  if (!me_.forgetful || reported) return submit(answer);
  me_.memory.push_back({own_results + me_.activations, {}, answer});
  if (!alone() && draw(purpose::share).chance(0.5)) {
    send({.kind = item_kind::solution, .result = answer, .reply_to = me_.number}, {other_agent(purpose::share, 1)});
  }
}

// Sends one combined result instead of many to another agent.
void turn::pass_on(const std::vector<std::size_t>& fresh, const solution& sum) {
  keep(fresh);
  send({.kind = item_kind::solution, .result = sum, .reply_to = me_.number}, {other_agent(purpose::share, 2)});
}

// Passes results that it cannot use on to the author of their problem, or to a random agent.
void turn::hand_back(const std::vector<std::size_t>& fresh) {
  for (const std::size_t i : fresh) {
    const int author = item_at(i).reply_to;
    reroute(i, author >= 0 && author != me_.number ? author : other_agent(purpose::reroute_target, i));
  }
}

bool turn::hands_on(const cover& have) const {
  const int to = number_of(request_.pass_on_to);
  return to != none && to != me_.number && share_of(have) < 0.5;
}

// Passes its results on to the agent that the hint names.
void turn::hand_on(std::size_t answer, const std::vector<std::size_t>& fresh) {
  const int to = number_of(request_.pass_on_to);
  for (const std::size_t i : fresh) reroute(i, to);
  const bool went_along = out_.reactions[answer].reaction == reaction::reroute;
  if (request_.count_once && went_along) me_.memory.clear();  // the answer includes everything it knew
}

void turn::share(const solution& result, int author) {
  const std::vector<int> to = receivers_of_result(author);
  const bool comes_back = std::find(to.begin(), to.end(), me_.number) != to.end();
  if (!comes_back) me_.memory.push_back({own_results + me_.activations, {}, result});
  send({.kind = item_kind::solution, .result = result, .reply_to = author}, to);
}

std::vector<int> turn::receivers_of_result(int author) {
  random_stream s = draw(purpose::share);
  const double u = s.uniform();
  if (alone() || u < parameters_.share_author) return {author};
  if (u >= parameters_.share_author + parameters_.share_widely) return {other_agent(purpose::share, 3)};
  std::vector<int> to{author};
  for (int k = 0; k < std::min(parameters_.share_with, about_.agents - 1); ++k) {
    const int index = other_agent(purpose::share, 4 + static_cast<std::uint64_t>(k));
    if (std::find(to.begin(), to.end(), index) == to.end()) to.push_back(index);
  }
  return to;
}

// Hands out the missing parts: to the agents that a hint names, else first to others, later to itself.
void turn::hand_out_missing(const cover& have) {
  const bool to_itself = alone() || me_.chases > 0;
  ++me_.chases;
  std::vector<int> named;
  for (const std::string& name : request_.to) {
    if (const int a = number_of(name); a != none) named.push_back(a);
  }
  std::uint64_t n = 0;
  for (const range gap : have.missing_in(about_.task.whole())) {
    const std::int64_t parts =
        std::max<std::int64_t>(1, (gap.size() * 4 + parameters_.context - 1) / parameters_.context);
    for (std::int64_t k = 0; k < parts; ++k) {
      const range range{gap.begin + gap.size() * k / parts, gap.begin + gap.size() * (k + 1) / parts};
      const int to = !named.empty() ? named[n++ % named.size()]
                     : to_itself    ? me_.number
                                    : other_agent(purpose::chase, n++);
      send({.kind = item_kind::problem, .part = range, .reply_to = me_.number}, {to});
    }
  }
}

// Acts on the hint of missing_termination: submits a whole answer, else hands out missing parts, else submits what it
// has.
bool turn::finish() {
  if (!is_asked(rule_id::missing_termination)) return false;
  const solution sum = merge({});
  if (is_whole(sum.counted)) {
    submit(sum);
  } else if (me_.chases < max_chases) {
    hand_out_missing(sum.counted);
  } else {
    submit(sum);
  }
  return true;
}

}  // namespace digd::bench
