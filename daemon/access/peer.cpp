#include "daemon/access/peer.h"

#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "base/quote.h"

namespace digd::daemon {

namespace {

uid_t user_named(const std::string& name) {
  uid_t number = 0;
  const auto [end, ec] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (ec == std::errc() && end == name.data() + name.size()) return number;
  char buffer[16 * 1024];
  passwd entry{};
  passwd* found = nullptr;
  ::getpwnam_r(name.c_str(), &entry, buffer, sizeof buffer, &found);
  if (found == nullptr) throw std::runtime_error("unix_users: there is no user " + digd::quoted(name));
  return found->pw_uid;
}

}  // namespace

std::vector<uid_t> users_named(const std::vector<std::string>& names) {
  std::vector<uid_t> ids;
  ids.reserve(names.size());
  for (const std::string& name : names) ids.push_back(user_named(name));
  return ids;
}

bool is_peer_allowed(int socket, const std::vector<uid_t>& others) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == 0 || peer.uid == ::geteuid() || std::find(others.begin(), others.end(), peer.uid) != others.end();
}

}  // namespace digd::daemon
