#include "daemon/runs/recovery.h"

#include <chrono>
#include <limits>
#include <map>
#include <spdlog/spdlog.h>
#include <thread>
#include <vector>

#include "base/quote.h"
#include "daemon/runs/engine_threads.h"
#include "daemon/runs/run_host.h"

namespace digd::daemon {

namespace {

constexpr std::chrono::seconds tell_every{2};

// What a run was granted is not asked again: the configuration may have changed since.
run_policy grants_all() {
  run_policy p;
  const auto most_count = std::numeric_limits<std::uint64_t>::max();
  const auto most_ms = std::numeric_limits<milliseconds>::max();
  p.caps = {.stalled_ms = most_ms,
            .settled_events = most_count,
            .generators = most_count,
            .judging_work = most_count,
            .message_bytes = most_count,
            .reorder_ms = most_ms,
            .agents = most_count,
            .recipients = most_count,
            .inputs = most_count,
            .live_events = most_count,
            .open_activations = most_count,
            .sessions = most_count};
  return p;
}

// It was accepted then; what it asked for is settled.
hello without_wishes(hello greeting) {
  greeting.clock.reset();
  greeting.mode.reset();
  greeting.rules = {};
  return greeting;
}

// Feeds the entries of one run to its host, which it makes from the first two: the opening, which is its session's
// hello with what was settled, and that hello as it came. A daemon that was killed may have left the first without the
// second.
class replayer {
 public:
  replayer(engine_thread& owner, const archive::stored_run& run) : owner_(owner), run_(run) {}

  bool take(const archive::stored_entry& e) {
    last_n_ = e.n;
    switch (e.kind) {
      case archive::entry_kind::run_opened: return take_opening(e);
      case archive::entry_kind::session_joined: return take_joining(e);
      case archive::entry_kind::firing: return has_host() && (host_->inbox().advance(e.ts), true);
      case archive::entry_kind::operator_mode:
      case archive::entry_kind::limit:
      case archive::entry_kind::semantics: return take_own_line(e);
      case archive::entry_kind::run_deleted:
      case archive::entry_kind::judgement: return true;  // is never stored
      case archive::entry_kind::message:
      case archive::entry_kind::refused: break;
    }
    return feed(e);
  }

  std::shared_ptr<run_host> finish(std::string& why) {
    if (why_.empty()) static_cast<void>(has_host());
    why = why_;
    if (!why_.empty()) return nullptr;
    ingest::inbox& inbox = host_->inbox();
    for (ingest::session_index s = 0; s < inbox.sessions().size(); ++s) {
      inbox.durable(s, inbox.sessions()[s].taken_seq);
    }
    host_->go_live({.n = last_n_, .bytes = run_.bytes});
    if (first_.semantics.value_or(1) < semantics_version && !follows_current_semantics_ && !inbox.run().ended()) {
      spdlog::info("semantics_adopted run={} number={} from={} to={}", digd::quoted(run_.run), run_.number,
                   first_.semantics.value_or(1), semantics_version);
      host_->adopt_semantics();
    }
    return host_;
  }

 private:
  bool fail(std::string why) {
    why_ = std::move(why);
    return false;
  }

  bool take_opening(const archive::stored_entry& e) {
    if (const refusal_note note = decoder_.decode_hello(e.frame, first_)) return fail("its opening: " + note.text);
    group_ = recorded_group(e.frame);
    opened_ = true;
    return true;
  }

  bool take_joining(const archive::stored_entry& e) {
    hello greeting;
    if (const refusal_note note = decoder_.decode_hello(e.frame, greeting)) return fail("a hello: " + note.text);
    return has_host(&greeting) && join(std::move(greeting));
  }

  bool join(hello greeting) {
    const auto joined = host_->inbox().join(without_wishes(std::move(greeting)), granted_);
    return joined.refused ? fail("a session: " + joined.refused.text) : true;
  }

  // Whatever comes, the opening's session has joined. `next`: the hello that says what clock was asked for, if one
  // does.
  bool has_host(const hello* next = nullptr) {
    if (host_) return true;
    if (!opened_) return fail("the archive has no opening entry of it");
    make_host(next != nullptr ? *next : hello());
    return (next != nullptr && next->session == first_.session) || join(first_);
  }

  bool take_own_line(const archive::stored_entry& e) {
    const std::optional<ingest::own_line> line = decoder_.own_line_of(e.frame);
    if (!line || !has_host()) return fail("a line of digd's own cannot be read");
    follows_current_semantics_ |= line->kind == ingest::record_kind::semantics && line->version == semantics_version;
    host_->inbox().follow(*line);
    return true;
  }

  bool feed(const archive::stored_entry& e) {
    if (!has_host()) return false;
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
    return true;
  }

  // The opening has the effective settings, and `stamped` where the stamps are ours: that is so for the wall clock,
  // and for a trace that said so of itself, which the client's own hello tells apart.
  void make_host(const hello& clients_own) {
    run_settings settings = settle(first_, granted_);
    const clock_kind asked = clients_own.clock.value_or(owner_.services().default_clock);
    const bool own_stamps = clients_own.stamped && asked == clock_kind::trace;
    if (first_.stamped && !own_stamps) {
      settings.clock = clock_kind::wall;
      settings.stamped = false;
    }
    host_ = std::make_shared<run_host>(owner_, first_, settings, run_.number, group_);
  }

  engine_thread& owner_;
  const archive::stored_run& run_;
  const run_policy granted_ = grants_all();
  ingest::decoder decoder_;
  hello first_;
  bool opened_ = false;
  bool follows_current_semantics_ = false;
  canary_group group_ = canary_group::none;
  std::shared_ptr<run_host> host_;
  std::uint64_t last_n_ = 0;
  std::string why_;
};

}  // namespace

std::shared_ptr<run_host> read_back(engine_thread& owner, const archive::archive& store, const archive::stored_run& run,
                                    std::string& why) {
  replayer replays(owner, run);
  std::uint64_t entries = 0;
  auto time = std::chrono::steady_clock::now();
  const auto done = store.each_entry(run.number, [&](const archive::stored_entry& e) {
    ++entries;
    if (const auto now = std::chrono::steady_clock::now(); now - time > tell_every) {
      time = now;
      spdlog::info("recovering run={} entries={}", digd::quoted(run.run), entries);
    }
    return replays.take(e);
  });
  if (!done) {
    why = done.error().message();
    return nullptr;
  }
  return replays.finish(why);
}

void recover_all(const archive::archive& store, const engine_threads& threads) {
  const auto stored = store.runs();
  if (!stored) throw std::runtime_error("the archive cannot be read: " + stored.error().message());
  std::map<std::string, const archive::stored_run*> latest;  // a name may come again after its run was deleted
  for (const archive::stored_run& run : *stored) latest[run.run] = &run;

  std::vector<std::vector<const archive::stored_run*>> open(threads.size());
  for (const auto& [name, run] : latest) {
    engine_thread& owner = threads.owner_of(name);
    if (run->ended.empty()) {
      open[owner.index()].push_back(run);
    } else {
      owner.runs().remember_ended(*run);
    }
  }
  std::atomic<std::uint64_t> recovered{0}, failed{0};
  std::vector<std::thread> workers;
  for (const auto& owner : threads) {
    workers.emplace_back([&, at = owner.get()] {
      for (const archive::stored_run* run : open[at->index()]) {
        std::string why;
        if (auto host = read_back(*at, store, *run, why)) {
          at->runs().adopt(host);
          at->watch(*host, host->inbox().next_due());
          ++recovered;
        } else {
          at->runs().remember_ended(*run);
          spdlog::error("recovery_failed run={} number={} why={}", digd::quoted(run->run), run->number, digd::quoted(why));
          ++failed;
        }
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  if (!latest.empty()) {
    spdlog::info("recovered runs={} ended={} failed={}", recovered.load(), latest.size() - recovered - failed,
                 failed.load());
  }
}

}  // namespace digd::daemon
