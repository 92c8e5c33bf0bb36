#include "daemon/http/request_check.h"

#include <catch2/catch.hpp>

namespace digd::daemon {
namespace {

trusted_names at(const char* address) {
  listen_address where;
  std::string problem;
  REQUIRE(parse_address(address, where, problem));
  return trusted_names(where, {"proxy.example:443"}, {"https://console.example"});
}

TEST_CASE("a_subprotocol_is_found_as_a_whole_token") {
  CHECK(names_token("digd.v1", "digd.v1"));
  CHECK(names_token("other, digd.v1 ,x", "digd.v1"));
  CHECK(!names_token("digd.v10", "digd.v1"));
  CHECK(!names_token("", "digd.v1"));
}

TEST_CASE("only_this_host_with_our_port_is_trusted") {
  const trusted_names trusted = at("127.0.0.1:7344");
  CHECK(trusted.is_trusted_host("127.0.0.1:7344", false));
  CHECK(trusted.is_trusted_host("LocalHost:7344", false));
  CHECK(trusted.is_trusted_host("[::1]:7344", false));
  CHECK(trusted.is_trusted_host("proxy.example:443", false));
  CHECK(!trusted.is_trusted_host("localhost", false));
  CHECK(!trusted.is_trusted_host("localhost:80", false));
  CHECK(!trusted.is_trusted_host("evil.example:7344", false));
  CHECK(!trusted.is_trusted_host("", false));
}

TEST_CASE("an_origin_must_be_this_host_too") {
  const trusted_names trusted = at("127.0.0.1:7344");
  CHECK(trusted.is_trusted_origin("http://localhost:7344", "localhost:7344", false));
  CHECK(trusted.is_trusted_origin("https://console.example", "localhost:7344", false));
  CHECK(!trusted.is_trusted_origin("http://evil.example", "localhost:7344", false));
  CHECK(!trusted.is_trusted_origin("null", "localhost:7344", false));
  CHECK(!trusted.is_trusted_origin("http://localhost:7344.evil.example", "localhost:7344", false));
}

TEST_CASE("a_unix_socket_takes_any_host_and_only_its_own_origin") {
  const trusted_names trusted = at("unix:/run/digd.sock");
  CHECK(trusted.is_trusted_host("anything", true));
  CHECK(trusted.is_trusted_origin("https://proxy", "proxy", true));
  CHECK(!trusted.is_trusted_origin("https://evil.example", "proxy", true));
}

TEST_CASE("a_unix_socket_makes_no_host_trusted_at_a_tcp_address") {
  trusted_names trusted = at("unix:/run/digd.sock");
  listen_address operators;
  std::string problem;
  REQUIRE(parse_address("127.0.0.1:7345", operators, problem));
  trusted.add(operators);
  CHECK(trusted.is_trusted_host("localhost:7345", false));
  CHECK(!trusted.is_trusted_host("evil.example:7345", false));
  CHECK(trusted.is_trusted_origin("http://localhost:7345", "localhost:7345", false));
  CHECK(!trusted.is_trusted_origin("http://evil.example:7345", "evil.example:7345", false));
}

}  // namespace
}  // namespace digd::daemon
