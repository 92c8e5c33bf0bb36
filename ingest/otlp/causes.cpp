#include "ingest/otlp/causes.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>
#include <tuple>

namespace digd::otlp {

namespace {

class cause_finder {
 public:
  cause_finder(const placed_spans& all, run_of_turns& run)
      : all_(all), run_(run), caused_(run.turns.size(), 0), answered_(run.turns.size(), 0) {}

  void find() {
    for (std::size_t i = 0; i < all_.tree.size(); ++i) {
      const std::size_t within = all_.holders[i];
      if (within != none && all_.tree.at(i).id == run_.turns[within].of->id && &all_.tree.at(i) == run_.turns[within].of &&
          run_.turns[within].caller == none) {
        follow_links(i, within);
      }
    }
    for (std::size_t i = 0; i < all_.tree.size(); ++i) {
      if (all_.roles[i] == role::handoff && all_.holders[i] != none) follow_handoff(i, all_.holders[i]);
    }
    for (std::size_t i = 0; i < all_.tree.size(); ++i) {
      if (all_.roles[i] == role::route) follow_route(i);
    }
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

  // Back from a turn over links and parents to the turns on the other side of them.
  void follow_links(std::size_t begin, std::size_t to) {
    std::vector<std::size_t> way{begin};
    boost::unordered_flat_set<std::size_t> seen{begin};
    for (std::size_t next = 0; next < way.size() && next < most_steps_back; ++next) {
      const auto visit = [&](std::size_t i) {
        if (i == none || !seen.insert(i).second) return;
        const std::size_t within = all_.holders[i];
        if (within == none) {
          way.push_back(i);
        } else if (within != to) {
          pass(within, all_.tree.at(i), to, true);
        }
      };
      const span& here = all_.tree.at(way[next]);
      for (const span_link& link : here.links) visit(all_.tree.find(link.trace, link.span));
      visit(all_.tree.parent(way[next]));
    }
  }

  // To the next turn of the agent that is named, beside the one that hands off.
  void follow_handoff(std::size_t i, std::size_t from) {
    const span& s = all_.tree.at(i);
    const dialect* in = dialect_of(s);
    const auto named = text_of(s, in->handed_to);
    if (!named || named->empty()) return;
    for (std::size_t to = 0; to < run_.turns.size(); ++to) {
      const turn& t = run_.turns[to];
      if (to == from || t.agent != *named || t.caller != run_.turns[from].caller || t.start_ns < s.start_ns) continue;
      return t.caller == none ? pass(from, s, to, true) : void();
    }
    answered_[from] = 1;
    run_.losses.push_back({from, &s, *named});
  }

  // A message that was given to nobody, as its way says, and that nobody links to.
  void follow_route(std::size_t i) {
    const span& s = all_.tree.at(i);
    if (text_of(s, dialect_of(s)->delivered) != "false") return;
    for (const span_link& link : s.links) {
      const std::size_t sent = all_.tree.find(link.trace, link.span);
      if (sent == none || all_.holders[sent] == none || !taken_.insert(&all_.tree.at(sent)).second) continue;
      run_.losses.push_back({all_.holders[sent], &all_.tree.at(sent), {}});
    }
  }

  // The rest, by times: a turn reads what those passed on that ended before it began, with no turn between them. (The
  // transitive reduction of the interval order: from u to v, unless some w begins after u and ends before v.)
  void follow_times() {
    std::vector<std::size_t> by_end;
    for (std::size_t i = 0; i < run_.turns.size(); ++i) {
      const turn& t = run_.turns[i];
      if (t.caller == none && !t.in->linked && !answered_[i]) by_end.push_back(i);
    }
    std::sort(by_end.begin(), by_end.end(), [&](std::size_t a, std::size_t b) {
      return std::tie(run_.turns[a].end_ns, a) < std::tie(run_.turns[b].end_ns, b);
    });
    std::size_t ended = 0;
    std::int64_t latest_start = 0;  // among those that have ended
    for (std::size_t to = 0; to < run_.turns.size(); ++to) {
      const turn& t = run_.turns[to];
      for (; ended < by_end.size() && run_.turns[by_end[ended]].end_ns <= t.start_ns; ++ended) {
        latest_start = std::max(latest_start, run_.turns[by_end[ended]].start_ns);
      }
      if (t.caller != none || t.in->linked || caused_[to]) continue;
      for (std::size_t back = 1; back <= std::min(ended, most_causes); ++back) {
        const std::size_t from = by_end[ended - back];
        if (run_.turns[from].end_ns <= latest_start) break;
        pass(from, *run_.turns[from].of, to, false);
      }
    }
  }

  const placed_spans& all_;
  run_of_turns& run_;
  std::vector<char> caused_, answered_;  // by turn: something stated caused it; something stated came of it
  boost::unordered_flat_set<const span*> taken_;
};

}  // namespace

void find_causes(const placed_spans& all, run_of_turns& into) { cause_finder(all, into).find(); }

}  // namespace digd::otlp
