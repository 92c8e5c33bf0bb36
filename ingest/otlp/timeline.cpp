#include "ingest/otlp/timeline.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>
#include <utility>

namespace digd::otlp {

namespace {

bool differ(std::int64_t a_ns, std::int64_t b_ns) { return a_ns / ns_a_ms != b_ns / ns_a_ms; }

std::string own_event(const turn& t) { return "out:" + t.of->id; }
std::string answer_event(const turn& t) { return "ans:" + t.of->id; }  // to the caller

class planner {
 public:
  planner(const run_of_turns& run, bool is_over)
      : run_(run),
        is_over_(is_over),
        passed_to_(run.turns.size()),
        passed_on_(run.turns.size()),
        lost_by_(run.turns.size()),
        last_act_(run.turns.size(), none) {
    for (const passing& p : run.passings) {
      passed_to_[p.to].push_back(&p);
      passed_on_[p.from].push_back(&p);
    }
    for (const loss& l : run.losses) lost_by_[l.from].push_back(&l);
    for (std::size_t i = 0; i < run.turns.size(); ++i) heirs_.push_back(heir_of(i));
  }

  timeline plan() {
    find_answer();
    place_start();
    for (std::size_t i = 0; i < run_.turns.size(); ++i) {
      if (run_.turns[i].caller == none) place_first(i);
    }
    return std::move(out_);
  }

 private:
  // ---- the end of the run: among the turns whose output nobody read, the one that ended last gave the answer
  void find_answer() {
    if (!is_over_ || !run_.whole || run_.roots == 0 || run_.root_failed || run_.root_cancelled) return;
    for (std::size_t i = 0; i < run_.turns.size(); ++i) {
      const turn& t = run_.turns[i];
      if (t.caller != none || t.cancelled || is_read(i)) continue;
      if (answer_ == none || t.end_ns >= run_.turns[answer_].end_ns) answer_ = i;
    }
    if (answer_ != none && run_.turns[answer_].failed) answer_ = none;
    out_.answered = answer_ != none;
  }
  bool is_read(std::size_t i) const { return !passed_on_[i].empty() || !lost_by_[i].empty(); }

  // ---- the inputs of a turn

  // If several turns have no cause, one extra activation gives each of them its event, because they work on the same
  // problem.
  void place_start() {
    std::vector<std::size_t> first;
    for (std::size_t i = 0; i < run_.turns.size(); ++i) {
      if (run_.turns[i].caller == none && passed_to_[i].empty()) first.push_back(i);
    }
    if (first.size() < 2) return;
    const std::int64_t begins = run_.turns[first.front()].start_ns;  // turns are sorted by start
    act start{.id = "start", .inferred = true, .start_ns = begins - 2, .end_ns = begins - 1};
    out_.roots.push_back({.id = "in", .recipients = {start_agent}, .at_ns = start.start_ns});
    start.inputs.push_back({"in", false});
    for (const std::size_t i : first) {
      act_event given = first_event(i, start.end_ns);
      given.from_start = true;
      start.outputs.push_back(std::move(given));
    }
    keep(std::move(start));
  }

  void place_first(std::size_t i) {
    std::vector<act_input> inputs;
    known_inputs_.clear();
    std::int64_t ready = run_.turns[i].start_ns;
    for (const passing* p : passed_to_[i]) take_up(*p, inputs, ready);
    if (inputs.empty()) inputs.push_back(begin_with(i, ready));
    place(i, std::move(inputs), ready);
  }

  // The turn that repeats the work of a failed turn: the next one of the same agent, otherwise the next turn that
  // follows it.
  std::size_t heir_of(std::size_t i) const {
    const auto& to = passed_on_[i];
    if (!run_.turns[i].failed || to.empty()) return none;
    const auto same = std::find_if(to.begin(), to.end(),
                                   [&](const passing* p) { return run_.turns[p->to].agent == run_.turns[i].agent; });
    return same == to.end() ? to.front()->to : (*same)->to;
  }

  // Adds the event that `p` passed on. A turn that failed passes on its own inputs: their work is still to be done.
  void take_up(const passing& p, std::vector<act_input>& into, std::int64_t& ready) {
    if (last_act_[p.from] == none) return;  // its times show that it begins later, so it has no output yet
    const act& of = out_.acts[last_act_[p.from]];
    if (of.failed && p.by == run_.turns[p.from].of) {
      if (heirs_[p.from] != p.to) return;
      for (const act_input& left : of.inputs) add_input(into, left.event, false);
      ready = std::max(ready, of.end_ns);
      return;
    }
    const std::string id = event_of(p);
    if (const auto made = event_times_.find(id); made != event_times_.end()) ready = std::max(ready, made->second);
    add_input(into, id, p.stated);
  }
  void add_input(std::vector<act_input>& into, const std::string& id, bool stated) {
    if (known_inputs_.insert(id).second) into.push_back({id, stated});
  }
  // Each reader gets its own event, so work for several agents does not count as repeated.
  std::string event_of(const passing& p) const {
    const turn& from = run_.turns[p.from];
    return (p.by != from.of ? "msg:" + p.by->id : own_event(from)) + ':' + run_.turns[p.to].of->id;
  }

  // The event of the run's input to a turn without a cause.
  act_event first_event(std::size_t i, std::int64_t at) const {
    const turn& t = run_.turns[i];
    return {.id = "in:" + t.of->id, .by = t.input, .carries_input = true, .recipients = {t.agent}, .at_ns = at};
  }
  act_input begin_with(std::size_t i, std::int64_t ready) {
    act_event given = first_event(i, ready);
    act_input input{given.id, false};
    if (!event_times_.contains(given.id)) out_.roots.push_back(std::move(given));
    return input;
  }

  // ---- a turn as acts. `place` returns when it ends.
  std::int64_t place(std::size_t i, std::vector<act_input> inputs, std::int64_t not_before) {
    const turn& t = run_.turns[i];
    act now{.id = t.of->id, .turn = i, .inputs = std::move(inputs)};
    now.start_ns = std::max(t.start_ns, not_before);
    now.start_moved = differ(now.start_ns, t.start_ns);
    out_.moved += now.start_moved;
    std::vector<std::size_t> mine;
    for (std::size_t next = 0, part = 2; next < t.calls.size(); ++part) {
      now.end_ns = std::max(run_.turns[t.calls[next]].start_ns, now.start_ns + 1);
      const std::int64_t called_at = now.end_ns;
      const std::vector<std::size_t> round = calls_at_once(t, next);
      for (const std::size_t called : round) now.outputs.push_back(request(called, called_at, i));
      mine.push_back(keep(std::move(now)));
      now = act{.id = t.of->id + '.' + std::to_string(part), .turn = i, .inferred = true};
      now.start_ns = called_at + 1;
      for (const std::size_t called : round) answer_call(called, called_at, now);
    }
    now.end_ns = std::max(end_of(t), now.start_ns + 1);
    now.end_moved = differ(now.end_ns, t.end_ns);
    now.failed = t.failed && t.caller == none;  // the error of a called agent is its answer: the caller handles it
    mine.push_back(keep(std::move(now)));
    last_act_[i] = mine.back();
    finish(i, mine);
    return out_.acts[mine.back()].end_ns;
  }

  // A turn that was cancelled after the run's answer was no longer needed, so no work stayed open.
  std::int64_t end_of(const turn& t) const {
    return t.cancelled && answer_ != none ? std::min(t.end_ns, run_.turns[answer_].end_ns - 1) : t.end_ns;
  }

  std::size_t keep(act&& act) {
    for (const act_event& made : act.outputs) event_times_[made.id] = made.at_ns;
    out_.acts.push_back(std::move(act));
    return out_.acts.size() - 1;
  }

  // The calls from `next` on that overlap in time. Moves `next` behind them.
  std::vector<std::size_t> calls_at_once(const turn& t, std::size_t& next) const {
    std::vector<std::size_t> out{t.calls[next]};
    std::int64_t until = run_.turns[t.calls[next]].end_ns;
    for (++next; next < t.calls.size() && run_.turns[t.calls[next]].start_ns < until; ++next) {
      out.push_back(t.calls[next]);
      until = std::max(until, run_.turns[t.calls[next]].end_ns);
    }
    return out;
  }

  act_event request(std::size_t called, std::int64_t at, std::size_t from) const {
    const turn& t = run_.turns[called];
    return {.id = "ask:" + t.of->id,
            .from = from,
            .by = t.input,
            .carries_input = true,
            .recipients = {t.agent},
            .recipients_stated = true,
            .at_ns = at};
  }

  // The called turn, whose answer its caller uses next.
  void answer_call(std::size_t called, std::int64_t at, act& caller) {
    const std::int64_t end = place(called, {{"ask:" + run_.turns[called].of->id, true}}, at);
    caller.start_ns = std::max(caller.start_ns, end);
    caller.inputs.push_back({answer_event(run_.turns[called]), false});
  }

  // ---- the outputs of a turn
  void finish(std::size_t i, const std::vector<std::size_t>& mine) {
    const turn& t = run_.turns[i];
    const bool failed = out_.acts[mine.back()].failed;
    for (const passing* p : passed_on_[i]) {
      if (p->by != t.of || !failed) add_message(*p, mine);
    }
    for (const loss* lost : lost_by_[i]) {
      act_event event{.id = "msg:" + lost->by->id, .from = i, .by = t.output, .recipients_stated = true};
      if (!lost->named.empty()) event.recipients.push_back(lost->named);
      put(std::move(event), lost->by->end_ns, mine);
    }
    if (!failed && (t.caller != none || !is_read(i))) add_own(i, mine.back());
    for (const std::size_t a : mine) gather_outputs(out_.acts[a]);
  }

  // Puts several outputs into one message, at the end. The engine counts the outputs of a message together, so all
  // readers see the same decomposition. The end is not later than the first reader.
  void gather_outputs(act& of) {
    const auto is_work = [](const act_event& made) { return !made.fyi; };
    if (of.failed || std::count_if(of.outputs.begin(), of.outputs.end(), is_work) < 2) return;
    const std::int64_t end_ns = of.end_ns;
    for (const act_event& made : of.outputs) of.end_ns = std::min(of.end_ns, std::max(made.read_ns, of.start_ns + 1));
    of.end_moved = of.end_moved || differ(of.end_ns, end_ns);
    for (act_event& made : of.outputs) event_times_[made.id] = made.at_ns = of.end_ns;
  }

  void add_own(std::size_t i, std::size_t last) {
    const turn& t = run_.turns[i];
    act_event event{.id = t.caller == none ? own_event(t) : answer_event(t),
                    .from = i,
                    .by = t.failed ? t.of : t.output,
                    .carries_error = t.failed};
    if (t.caller != none) event.recipients = {run_.turns[t.caller].agent};
    if (event.recipients.empty()) {
      if (!is_over_) {
        out_.acts[last].ends = false;
        return;
      }
      event.submit = i == answer_;
      event.fyi = !event.submit;
    }
    put(std::move(event), out_.acts[last].end_ns, {last});
  }

  void add_message(const passing& p, const std::vector<std::size_t>& mine) {
    const std::string id = event_of(p);
    const std::int64_t begins = run_.turns[p.to].start_ns;
    if (const auto found = placed_.find(id); found != placed_.end() && is_among(found->second.act, mine)) {
      return add_recipient(out_.acts[found->second.act].outputs[found->second.output], run_.turns[p.to].agent);
    }
    act_event event{
        .id = id, .from = p.from, .by = run_.turns[p.from].output, .recipients_stated = p.stated, .read_ns = begins};
    add_recipient(event, run_.turns[p.to].agent);
    put(std::move(event), std::min(begins, p.by->end_ns), mine);
  }

  static bool is_among(std::size_t act, const std::vector<std::size_t>& mine) {
    return std::find(mine.begin(), mine.end(), act) != mine.end();
  }

  static void add_recipient(act_event& to, const std::string& agent) {
    if (std::find(to.recipients.begin(), to.recipients.end(), agent) == to.recipients.end())
      to.recipients.push_back(agent);
  }

  // Adds the event to the part of the turn that was active at that time, or to its last part.
  void put(act_event&& event, std::int64_t wanted, const std::vector<std::size_t>& mine) {
    std::size_t at = mine.front();
    for (const std::size_t a : mine) {
      if (out_.acts[a].start_ns < wanted) at = a;
    }
    act& within = out_.acts[at];
    event.at_ns = std::clamp(wanted, within.start_ns + 1, within.end_ns);
    if (within.failed && event.at_ns == within.end_ns) {  // a failed end declares no outputs
      event.at_ns = std::max(within.start_ns + 1, within.end_ns - 1);
      within.end_ns = std::max(within.end_ns, event.at_ns + 1);
    }
    event_times_[event.id] = event.at_ns;
    placed_.try_emplace(event.id, output_place{at, within.outputs.size()});
    within.outputs.push_back(std::move(event));
  }

  const run_of_turns& run_;
  const bool is_over_;
  std::vector<std::vector<const passing*>> passed_to_, passed_on_;
  std::vector<std::vector<const loss*>> lost_by_;
  std::vector<std::size_t> last_act_;  // of a turn
  std::vector<std::size_t> heirs_;     // of a turn that failed
  struct output_place {
    std::size_t act = 0, output = 0;
  };
  boost::unordered_flat_map<std::string, output_place> placed_;
  boost::unordered_flat_map<std::string, std::int64_t> event_times_;
  boost::unordered_flat_set<std::string> known_inputs_;  // of the turn that is being placed
  std::size_t answer_ = none;
  timeline out_;
};

}  // namespace

timeline lay_out(const run_of_turns& run, bool is_over) { return planner(run, is_over).plan(); }

}  // namespace digd::otlp
