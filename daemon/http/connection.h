// The connections whose sockets belong to one event loop, of any protocol.
//
// Thread: the loop's. Bounds: those of the listeners, which limit the connections.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <vector>

namespace digd::daemon {

class connection {
 public:
  virtual ~connection() = default;
  // The daemon stops. A WebSocket sends what waits and closes with a reason; an HTTP connection is closed at once.
  virtual void shut_down() = 0;
  // The time for an orderly close is over: close the socket.
  virtual void abort() = 0;
};

// It does not own the connections; each removes itself when it ends.
class connection_set {
 public:
  // While the daemon stops, a new connection is shut down at once.
  void add(const std::shared_ptr<connection>& connection) {
    connections_[connection.get()] = connection;
    if (stopping_) connection->shut_down();
  }
  void remove(connection* connection) { connections_.erase(connection); }

  bool is_stopping() const { return stopping_; }
  void shut_down() {
    stopping_ = true;
    for_each([](connection& connection) { connection.shut_down(); });
  }
  void abort() {
    for_each([](connection& connection) { connection.abort(); });
  }

 private:
  // A connection may remove itself from the set while it is called.
  template <class Call>
  void for_each(Call call) {
    std::vector<std::weak_ptr<connection>> connections;
    for (const auto& [key, weak] : connections_) connections.push_back(weak);
    for (const auto& weak : connections) {
      if (const auto connection = weak.lock()) call(*connection);
    }
  }

  boost::unordered_flat_map<connection*, std::weak_ptr<connection>> connections_;
  bool stopping_ = false;
};

}  // namespace digd::daemon
