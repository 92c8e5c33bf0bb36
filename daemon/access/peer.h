// A peer that connections come from (daemon/access/peers.h), and the users who may be the peer of a Unix socket, as the
// kernel reports them. Any thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/access/even_rate.h"

namespace digd::daemon {

// The refused tokens of one peer that digd answers at once in each second. Further ones wait for their turn.
inline constexpr std::uint64_t max_refusals_a_second = 100;

struct peer {
  peer(std::string n, bool local, bool user) : name(std::move(n)), is_local(local), is_user(user) {}
  const std::string name;  // "192.0.2.1", "2001:db8::/64", "uid 1000"
  const bool is_local;     // on this machine, as far as the address says
  const bool is_user;      // of a Unix socket
  even_rate refusals{max_refusals_a_second};
  std::atomic<std::uint64_t> open{0};
};
using peer_ptr = std::shared_ptr<peer>;

// Returns the ids of users given by name or number. Throws std::runtime_error, with a sentence for people, for an
// unknown user.
std::vector<uid_t> users_named(const std::vector<std::string>& names);

// Whether the peer of this connected socket is root, the daemon's own user, or one of `others`.
bool is_peer_allowed(int socket, const std::vector<uid_t>& others);

}  // namespace digd::daemon
