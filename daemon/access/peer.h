// Who is at the other end of a Unix socket, as the kernel knows it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace digd::daemon {

// The numbers of users given by name or number. Throws std::runtime_error, in words for people, if there is no such.
std::vector<uid_t> users_named(const std::vector<std::string>& names);

// Whether the peer of this connected socket is root, who runs the daemon, or one of `others`.
bool is_peer_allowed(int socket, const std::vector<uid_t>& others);

}  // namespace digd::daemon
