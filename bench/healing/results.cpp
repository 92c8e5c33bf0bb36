// How agents treat results: combining, sharing, and noticing what is missing or counted twice. They see labels only.
#include <algorithm>
#include <cmath>

#include "bench/healing/turn.h"

namespace digd::bench {

std::vector<std::size_t> turn::results_at_hand() const {
  std::vector<std::size_t> fresh;
  for (std::size_t i = 0; i < in_.size(); ++i) {
    if (item_at(i).kind == item_kind::solution && out_.reactions[i].reaction == reaction::wait) fresh.push_back(i);
  }
  return fresh;
}

// Whether the agent sees that the labels of a result and of those before it overlap.
bool turn::sees_overlap(const held_result& result, const view& known) const {
  if (result.vague) return known.label.missing_in(about_.task.whole()).empty();  // it needs no more
  if (!known.label.overlaps(result.label)) return false;
  const double p = known.label.holds_all_of(result.label) ? parameters_.see_same : parameters_.see_mixed;
  const bool named = named_events_.contains(result.id);
  const double miss = (1 - p) * (careful_ ? parameters_.care : 1) * (named ? parameters_.care : 1);
  return about_.chance.chance(1 - miss, purpose::see, static_cast<std::uint64_t>(me_.number), result.number);
}

// The sum of its memory and these inputs, largest label first. Leaves out results whose overlap it sees.
turn::view turn::count_visited(const std::vector<std::size_t>& fresh) const {
  std::vector<held_result> results = me_.memory;
  for (const std::size_t i : fresh) {
    const item& from = item_at(i);
    const bool vague = from.vague && from.source != me_.number;
    results.push_back({static_cast<std::uint64_t>(in_[i].number), from.id, from.result, from.label, vague});
  }
  std::stable_sort(results.begin(), results.end(), [](const held_result& a, const held_result& b) {
    return (a.vague ? 0 : a.label.distinct()) > (b.vague ? 0 : b.label.distinct());
  });
  view v;
  for (const held_result& result : results) {
    if (!v.sum.counted.empty() && sees_overlap(result, v)) continue;
    v.sum.counted.add(result.result.counted);
    for (std::size_t x = 0; x < v.sum.counts.size(); ++x) v.sum.counts[x] += result.result.counts[x];
    if (!result.vague) v.label.add(result.label);
    v.vague |= result.vague;
  }
  see_gaps(v);
  return v;
}

// Small gaps are overlooked more easily than large ones. Results without a label may pass for what is missing.
void turn::see_gaps(view& v) const {
  const auto size = static_cast<double>(about_.task.whole().size());
  v.share = static_cast<double>(v.label.distinct()) / size;
  const double care = careful_ ? parameters_.care : 1;
  if (v.vague && draw(purpose::trust).chance(parameters_.trust_vague * care * v.share)) return;
  for (const range gap : v.label.missing_in(about_.task.whole())) {
    const double rest = 1 - static_cast<double>(gap.size()) / size;
    const auto where = static_cast<std::uint64_t>(gap.begin);
    if (!draw(purpose::overlook, where).chance(parameters_.overlook * care * std::pow(rest, 4))) v.gaps.push_back(gap);
  }
}

// Consumes these results and remembers them.
void turn::keep(const std::vector<std::size_t>& fresh) {
  for (const std::size_t i : fresh) {
    consume(i);
    const item& from = item_at(i);
    const bool vague = from.vague && from.source != me_.number;
    me_.memory.push_back({static_cast<std::uint64_t>(in_[i].number), from.id, from.result, from.label, vague});
  }
}

// Remembers a sum instead of its parts.
void turn::keep_only(const view& v) {
  me_.memory = {{own_results + me_.activations, {}, v.sum, v.label, v.vague && v.label.empty()}};
}

bool turn::combine() {
  const std::vector<std::size_t> fresh = results_at_hand();
  if (fresh.empty() || answer_waits_) return false;
  const view v = count_visited(fresh);
  const bool several = fresh.size() + me_.memory.size() > 1;
  if (v.complete()) {
    keep(fresh);
    complete(v);
    return true;
  }
  if (several && draw(purpose::early).chance(parameters_.early_submit * v.share * (careful_ ? parameters_.care : 1))) {
    keep(fresh);
    submit(v);
    return true;
  }
  if (stirred()) {
    if (alone() || (v.share >= 0.5 && me_.chases < max_chases)) {
      keep(fresh);
      hand_out(v.gaps);
    } else {
      hand_back(fresh);
    }
    return true;
  }
  if (several && !alone() && draw(purpose::combine).chance(parameters_.combine_and_pass)) {
    pass_on(fresh, v);
    return true;
  }
  if (const std::vector<int> mates = silent_mates(v);
      several && !mates.empty() && draw(purpose::ask_late).chance(parameters_.ask_late)) {
    ask({mates.front()});
  }
  drop_duplicates(fresh);
  return false;  // waits for more results and continues with other inputs
}

void turn::drop_duplicates(const std::vector<std::size_t>& fresh) {
  cover known;
  for (const held_result& result : me_.memory) known.add(result.label);
  for (const std::size_t i : fresh) {
    const item& from = item_at(i);
    const bool adds_nothing = !from.vague && known.holds_all_of(from.label);
    const bool drop = adds_nothing && about_.chance.chance(parameters_.drop_duplicate, purpose::drop,
                                                           static_cast<std::uint64_t>(me_.number),
                                                           static_cast<std::uint64_t>(in_[i].number));
    if (drop) out_.reactions[i].reaction = reaction::discard;
    if (!from.vague) known.add(from.label);
  }
}

// Submits an answer that its author believes complete, or leaves it to others to submit.
void turn::complete(const view& answer) {
  if (!me_.forgetful || careful_) return submit(answer);
  keep_only(answer);
  if (!alone() && draw(purpose::share).chance(0.5)) send_result(answer, other_agent(purpose::share, 1));
}

void turn::send_result(const view& v, int to) {
  const bool vague = draw(purpose::vague, out_.outputs.size()).chance(parameters_.vague_sum);
  send({.kind = item_kind::solution, .result = v.sum, .label = v.label, .vague = vague, .reply_to = me_.number}, {to});
}

// Sends one combined result instead of many to another agent.
void turn::pass_on(const std::vector<std::size_t>& fresh, const view& v) {
  keep(fresh);
  keep_only(v);
  send_result(v, other_agent(purpose::share, 2));
}

// Passes results that it cannot use on: to an agent that a text names, to the author of their problem, or to any.
void turn::hand_back(const std::vector<std::size_t>& fresh) {
  for (const std::size_t i : fresh) {
    const int author = item_at(i).reply_to;
    reroute(i, !named_agents_.empty()                ? named_agents_.front()
               : author >= 0 && author != me_.number ? author
                                                     : other_agent(purpose::reroute_target, i));
  }
}

void turn::share(const solution& result, range part, int author) {
  const std::vector<int> to = receivers_of_result(author);
  const bool comes_back = std::find(to.begin(), to.end(), me_.number) != to.end();
  if (!comes_back) me_.memory.push_back({own_results + me_.activations, {}, result, cover(part), false});
  const bool vague = draw(purpose::vague).chance(parameters_.vague_part);
  send({.kind = item_kind::solution, .result = result, .label = cover(part), .vague = vague, .reply_to = author}, to);
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

}  // namespace digd::bench
