// Finds the home of one run, and takes it if it is free. It has no I/O: the caller carries out its requests.
//
//   read the run's key ─ missing ───────────────────────────▶ create it                              opened
//          │           ─ names this daemon and its copy ────▶ update its lease, if it changed        kept
//          │           ─ names another copy of this daemon ─▶ replace it, epoch + 1                  taken
//          └ names another daemon: read its lease
//                      ─ the lease has ended ───────────────▶ replace the run's key, epoch + 1       taken
//                      ─ the daemon has another lease ──────▶ prove that, then as above              taken
//                      ─ nobody renews the lease ───────────▶ end it by compare-and-set, as above    taken
//                      ─ the lease is live ─────────────────▶                                        elsewhere
//
// A replica of the server may answer reads, so they may be stale. The end of a lease is permanent, so even a stale read
// proves it. But a record with another lease may be older than the lease that the run's home names. So the search
// writes that record back unchanged; this succeeds only if the record is the current one.
//
// A client that was sent elsewhere and asks again could not reach that daemon. Then the search waits until the lease is
// renewed or has lapsed.
//
// Thread: one at a time; all searches of a daemon share a `host_watch`. Bounds: `max_attempts` conflicts. Failure:
// `unavailable`, with the reason; the client asks again. A write whose reply was lost may have been carried out: a
// later search then takes the run from this daemon itself, from the stream. Lifetime: the `host_watch` outlives it.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/fleet/homes/home_records.h"
#include "daemon/fleet/homes/host_watch.h"

namespace digd::daemon {

struct home_question {
  std::string run;
  std::uint64_t number = 0;      // of this daemon's copy of the run; 0: it has none
  std::uint64_t new_number = 0;  // for a copy that it begins with this question
  std::uint64_t start = 0;       // for a new run: the next message of the stream comes after this sequence number
  bool was_elsewhere = false;    // this daemon sent a client of the run elsewhere a short time ago
};

// The daemon that asks.
struct home_taker {
  std::string tenant, host, url;
  std::string archive, incarnation;
  bool pins = false;     // pins the runs that it takes: no other daemon takes them over
  bool may_take = true;  // false: it drains
};

struct home_decision {
  enum class kind : std::uint8_t {
    opened,       // a new run; its home is here
    kept,         // the home is here, and this daemon's copy is the run
    taken,        // the home is here; the run must be restored from the stream
    elsewhere,    // `url`: of its home
    unavailable,  // `problem`
  } is = kind::unavailable;
  run_record home;
  std::string url, problem;
};

class home_search {
 public:
  static constexpr int max_attempts = 16;

  home_search(home_taker self, home_question asked, host_watch& hosts)
      : self_(std::move(self)), asked_(std::move(asked)), hosts_(hosts) {}

  struct step {
    enum class kind : std::uint8_t { request, wait, done } is = kind::done;
    bucket_request request;
    home_time wait_until{0};  // then call `resume`
    home_decision decision;
  };
  step begin(home_time now) { return read_run(now); }
  step on_reply(const bucket_reply& reply, home_time now);
  step resume(home_time now) { return read_host(now); }

 private:
  enum class phase : std::uint8_t { reading_run, reading_host, proving_host, ending_host, writing_run };

  step read_run(home_time now);
  step read_host(home_time now);
  step on_run(const bucket_reply& reply, home_time now);
  step on_host(const bucket_reply& reply, home_time now);
  step on_proven(const bucket_reply& reply, home_time now);
  step on_ended(const bucket_reply& reply, home_time now);
  step on_written(const bucket_reply& reply, home_time now);
  step while_live(const host_record& host, std::uint64_t revision, host_watch::state seen, home_time now);
  step write_run(run_record next, std::uint64_t expected, home_decision::kind then);
  step take();
  step prove_host(const bucket_reply& read);
  step end_host(host_record host, std::uint64_t revision);
  static step request(bucket_request wanted);
  static step unavailable(std::string problem);
  step elsewhere(const std::string& url) const;
  step done(home_decision::kind is, run_record home) const;
  bool is_own_copy(const run_record& run) const {
    return asked_.number != 0 && run.archive == self_.archive && run.number == asked_.number;
  }

  const home_taker self_;
  const home_question asked_;
  host_watch& hosts_;
  phase phase_ = phase::reading_run;
  run_record run_;  // the record that was read
  std::uint64_t run_revision_ = 0;
  home_time sent_at_{0};
  run_record written_;
  home_decision::kind then_ = home_decision::kind::opened;
  int attempts_ = 0;
};

}  // namespace digd::daemon
