#include "daemon/runs/read_back.h"

#include <spdlog/spdlog.h>
#include <chrono>
#include <limits>
#include <map>
#include <utility>

#include "base/quote.h"
#include "base/thread_priority.h"
#include "daemon/fleet/home_keeper.h"
#include "daemon/runs/engine_loop.h"
#include "daemon/runs/run_host.h"

namespace digd::daemon {

namespace {

constexpr std::chrono::seconds log_interval{2};

// The run keeps what it was granted, even if the configuration has changed since.
run_policy grants_all() {
  run_policy p;
  const auto no_count_limit = std::numeric_limits<std::uint64_t>::max();
  const auto no_time_limit = std::numeric_limits<milliseconds>::max();
  p.caps = {.stalled_ms = no_time_limit,
            .settled_events = no_count_limit,
            .generators = no_count_limit,
            .judging_work = no_count_limit,
            .message_bytes = no_count_limit,
            .reorder_ms = no_time_limit,
            .agents = no_count_limit,
            .recipients = no_count_limit,
            .inputs = no_count_limit,
            .live_events = no_count_limit,
            .open_activations = no_count_limit,
            .sessions = no_count_limit};
  return p;
}

// Removes the settings of a hello: they were decided when it was first accepted.
hello without_settings(hello greeting) {
  greeting.clock.reset();
  greeting.mode.reset();
  greeting.rules = {};
  greeting.guards = {};
  return greeting;
}

// Feeds the entries of one run to its host. It makes the host from the first two: the opening, which is the first
// session's hello with the settled settings, and that hello as received. If digd was killed in between, the second is
// missing.
class replayer {
 public:
  replayer(engine_loop& owner, run_holder& holder, const archive::stored_run& run)
      : owner_(owner), holder_(holder), run_(run) {
    const home_keeper* homes = owner.services().homes.get();
    if (homes == nullptr || !homes->acks_from_stream()) return;
    published_ = homes->published();
    if (const auto adopted = homes->store().adopted(run.number)) kept_ = adopted->kept;
  }

  bool fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  bool take(const archive::stored_entry& e) {
    last_n_ = e.n;
    switch (e.kind) {
      case archive::entry_kind::run_opened: return take_opening(e);
      case archive::entry_kind::session_joined: return take_joining(e);
      case archive::entry_kind::firing: return take_firing(e);
      case archive::entry_kind::operator_mode:
      case archive::entry_kind::limit:
      case archive::entry_kind::semantics:
      case archive::entry_kind::decision: return take_own_line(e);
      case archive::entry_kind::run_deleted:
      case archive::entry_kind::judgement:
      case archive::entry_kind::barrier: return true;  // never stored
      case archive::entry_kind::message:
      case archive::entry_kind::refused: break;
    }
    return feed(e);
  }

  recovered_run finish() {
    if (problem_.empty()) ensure_host();
    if (!problem_.empty()) return {.problem = problem_};
    ingest::inbox& inbox = host_->inbox();
    for (ingest::session_index s = 0; s < inbox.sessions().size(); ++s) {
      const auto first = first_unpublished_.find(inbox.sessions()[s].name);
      inbox.durable(s, first == first_unpublished_.end() ? inbox.sessions()[s].taken_seq : first->second - 1);
    }
    host_->go_live({.entries = last_n_, .bytes = run_.bytes});
    const bool is_older = first_.semantics.value_or(1) < semantics_version && !follows_current_semantics_;
    if (is_older && !inbox.run().ended()) {
      spdlog::info("semantics_adopted run={} number={} from={} to={}", digd::quoted(run_.run), run_.number,
                   first_.semantics.value_or(1), semantics_version);
      return {.host = host_, .unpublished_messages = std::move(unpublished_), .has_older_semantics = true};
    }
    return {.host = host_, .unpublished_messages = std::move(unpublished_)};
  }

 private:
  bool take_opening(const archive::stored_entry& e) {
    if (const refusal_note note = decoder_.decode_hello(e.frame, first_)) return fail("its opening: " + note.text);
    group_ = recorded_group(e.frame);
    opener_ = e.token;
    opened_ = true;
    return true;
  }

  bool take_joining(const archive::stored_entry& e) {
    hello greeting;
    if (const refusal_note note = decoder_.decode_hello(e.frame, greeting)) return fail("a hello: " + note.text);
    const std::string session = greeting.session;
    if (!ensure_host(&greeting) || !join(std::move(greeting))) return false;
    host_->note_owner(session, e.token);
    return true;
  }

  bool join(hello greeting) {
    const auto joined = host_->inbox().join(without_settings(std::move(greeting)), granted_);
    return joined.refused ? fail("a session: " + joined.refused.text) : true;
  }

  // Makes the host if there is none, and joins the opening's session. `next`: the hello that follows the opening, which
  // has the clock that the client asked for.
  bool ensure_host(const hello* next = nullptr) {
    if (host_) return true;
    if (!opened_) return fail("the archive has no opening entry of it");
    make_host(next != nullptr ? *next : hello());
    return (next != nullptr && next->session == first_.session) || join(first_);
  }

  bool take_firing(const archive::stored_entry& e) {
    if (!ensure_host()) return false;
    host_->inbox().advance(e.ts);
    return true;
  }

  bool take_own_line(const archive::stored_entry& e) {
    const std::optional<ingest::own_line> line = decoder_.own_line_of(e.frame);
    if (!line) return fail("a line of digd's own cannot be read");
    if (!ensure_host()) return false;
    follows_current_semantics_ |= line->kind == ingest::record_kind::semantics && line->version == semantics_version;
    host_->inbox().follow(*line);
    return true;
  }

  bool feed(const archive::stored_entry& e) {
    if (!ensure_host()) return false;
    ingest::inbox& inbox = host_->inbox();
    const auto s = inbox.find_session(e.session);
    if (!s) return fail("a message of a session that never joined");
    if (e.kind == archive::entry_kind::refused) {
      inbox.receive_refused(*s, e.frame, e.ts);
    } else {
      inbox.receive(*s, e.frame, e.ts);
    }
    if (inbox.sessions()[*s].taken_seq != e.seq) {
      return fail("entry " + std::to_string(e.n) + " is not the session's next message");
    }
    if (e.id > published_ && e.n > kept_) {
      first_unpublished_.emplace(e.session, e.seq);
      unpublished_.push_back({e.id, e.session, e.seq});
    }
    return true;
  }

  // The opening has the effective settings, with `stamped` if digd made the stamps. That is so with the wall clock.
  // With the trace clock, a client that replays such a trace sends `stamped` itself; its own hello distinguishes the
  // two cases.
  void make_host(const hello& clients_own) {
    run_settings settings = effective_settings(first_, granted_);
    const clock_kind asked = clients_own.clock.value_or(owner_.services().conditions.default_clock);
    const bool own_stamps = clients_own.stamped && asked == clock_kind::trace;
    if (first_.stamped && !own_stamps) {
      settings.clock = clock_kind::wall;
      settings.stamped = false;
    }
    host_ = std::make_shared<run_host>(owner_, holder_, first_, settings, run_.number, group_);
    host_->opened_by(opener_, nullptr);
  }

  engine_loop& owner_;
  run_holder& holder_;
  const archive::stored_run& run_;
  const run_policy granted_ = grants_all();
  ingest::decoder decoder_;
  hello first_;
  bool opened_ = false;
  bool follows_current_semantics_ = false;
  canary_group group_ = canary_group::none;
  std::string opener_;
  std::shared_ptr<run_host> host_;
  std::uint64_t last_n_ = 0;
  std::int64_t published_ = std::numeric_limits<std::int64_t>::max();  // the last entry that the stream has
  std::uint64_t kept_ = 0;                                             // entries of earlier homes, which published them
  std::map<std::string, std::uint64_t> first_unpublished_;             // seq by session
  std::vector<recovered_run::unpublished> unpublished_;
  std::string problem_;
};

}  // namespace

recovered_run read_back(engine_loop& owner, run_holder& holder, const archive::archive& store,
                        const archive::stored_run& run) {
  lower_thread_priority();  // the verdicts of runs at work go first
  replayer replays(owner, holder, run);
  const recovery_progress& progress = owner.services().counts.recovery;
  std::uint64_t entries = 0;
  auto time = std::chrono::steady_clock::now();
  const auto done = store.each_entry(run.number, [&](const archive::stored_entry& e) {
    if (progress.stopping.load(std::memory_order_relaxed)) return replays.fail("digd stops");
    ++entries;
    if (const auto now = std::chrono::steady_clock::now(); now - time > log_interval) {
      time = now;
      spdlog::info("recovering run={} entries={}", digd::quoted(run.run), entries);
    }
    return replays.take(e);
  });
  if (!done) return {.problem = done.error().message()};
  return replays.finish();
}

}  // namespace digd::daemon
