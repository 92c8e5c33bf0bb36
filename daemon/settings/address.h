// Where the daemon listens: "127.0.0.1:7344", "[::1]:7344", "localhost:7344" or "unix:/path". Names are not looked up.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace digd::daemon {

struct tcp_address {
  boost::asio::ip::address ip;
  std::uint16_t port = 0;  // 0: any free port
};

struct unix_address {
  std::string path;
};

using listen_address = std::variant<tcp_address, unix_address>;

// On failure `problem` gets a sentence for people.
bool parse_address(std::string_view text, listen_address& out, std::string& problem);
std::string to_string(const listen_address& where);  // as in the configuration

// The address of a listening socket. Throws std::runtime_error, with a sentence for people, if it is not such a socket.
listen_address name_of(int socket);

// Whether only this machine can reach it.
bool is_local(const listen_address& where);

}  // namespace digd::daemon
