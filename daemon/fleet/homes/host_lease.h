// A daemon's own lease: the key `host.TENANT.HOST`. It has no I/O: the caller carries out its requests and hands in the
// time of its own monotonic clock.
//
//   read → write (new, or renewed) → every third of the length: write
//
// The time of a lease begins when its request is sent, so no clock is compared with another. The daemon stops using the
// lease a tenth of its length before its end. If the reply to a write is lost, the next request is a read.
//
// The lease ends permanently when another daemon ends it, its key is removed, or this daemon drains. Unless it drained,
// this daemon then takes a new lease with a new incarnation. Runs whose homes name the old lease must be confirmed
// (home_search.h).
//
// Thread: one at a time. Bounds: one request at a time. Failure: `problem`, in words; requests are tried again.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "daemon/fleet/homes/home_records.h"
#include "daemon/fleet/homes/host_watch.h"

namespace digd::daemon {

class host_lease {
 public:
  struct identity {
    std::string tenant, host, url;
    std::string archive;  // only one process at a time has it, by a lock on its file
  };
  // `incarnation`: of the last process with this archive; empty: none. `random_name` gives a new one at each call.
  host_lease(identity self, std::chrono::milliseconds length, std::string incarnation,
             std::function<std::string()> random_name);

  // The request to carry out now; none before `next_at`, and while a request waits for its reply.
  std::optional<bucket_request> next(home_time now);
  void on_reply(const bucket_reply& reply, home_time now);
  home_time next_at() const { return next_at_; }

  // The lease that this daemon names when it takes homes. It may judge until `judge_until`. `generation` grows with
  // each new incarnation; 0: there was no lease yet.
  const std::string& incarnation() const { return incarnation_; }
  std::uint64_t generation() const { return generation_; }
  home_time judge_until() const { return judge_until_; }
  bool is_held(home_time now) const { return now < judge_until_; }

  // Gives up the lease: the next write ends it, and with it all homes.
  void drain();
  bool is_drained() const { return drained_; }
  const std::string& problem() const { return problem_; }

 private:
  enum class phase : std::uint8_t { reading, read_sent, writing, write_sent };

  bucket_request make_write(home_time now);
  void take_read(const bucket_reply& reply, home_time now);
  void take_record(const host_record& found, home_time now);
  void begin_incarnation();
  void wait_for(const std::string& problem, home_time now);
  home_time part(int share) const { return home_time(length_) / share; }

  const identity self_;
  const std::chrono::milliseconds length_;
  const std::function<std::string()> random_name_;
  const std::string process_;
  std::string incarnation_;
  bool is_known_ = false;  // this process has held the incarnation
  phase phase_ = phase::reading;
  home_time next_at_{0}, sent_at_{0}, judge_until_{0};
  std::uint64_t generation_ = 0, revision_ = 0, renewals_ = 0;
  bool draining_ = false, drain_sent_ = false, drained_ = false;
  std::string problem_;
  host_watch others_;  // a daemon with the same name
};

}  // namespace digd::daemon
