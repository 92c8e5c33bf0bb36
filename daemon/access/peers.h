// The peers that connections come from, and the number of connections that each has open.
//
// A peer is a user of a Unix socket, or an IP address: of an IPv6 address the first 64 bits, because one host may use
// all addresses that share them. Threads: any. Bounds: a peer without a connection is forgotten, unless it currently
// exceeds the limit of refused tokens. The peers to forget are removed when the table has 64 entries, or twice as many
// as it kept the last time. Failure: none.
#pragma once

#include <atomic>
#include <boost/asio/ip/address.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/ticket.h"
#include "daemon/access/memory_budget.h"
#include "daemon/access/peer.h"

namespace digd::daemon {

// While this ticket exists, its connection counts among all connections and among those of its peer, and its memory is
// charged.
class peer_ticket final : public counted_ticket {
 public:
  // `budget`: null for operators' connections, whose number is small. `fixed`: bytes of the connection's own buffers.
  peer_ticket(std::atomic<std::uint64_t>& open_connections, peer_ptr of, memory_budget* budget = nullptr,
              std::uint64_t fixed = 0)
      : counted_ticket(open_connections),
        of_(std::move(of)),
        own_(of_->open),
        memory_(budget == nullptr ? nullptr : std::make_shared<memory_charge>(*budget, of_, fixed)) {}

  const std::shared_ptr<memory_charge>& memory() const { return memory_; }  // null: it is not charged

 private:
  const peer_ptr of_;
  const counted_ticket own_;
  const std::shared_ptr<memory_charge> memory_;
};
using connection_ticket = std::shared_ptr<peer_ticket>;

// The connections that the peer may have open. `max`: the limit for all peers together. `max_per_peer`: as configured;
// 0 is the default.
std::uint64_t max_connections_of(const peer& from, std::uint64_t max, std::uint64_t max_per_peer);

class peers {
 public:
  peer_ptr find(const boost::asio::ip::address& address);
  peer_ptr find(int unix_socket);  // connected

 private:
  peer_ptr find(std::string name, bool is_local, bool is_user);
  void forget_idle();

  std::mutex guard_;
  std::unordered_map<std::string, peer_ptr> by_name_;
  std::size_t forget_at_ = 64;  // entries
};

}  // namespace digd::daemon
