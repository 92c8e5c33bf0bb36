#include "daemon/fleet/homes/host_watch.h"

#include <algorithm>

namespace digd::daemon {

host_watch::state host_watch::see(const std::string& key, const renewal& read, std::chrono::milliseconds length,
                                  home_time sent, home_time received) {
  const auto found = seen_.find(key);
  if (found == seen_.end()) {
    if (seen_.size() >= max_hosts) {
      seen_.erase(std::min_element(seen_.begin(), seen_.end(),
                                   [](const auto& a, const auto& b) { return a.second.latest < b.second.latest; }));
    }
    seen_[key] = {read, received, received};
    return state::unknown;
  }
  sighting& seen = found->second;
  seen.latest = received;
  if (seen.last != read) {
    seen.last = read;
    seen.since = received;
    return state::renewed;
  }
  return sent - seen.since >= wait_of(length) ? state::lapsed : state::quiet;
}

void host_watch::note_ended(const std::string& incarnation) {
  if (ended_.size() >= max_ended) ended_.clear();
  ended_.insert(incarnation);
}

}  // namespace digd::daemon
