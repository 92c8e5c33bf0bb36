#include "daemon/access/peers.h"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>

namespace digd::daemon {

namespace {

namespace ip = boost::asio::ip;

std::string name_of(const ip::address_v6& address) {
  if (address.is_loopback()) return address.to_string();
  auto bytes = address.to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), static_cast<unsigned char>(0));
  return ip::address_v6(bytes).to_string() + "/64";
}

}  // namespace

std::uint64_t max_connections_of(const peer& from, std::uint64_t max, std::uint64_t max_per_peer) {
  if (max_per_peer != 0) return max_per_peer;
  return from.is_local ? max : std::max<std::uint64_t>(max / 2, 1);
}

peer_ptr peers::find(const ip::address& address) {
  if (address.is_v6() && !address.to_v6().is_v4_mapped())
    return find(name_of(address.to_v6()), address.is_loopback(), false);
  const ip::address_v4 four = address.is_v4() ? address.to_v4() : make_address_v4(ip::v4_mapped, address.to_v6());
  return find(four.to_string(), four.is_loopback(), false);
}

peer_ptr peers::find(int unix_socket) {
  ucred user{};
  socklen_t size = sizeof user;
  const bool is_known = ::getsockopt(unix_socket, SOL_SOCKET, SO_PEERCRED, &user, &size) == 0;
  return find(is_known ? "uid " + std::to_string(user.uid) : "unix", true, true);
}

peer_ptr peers::find(std::string name, bool is_local, bool is_user) {
  const std::lock_guard lock(guard_);
  if (const auto known = by_name_.find(name); known != by_name_.end()) return known->second;
  if (by_name_.size() >= forget_at_) forget_idle();
  auto made = std::make_shared<peer>(name, is_local, is_user);
  by_name_.emplace(std::move(name), made);
  return made;
}

// The next call comes when the table has doubled, so a new peer costs a constant time on average.
void peers::forget_idle() {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(by_name_, [&](const auto& entry) {
    const peer_ptr& each = entry.second;
    return each.use_count() == 1 && !each->refusals.is_exceeded(now);
  });
  forget_at_ = std::max<std::size_t>(64, 2 * by_name_.size());
}

}  // namespace digd::daemon
