#include "ingest/otlp/causes.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <functional>
#include <map>
#include <string>
#include <tuple>

namespace digd::otlp {

namespace {

class cause_finder {
 public:
  cause_finder(const placed_spans& spans, run_of_turns& run)
      : spans_(spans), run_(run), caused_(run.turns.size(), 0), answered_(run.turns.size(), 0) {}

  void find() {
    for (std::size_t i = 0; i < spans_.tree.size(); ++i) {
      const std::size_t within = spans_.holders[i];
      if (within != none && spans_.tree.at(i).id == run_.turns[within].of->id &&
          &spans_.tree.at(i) == run_.turns[within].of && run_.turns[within].caller == none) {
        follow_links(i, within);
      }
    }
    for (std::size_t i = 0; i < run_.turns.size(); ++i) turns_of_agent_[run_.turns[i].agent].push_back(i);
    for (std::size_t i = 0; i < spans_.tree.size(); ++i) {
      if (spans_.roles[i] == role::handoff && spans_.holders[i] != none) follow_handoff(i, spans_.holders[i]);
    }
    follow_routes();
    follow_times();
    std::sort(run_.passings.begin(), run_.passings.end(), [](const passing& a, const passing& b) {
      return std::tie(a.to, a.from, a.by->id) < std::tie(b.to, b.from, b.by->id);
    });
  }

 private:
  void pass(std::size_t from, const span& by, std::size_t to, bool stated) {
    run_.passings.push_back({from, to, &by, stated});
    if (!stated) return;
    caused_[to] = answered_[from] = 1;
    taken_.insert(&by);
  }

  // Follows links and parents back from a turn to the turns that caused it.
  void follow_links(std::size_t begin, std::size_t to) {
    std::vector<std::size_t> way{begin};
    boost::unordered_flat_set<std::size_t> seen{begin};
    std::size_t lookups = 0;
    for (std::size_t next = 0; next < way.size() && next < max_steps_back; ++next) {
      if (lookups >= max_links_back || run_.passings.size() >= max_linked_causes) return;
      const auto visit = [&](std::size_t i) {
        ++lookups;
        if (i == none || !seen.insert(i).second) return;
        const std::size_t within = spans_.holders[i];
        if (within == none) {
          way.push_back(i);
        } else if (within != to) {
          pass(within, spans_.tree.at(i), to, true);
        }
      };
      const span& here = spans_.tree.at(way[next]);
      for (const span_link& link : here.links) visit(spans_.tree.find(link.trace, link.span));
      visit(spans_.tree.parent(way[next]));
    }
  }

  // Links a handoff to the next turn of the named agent, under the same parent as the turn that hands off.
  void follow_handoff(std::size_t i, std::size_t from) {
    const span& s = spans_.tree.at(i);
    const auto named = text_of(s, dialect_of(s)->handed_to);
    if (!named || named->empty()) return;
    const std::size_t to = receiver_of_handoff(s, from, *named);
    if (to == none) {
      answered_[from] = 1;
      run_.losses.push_back({from, &s, *named});
    } else if (run_.turns[to].caller == none) {
      handed_to_.insert(to);
      pass(from, s, to, true);
    }
  }

  // Agents with the same name may run at once. Prefers a turn that no other handoff led to, then a turn with the same
  // parent.
  std::size_t receiver_of_handoff(const span& handoff, std::size_t from, const std::string& named) const {
    const turn& giver = run_.turns[from];
    std::size_t best = none;
    int best_rank = -1;
    constexpr int best_possible = 3;
    const auto turns = turns_of_agent_.find(named);
    if (turns == turns_of_agent_.end()) return none;
    const auto begins_later = [&](std::size_t to) { return run_.turns[to].start_ns >= handoff.start_ns; };
    auto at = std::partition_point(turns->second.begin(), turns->second.end(), std::not_fn(begins_later));
    for (; at != turns->second.end() && best_rank < best_possible; ++at) {
      const turn& t = run_.turns[*at];
      if (*at == from || t.caller != giver.caller) continue;
      const int rank = (handed_to_.contains(*at) ? 0 : 2) + (t.of->parent == giver.of->parent ? 1 : 0);
      if (rank > best_rank) best = *at, best_rank = rank;
    }
    return best;
  }

  // A message is lost if every edge that carried it lost it and no span links to it.
  void follow_routes() {
    struct fate {
      std::size_t routes = 0, lost = 0;
    };
    std::map<std::size_t, fate> sent;
    for (std::size_t i = 0; i < spans_.tree.size(); ++i) {
      if (spans_.roles[i] != role::route) continue;
      const span& route = spans_.tree.at(i);
      const bool lost = has_lost(*dialect_of(route), route);
      for (const span_link& link : route.links) {
        const std::size_t message = spans_.tree.find(link.trace, link.span);
        if (message == none || spans_.holders[message] == none) continue;
        ++sent[message].routes;
        sent[message].lost += lost;
      }
    }
    for (const auto& [message, outcome] : sent) {
      if (outcome.lost < outcome.routes || taken_.contains(&spans_.tree.at(message))) continue;
      run_.losses.push_back({spans_.holders[message], &spans_.tree.at(message), {}});
    }
  }

  // ---- the rest, by times

  struct interval {
    std::int64_t start_ns = 0, end_ns = 0;
  };

  // A turn's time. Turns of one step ran at once, so each gets the time of the whole step.
  std::vector<interval> intervals() {
    std::vector<interval> out;
    std::map<std::tuple<std::string_view, std::string_view, std::string>, std::vector<std::size_t>> steps;
    for (std::size_t i = 0; i < run_.turns.size(); ++i) {
      const turn& t = run_.turns[i];
      out.push_back({t.start_ns, t.end_ns});
      if (t.caller != none) continue;
      if (auto step = text_of(*t.of, t.in->step)) steps[{t.of->trace, t.of->parent, std::move(*step)}].push_back(i);
    }
    for (const auto& [key, members] : steps) {
      interval whole = out[members.front()];
      for (const std::size_t i : members) {
        whole = {std::min(whole.start_ns, out[i].start_ns), std::max(whole.end_ns, out[i].end_ns)};
      }
      for (const std::size_t i : members) out[i] = whole;
      follow_retries(members);
    }
    return out;
  }

  // Within a step, the next turn of the same agent after one that failed does its work again.
  void follow_retries(const std::vector<std::size_t>& members) {
    for (const std::size_t failed : members) {
      if (!run_.turns[failed].failed) continue;
      const auto retry = std::find_if(members.begin(), members.end(), [&](std::size_t i) {
        return run_.turns[i].agent == run_.turns[failed].agent && run_.turns[i].start_ns >= run_.turns[failed].end_ns &&
               !caused_[i];
      });
      if (retry == members.end()) continue;
      pass(failed, *run_.turns[failed].of, *retry, false);
      caused_[*retry] = answered_[failed] = 1;
    }
  }

  // A turn reads from each turn that ended before it began, unless a whole third turn lies between them. (The
  // transitive reduction of the interval order: from u to v, unless some w begins after u and ends before v.)
  void follow_times() {
    const std::vector<interval> when = intervals();
    std::vector<std::size_t> by_end, by_start;
    for (std::size_t i = 0; i < run_.turns.size(); ++i) {
      const turn& t = run_.turns[i];
      if (t.caller != none || t.in->linked) continue;
      if (!answered_[i]) by_end.push_back(i);
      if (!caused_[i]) by_start.push_back(i);
    }
    std::sort(by_end.begin(), by_end.end(),
              [&](std::size_t a, std::size_t b) { return std::tie(when[a].end_ns, a) < std::tie(when[b].end_ns, b); });
    std::sort(by_start.begin(), by_start.end(), [&](std::size_t a, std::size_t b) {
      return std::tie(when[a].start_ns, a) < std::tie(when[b].start_ns, b);
    });
    std::size_t ended = 0;
    std::int64_t latest_start = 0;  // among those that have ended
    for (const std::size_t to : by_start) {
      for (; ended < by_end.size() && when[by_end[ended]].end_ns <= when[to].start_ns; ++ended) {
        latest_start = std::max(latest_start, when[by_end[ended]].start_ns);
      }
      for (std::size_t back = 1; back <= std::min(ended, max_causes); ++back) {
        const std::size_t from = by_end[ended - back];
        if (when[from].end_ns <= latest_start) break;
        pass(from, *run_.turns[from].of, to, false);
      }
    }
  }

  const placed_spans& spans_;
  run_of_turns& run_;
  std::vector<char> caused_, answered_;               // by turn: its cause is known; its outcome is known
  boost::unordered_flat_set<const span*> taken_;      // messages and handoffs that a turn began with
  boost::unordered_flat_set<std::size_t> handed_to_;  // turns that a handoff led to
  boost::unordered_flat_map<std::string, std::vector<std::size_t>> turns_of_agent_;  // by start
};

}  // namespace

void find_causes(const placed_spans& spans, run_of_turns& into) { cause_finder(spans, into).find(); }

}  // namespace digd::otlp
