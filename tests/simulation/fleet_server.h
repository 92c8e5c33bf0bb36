// A model of the fleet's server: the bucket with its revisions, and the stream with its order. Requests arrive late, or
// never; so do replies. Some reads of the bucket are answered by a replica that lags behind.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/fleet/homes/home_records.h"
#include "daemon/fleet/homes/run_parts.h"
#include "tests/simulation/scheduler.h"

namespace digd::simulation {

// A message of the stream.
struct published {
  daemon::stream_line::kind is = daemon::stream_line::kind::entry;
  std::string archive, run, origin_archive;
  std::uint64_t number = 0, n = 0, epoch = 1, origin_number = 0;
  std::uint64_t id = 0;  // of the entry's content
  daemon::stream_line line() const {
    return {.is = is,
            .archive = archive,
            .run = run,
            .number = number,
            .n = n,
            .epoch = epoch,
            .origin_archive = origin_archive,
            .origin_number = origin_number};
  }
};

class fleet_server {
 public:
  fleet_server(scheduler& clock, dice& chance, std::uint64_t& lost) : clock_(clock), chance_(chance), lost_(lost) {}

  // `host`: cut off or not. A request without a reply within `max_wait` gets a failure.
  void call(std::size_t host, daemon::bucket_request request, std::function<void(daemon::bucket_reply)> reply);
  // The sequence number that the message got; 0: no reply.
  void publish(std::size_t host, published message, std::function<void(std::uint64_t)> reply);

  void cut_off(std::size_t host, bool on) { cut_[host] = on; }
  const std::vector<published>& stream() const { return stream_; }

  static constexpr microseconds max_wait = 250'000;

 private:
  template <class Reply>
  void send(std::size_t host, std::function<Reply()> work, std::function<void(Reply)> reply, Reply none);
  daemon::bucket_reply carry_out(const daemon::bucket_request& request);
  daemon::bucket_reply read(const std::string& key);
  microseconds delay();

  struct entry {
    std::string value;
    std::uint64_t revision = 0;
    microseconds written_at = 0;
  };
  scheduler& clock_;
  dice& chance_;
  std::uint64_t& lost_;
  std::map<std::string, std::vector<entry>> bucket_;  // of each key all values, the latest last
  std::uint64_t last_revision_ = 0;
  std::vector<published> stream_;
  std::map<std::size_t, bool> cut_;
};

}  // namespace digd::simulation
