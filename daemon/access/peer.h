// The user at the other end of a Unix socket, as the kernel reports it. Any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace digd::daemon {

// Returns the ids of users given by name or number. Throws std::runtime_error, with a sentence for people, for an
// unknown user.
std::vector<uid_t> users_named(const std::vector<std::string>& names);

// Whether the peer of this connected socket is root, the daemon's own user, or one of `others`.
bool is_peer_allowed(int socket, const std::vector<uid_t>& others);

}  // namespace digd::daemon
