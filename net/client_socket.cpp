#include "net/client_socket.h"

#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "net/tls_pipe.h"

namespace digd::net {

namespace {

using boost::system::error_code;

// Puts TLS behind the socket; its user still reads and writes plain bytes.
std::string secure(asio::io_context& io, stream_socket& socket, const server_address& to,
                   client_clock::time_point until, std::shared_ptr<void> owner) {
  struct progress {
    bool ready = false, abandoned = false;
    error_code ec;
    int plain = -1;
  };
  const auto shaking = std::make_shared<progress>();
  error_code ec;
  const auto protocol = socket.local_endpoint(ec).protocol();
  tls_pipe::socket tcp(io.get_executor());
  tcp.assign(protocol.family() == AF_INET6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(), socket.release(ec), ec);
  if (ec) return to.shown() + ": " + ec.message();
  std::shared_ptr<tls_pipe> pipe;
  try {
    pipe = std::make_shared<tls_pipe>(std::move(tcp), client_context(to.authority), nullptr);
    pipe->connect(to.host, [owner = std::move(owner), shaking](error_code result, int plain) {
      if (shaking->abandoned && plain >= 0) ::close(plain);
      shaking->ec = result;
      shaking->plain = plain;
      shaking->ready = true;
    });
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  if (!run_until(io, shaking->ready, until)) {
    shaking->abandoned = true;  // a caller with a lasting `io` may run it again
    pipe->give_up();
    return to.shown() + " does not answer";
  }
  if (!shaking->ec) socket.assign(asio::generic::stream_protocol(AF_UNIX, 0), shaking->plain, shaking->ec);
  if (!shaking->ec) return {};
  return no_tls(to, shaking->ec);
}

}  // namespace

std::vector<generic_endpoint> look_up(const std::string& host, const std::string& port, error_code& ec) {
  asio::io_context unused;  // a resolver needs one, also for a blocking look-up
  std::vector<generic_endpoint> found;
  for (const auto& entry : asio::ip::tcp::resolver(unused).resolve(host, port, ec)) {
    found.emplace_back(entry.endpoint());
  }
  return found;
}

std::vector<generic_endpoint> look_up(const server_address& to, error_code& ec) {
  if (to.local) return {generic_endpoint(asio::local::stream_protocol::endpoint(to.path))};
  return look_up(to.host, to.port, ec);
}

std::string no_address(const server_address& to, const error_code& ec) {
  return "no address for " + harmless(to.host) + ": " + ec.message();
}

std::string no_connection(const server_address& to, const error_code& ec) {
  return "nobody listens on " + to.shown() + " (" + ec.message() +
         "); start the daemon with `digd`, or name its address with " + to.program.address_option;
}

std::string no_tls(const server_address& to, const error_code& ec) {
  return "no TLS with " + to.shown() + ": " + ec.message() +
         "; to trust a certificate that the system does not know, use " + to.program.authority_option;
}

std::string host_of(const server_address& to) { return to.local ? to.host : to.shown(); }

bool run_until(asio::io_context& io, const bool& ready, client_clock::time_point until) {
  while (!ready && client_clock::now() < until) {
    io.restart();
    io.run_one_until(until);
  }
  return ready;
}

std::string connect_to(asio::io_context& io, stream_socket& socket, const server_address& to,
                       client_clock::time_point until, std::shared_ptr<void> owner) {
  error_code ec;
  const std::vector<generic_endpoint> endpoints = look_up(to, ec);
  if (ec) return no_address(to, ec);
  struct progress {
    bool ready = false, abandoned = false;
    error_code ec;
  };
  for (const generic_endpoint& endpoint : endpoints) {
    const auto connecting = std::make_shared<progress>();
    error_code ignored;
    socket.close(ignored);
    socket.async_connect(endpoint, [owner, connecting](error_code result) {
      connecting->ec = result;
      connecting->ready = true;
    });
    if (!run_until(io, connecting->ready, until)) return to.shown() + " does not answer";
    ec = connecting->ec;
    if (!ec) break;
  }
  if (ec) return no_connection(to, ec);
  error_code ignored;
  if (!to.local) socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  return to.tls ? secure(io, socket, to, until, std::move(owner)) : std::string();
}

}  // namespace digd::net
