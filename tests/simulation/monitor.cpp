#include "tests/simulation/monitor.h"

#include <algorithm>
#include <utility>

#include "ingest/protocol/encode.h"
#include "tests/simulation/check.h"

namespace digd::simulation {

namespace {

run_policy small_limits() {
  run_policy p;
  p.defaults.limits.live_events = 3'000;
  p.defaults.limits.open_activations = 500;
  p.defaults.limits.settled_events = 200;
  p.defaults.limits.message_bytes = 4'096;
  return p;
}

}  // namespace

// A run and its session slots: daemon/runs/run_host.cpp without threads.
class monitor::hosted {
 public:
  hosted(monitor& owner, const hello& first, const run_settings& settings)
      : owner_(owner), name_(first.run), in_(first, settings, {.hold = true, .keep_replies = true, .window = credits}) {
    in_.hold_unseen(false);
  }

  ingest::inbox& in() { return in_; }
  const ingest::inbox& in() const { return in_; }

  void go_live(std::uint64_t last_n) {
    n_ = last_n;
    live_since_ms_ = owner_.clock_.now_ms();
    in_.hold_unseen(true);
    slots_.resize(in_.sessions().size());
  }

  void record_opening(const hello& first) {
    tests::recorded_entry e;
    e.stored.kind = archive::entry_kind::run_opened;
    e.stored.n = ++n_;
    ingest::encode_trace_hello(e.stored.frame, first, in_.run().settings());
    owner_.archive_.push(name_, std::move(e));
  }

  refusal_note join(const hello& greeting, const std::string& frame, const std::shared_ptr<link>& from) {
    const auto joined = in_.join(greeting, owner_.policy_);
    if (joined.refused) return joined.refused;
    const ingest::session_index s = joined.session;
    if (s == slots_.size()) slots_.emplace_back();
    if (joined.changed) owner_.archive_.push(name_, tests::joining_entry(greeting, frame, in_.run().clock(), ++n_));
    if (slots_[s].connection) slots_[s].connection->close_by_monitor();  // the new connection replaces it
    slots_[s] = {.connection = from};
    from->attach_monitor({.frame = [this, s, at = from.get()](std::string&& f) { receive(s, at, std::move(f)); },
                          .closed = [this, s, at = from.get()] { leave(s, at); }});
    std::string welcome;
    ingest::encode_welcome(
        welcome,
        {.run = name_, .session = greeting.session, .acked_seq = in_.sessions()[s].durable_seq, .credits = credits},
        in_.run().settings());
    from->to_client(std::move(welcome));
    if (greeting.answered_seq) send_missed(s, *greeting.answered_seq);
    carry_out(in_.resume(s));
    after_call(s);
    return {};
  }

  void durable(const std::string& session, std::uint64_t seq) {
    const auto s = in_.find_session(session);
    if (!s) return;
    in_.durable(*s, seq);
    acknowledge(*s);
    after_call(*s);
  }

  void advance(milliseconds now) {
    carry_out(in_.advance(now));
    for (ingest::session_index s = 0; s < slots_.size(); ++s) after_call(s);
  }

  void switch_mode(mode strongest) {
    if (in_.sessions().empty() || in_.run().ended() || in_.run().settings().operator_mode == strongest) return;
    carry_out(in_.switch_mode(strongest, owner_.clock_.now_ms()));
  }

  // Returns whether the hold was open.
  bool decide(const ingest::own_line& decision) {
    const ingest::inbox::decided decided = in_.decide(decision, owner_.clock_.now_ms());
    must(!decided.refused || decided.refused.code == refusal::hold_closed, "a decision is refused only if it is late");
    const bool was_open = !decided.refused;
    carry_out(decided.effects);
    must(in_.run().open_holds().find(decision.hold) == nullptr, "no hold stays open after a decision");
    for (ingest::session_index s = 0; s < slots_.size(); ++s) after_call(s);
    return was_open;
  }

  void check() const {
    const auto due_hold = in_.run().open_holds().next();
    must(!due_hold || in_.run().settings().clock != clock_kind::wall ||
             std::max(due_hold->first, live_since_ms_) >= owner_.clock_.now_ms(),
         "a hold ends when its time has passed");
    for (const ingest::session& s : in_.sessions()) {
      must(s.durable_seq <= s.taken_seq, "durable messages were accepted");
      must(s.durable_seq <= owner_.archive_.stored_seq(name_, s.name), "what is reported durable is on the disk");
      must(s.taken_seq - s.durable_seq + s.held.size() <= credits + 1,
           "no session is more than its credits ahead of the disk");
      must(s.unacked.size() <= s.taken_seq - std::min(s.durable_seq, s.place), [&] {
        return "run " + name_ + " session " + s.name + ": " + std::to_string(s.unacked.size()) +
               " replies are kept; accepted " + std::to_string(s.taken_seq) + ", durable " +
               std::to_string(s.durable_seq) + ", resumed at " + std::to_string(s.place);
      });
    }
    const graph::graph& g = in_.run().graph();
    const limits& limits = in_.run().settings().limits;
    must(g.live_events() <= limits.live_events + 2'000, "live events keep to their limit");
    must(g.open_count() <= limits.open_activations, "open activations keep to their limit");
    must(g.remembered_events() <= g.live_events() + limits.settled_events, "settled events are forgotten");
  }

  std::uint64_t wake = 0;  // the number of the latest planned call; earlier ones are void

 private:
  void receive(ingest::session_index s, const link* from, std::string&& frame) {
    if (slots_[s].connection.get() != from) return;
    const std::size_t held = in_.sessions()[s].held.size();
    if (frame.size() > in_.run().settings().limits.message_bytes) {  // a socket does not read it
      carry_out(in_.receive_too_large(s, frame.size(), owner_.clock_.now_ms()));
    } else {
      carry_out(in_.receive(s, frame, owner_.clock_.now_ms()));
    }
    owner_.sum_.held += in_.sessions()[s].held.size() > held;
    after_call(s);
  }

  // What the archive reads for daemon/runs/stored_answers.cpp.
  void send_missed(ingest::session_index s, std::uint64_t answered) {
    const auto stored = owner_.archive_.stored().find(name_);
    if (stored == owner_.archive_.stored().end()) return;
    const ingest::session& session = in_.sessions()[s];
    for (const tests::recorded_entry& e : stored->second) {
      const bool is_missed = e.stored.session == session.name && e.stored.seq > answered &&
                             e.stored.seq <= session.durable_seq && !e.response.empty();
      if (!is_missed) continue;
      ++owner_.sum_.repeated;
      send(s, e.response);
    }
  }

  void leave(ingest::session_index s, const link* from) {
    if (slots_[s].connection.get() == from) slots_[s].connection = nullptr;
  }

  // Does what `may_read` of daemon/runs/conversation.cpp does.
  void after_call(ingest::session_index s) {
    owner_.plan_wake(*this);
    if (!slots_[s].connection) return;
    const ingest::session& session = in_.sessions()[s];
    const bool full = session.taken_seq - session.durable_seq + session.held.size() > credits;
    owner_.sum_.paused += full;
    slots_[s].connection->pause_reading(full);
  }

  void acknowledge(ingest::session_index s) {
    std::string frame;
    const std::uint64_t seq = in_.sessions()[s].durable_seq;
    must(seq <= owner_.archive_.stored_seq(name_, in_.sessions()[s].name), "what is acked is on the disk");
    ingest::encode_ack(frame, seq);
    send(s, frame);
  }

  void carry_out(const ingest::effects& effects) {
    for (const ingest::effect& e : effects) {
      switch (e.action) {
        case ingest::effect::action::keep: keep(*e.item); break;
        case ingest::effect::action::send: send(e.session, e.frame); break;
        case ingest::effect::action::acknowledge:
          if (in_.sessions()[e.session].durable_seq > 0) acknowledge(e.session);
          break;
      }
    }
  }

  void send(ingest::session_index to, std::string_view frame) {
    if (slots_[to].connection) slots_[to].connection->to_client(std::string(frame));
  }

  void keep(const ingest::record& record) {
    tests::recorded_entry e = tests::entry_of(record, ++n_);
    totals& sum = owner_.sum_;
    sum.messages += record.kind == ingest::record_kind::message || record.kind == ingest::record_kind::refused;
    sum.refused += record.kind == ingest::record_kind::refused;
    sum.degraded += record.kind == ingest::record_kind::limit;
    sum.detections += record.answer.detections.size();
    sum.at_end +=
        static_cast<std::uint64_t>(std::count_if(record.answer.detections.begin(), record.answer.detections.end(),
                                                 [](const detection& d) { return d.cause == cause::ended; }));
    sum.interventions += record.answer.interventions.size();
    sum.guards_fired +=
        static_cast<std::uint64_t>(std::count_if(record.answer.detections.begin(), record.answer.detections.end(),
                                                 [](const detection& d) { return d.guard.has_value(); }));
    note_holds(record.answer);
    sum.digest = sum.digest * 31 + e.value;
    owner_.archive_.push(name_, std::move(e));
  }

  void note_holds(const answer& from) {
    for (const verdict& v : from.verdicts) {
      if (v.action != action::hold) continue;
      ++owner_.sum_.holds;
      if (owner_.hold_watcher_) owner_.hold_watcher_(name_, v.hold, v.hold_ms);
    }
  }

  monitor& owner_;
  const std::string name_;
  ingest::inbox in_;
  std::vector<session_slot> slots_;
  std::uint64_t n_ = 0;
  milliseconds live_since_ms_ = 0;
};

monitor::monitor(scheduler& clock, dice& chance, totals& sum)
    : clock_(clock),
      chance_(chance),
      sum_(sum),
      archive_(clock, chance,
               [this](const std::string& run, const std::string& session, std::uint64_t seq) {
                 on_durable(run, session, seq);
               }),
      policy_(small_limits()) {}

monitor::~monitor() = default;

// ---- connections

bool monitor::accept(const std::shared_ptr<link>& from) {
  if (!up_) return false;
  ++sum_.connections;
  std::erase_if(links_, [](const std::weak_ptr<link>& link) { return link.expired(); });
  links_.push_back(from);
  from->attach_monitor({.frame = [this, at = from.get()](std::string&& frame) { greet(at->shared_from_this(), frame); },
                        .closed = [] {}});
  return true;
}

void monitor::greet(const std::shared_ptr<link>& from, const std::string& frame) {
  hello greeting;
  if (const refusal_note note = hellos_.decode_hello(frame, greeting)) return refuse(from, note);
  const auto found = runs_.find(greeting.run);
  hosted& host = found == runs_.end() ? open(greeting) : *found->second;
  if (const refusal_note note = host.join(greeting, frame, from)) refuse(from, note);
}

void monitor::refuse(const std::shared_ptr<link>& from, const refusal_note& note) {
  std::string frame;
  ingest::encode_error(frame, note, 0, true);
  from->to_client(std::move(frame));
  from->close_by_monitor();
}

monitor::hosted& monitor::open(const hello& first) {
  auto created = std::make_unique<hosted>(*this, first, effective_settings(first, policy_));
  hosted& host = *created;
  runs_[first.run] = std::move(created);
  host.go_live(0);
  host.record_opening(first);
  ++sum_.runs;
  return host;
}

void monitor::on_durable(const std::string& run, const std::string& session, std::uint64_t seq) {
  const auto found = runs_.find(run);
  if (up_ && found != runs_.end()) found->second->durable(session, seq);
}

// ---- time

void monitor::plan_wake(hosted& host) {
  const auto due = host.in().next_due();
  if (!due) return;
  const std::uint64_t turn = ++host.wake;
  clock_.at(*due * 1'000, [this, life = life_, &host, turn] {
    if (life == life_ && host.wake == turn) host.advance(clock_.now_ms());
  });
}

void monitor::switch_modes(mode strongest) {
  for (auto& [name, host] : runs_) host->switch_mode(strongest);
}

void monitor::decide(const std::string& run, const ingest::own_line& decision) {
  const auto found = runs_.find(run);
  if (!up_ || found == runs_.end()) return;
  ++(found->second->decide(decision) ? sum_.decided : sum_.decided_late);
}

// ---- kill and recovery

void monitor::kill() {
  up_ = false;
  ++life_;
  ++sum_.kills;
  archive_.kill();
  for (const auto& link : links_) {
    if (const auto open_link = link.lock()) open_link->monitor_dies();
  }
  links_.clear();
  runs_.clear();
}

void monitor::start() {
  for (const auto& [run, entries] : archive_.stored()) {
    if (auto host = recover(run, entries)) runs_[run] = std::move(host);
  }
  up_ = true;
  for (auto& [name, host] : runs_) plan_wake(*host);
}

// Recovers a run as daemon/runs/read_back.cpp does, and compares each answer with the recorded one. A run is opened
// again if none of its sessions became durable.
std::unique_ptr<monitor::hosted> monitor::recover(const std::string& run,
                                                  const std::vector<tests::recorded_entry>& entries) {
  hello first;
  must(entries.front().stored.kind == archive::entry_kind::run_opened, "a record begins with its opening");
  must(!hellos_.decode_hello(entries.front().stored.frame, first), "an opening can be read");
  run_settings settings = effective_settings(first, policy_);
  if (first.stamped) {
    settings.clock = clock_kind::wall;
    settings.stamped = false;
  }
  auto host = std::make_unique<hosted>(*this, first, settings);
  std::uint64_t n = 0;
  for (const tests::recorded_entry& e : entries) {
    must(e.stored.n == ++n,
         [&] { return "run " + run + ": entry " + std::to_string(e.stored.n) + " follows " + std::to_string(n - 1); });
    const tests::recovered_answers answers = tests::recover_entry(host->in(), hellos_, e.stored);
    must(answers.fits, [&] { return "run " + run + ": an entry does not fit: " + e.stored.frame; });
    if (e.value != 0)
      must(!answers.values.empty() && answers.values.back() == e.value,
           [&] { return "run " + run + ": judged again with another answer: " + e.stored.frame; });
    ++sum_.replayed;
  }
  for (ingest::session_index s = 0; s < host->in().sessions().size(); ++s) {
    host->in().durable(s, host->in().sessions()[s].taken_seq);
  }
  host->go_live(n);
  return host;
}

// ---- checks

void monitor::check() const {
  for (const auto& [name, host] : runs_) host->check();
  must(archive_.waiting() <= runs_.size() * 3 * (credits + 1'100), "credits bound the entries that wait for the disk");
}

void monitor::check_replay() {
  for (const auto& [run, entries] : archive_.stored()) {
    const auto replayed = recover(run, entries);
    must(tests::digest_of(replayed->in().run()) == tests::digest_of(runs_.at(run)->in().run()),
         [&] { return "run " + run + ": its record replays to another graph"; });
  }
}

bool monitor::is_settled() const {
  return archive_.waiting() == 0 && std::all_of(runs_.begin(), runs_.end(), [](const auto& item) {
           const auto& sessions = item.second->in().sessions();
           return std::all_of(sessions.begin(), sessions.end(),
                              [](const ingest::session& s) { return s.held.empty(); });
         });
}

}  // namespace digd::simulation
