// Whether the lease of another daemon has lapsed, as far as this daemon can tell by its own clock.
//
// A lease has lapsed when two reads, far enough apart, find the same renewal. The time between them counts from the
// arrival of the first reply to the sending of the second read, so a slow network only makes it longer. That time must
// be a tenth longer than the lease, and the holder stops a tenth earlier (host_lease.h). So the clocks may differ in
// speed by a fifth of the lease, and their readings do not matter.
//
// A daemon ends a lapsed lease by compare-and-set on the revision of the second read, so a renewal in between wins. A
// new revision alone is no renewal: a daemon that proves a record writes it back unchanged (home_search.h).
//
// Thread: one at a time. Bounds: `max_hosts`; beyond it, the host that was read longest ago is forgotten, and its wait
// begins again. `max_ended` leases; beyond it, all are forgotten, and a search proves again that a lease has ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "daemon/fleet/homes/home_records.h"

namespace digd::daemon {

class host_watch {
 public:
  static constexpr std::size_t max_hosts = 1'024, max_ended = 1'024;
  enum class state : std::uint8_t {
    unknown,  // read for the first time
    renewed,  // the holder has written since the last read
    quiet,    // it has not, and not enough time has passed
    lapsed,
  };

  // Names a write of the holder. A daemon that proves a record writes it back with the same renewal.
  struct renewal {
    std::string process;
    std::uint64_t number = 0;  // of a missing key, which has no process: its revision
    bool operator==(const renewal&) const = default;
  };

  // After a read of the host's key. `sent` and `received`: of that read.
  state see(const std::string& key, const renewal& read, std::chrono::milliseconds length, home_time sent,
            home_time received);

  // Leases that ended, by their incarnations.
  void note_ended(const std::string& incarnation);
  bool has_ended(const std::string& incarnation) const { return ended_.contains(incarnation); }

  // How long a renewal must stay the last one.
  static home_time wait_of(std::chrono::milliseconds length) { return length + home_time(length) / 10; }

 private:
  struct sighting {
    renewal last;
    home_time since{0};  // when the first reply with this renewal arrived
    home_time latest{0};
  };
  std::map<std::string, sighting, std::less<>> seen_;
  std::set<std::string> ended_;
};

}  // namespace digd::daemon
