// The address of a daemon, as its clients write it.
//
// Plain values and pure functions. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace digd::net {

// Describes the program that connects: its user agent, and the options that error messages suggest to its user.
struct client_program {
  std::string user_agent = "digctl";
  std::string address_option = "--to";
  std::string token_option = "--token-file or DIGD_TOKEN";
  std::string authority_option = "--ca FILE";
};

// Where a daemon listens: HOST:PORT, ws://HOST:PORT, wss://HOST:PORT (with TLS) or unix:/PATH.
struct server_address {
  bool local = false;
  bool tls = false;
  std::string host;  // without the brackets of IPv6
  std::string port = "7344";
  std::string path;       // of the Unix socket
  std::string authority;  // with TLS: the PEM file of the authority; empty: the system's
  client_program program;

  std::string shown() const;  // host and port, or the socket; safe to print
};

// nullopt if the text has none of these four forms; `problem` then names the text and the forms.
std::optional<server_address> parse_address(std::string_view text, std::string& problem);

// Shortens and escapes text that the other side or the user wrote, for an error message.
std::string harmless(std::string_view text);

}  // namespace digd::net
