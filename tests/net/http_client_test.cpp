// The parts of the HTTP client that need no network: Retry-After, and the environment's proxy.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <optional>
#include <string>

#include "net/http_exchange.h"
#include "net/http_proxy.h"
#include "net/http_url.h"

namespace {

using namespace digd::net;

constexpr const char* variables[] = {"https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY",
                                     "all_proxy",   "ALL_PROXY",   "no_proxy",   "NO_PROXY"};

struct environment {
  environment() { clear(); }
  ~environment() { clear(); }
  static void clear() {
    for (const char* name : variables) unsetenv(name);
  }
};

// The proxy for a URL as "HOST:PORT authorization"; "none"; or the reason why it cannot be used.
std::string proxy_of(const std::string& text) {
  http_url url;
  REQUIRE(parse_http_url(text, url).empty());
  std::optional<http_proxy> proxy;
  if (std::string problem = proxy_for(url, proxy); !problem.empty()) return problem;
  if (!proxy) return "none";
  return proxy->where.host + ":" + std::to_string(proxy->where.port) + " " + proxy->authorization;
}

TEST_CASE("retry_after_is_seconds_or_a_date") {
  CHECK(retry_after_seconds("7", 0) == 7);
  CHECK(retry_after_seconds("Thu, 01 Jan 1970 00:01:40 GMT", 40) == 60);
  CHECK(retry_after_seconds("Thu, 01 Jan 1970 00:01:40 GMT", 400) == 0);
  for (const char* wrong : {"", "soon", "-1", "7 s", "99999999999", "Thu, 01 Jan 1970 00:01:40 GMT or later"})
    CHECK_FALSE(retry_after_seconds(wrong, 0));
}

TEST_CASE("a_host_name_that_begins_with_an_address_is_a_name") {
  http_url url;
  REQUIRE(parse_http_url("http://127.0.0.1.example:81/v1?x=1", url).empty());
  CHECK(url.host == "127.0.0.1.example");
  CHECK(url.port == 81);
  CHECK(url.host_header == "127.0.0.1.example:81");
  CHECK(url.target == "/v1?x=1");
  CHECK_FALSE(url.is_address);
  CHECK_FALSE(url.is_loopback());
  CHECK_FALSE(parse_http_url("http:127.0.0.1.example/", url).empty());
  CHECK_FALSE(parse_http_url("http://ann@127.0.0.1.example/", url).empty());
}

TEST_CASE("a_proxy_is_taken_from_the_variable_of_the_scheme") {
  const environment clean;
  CHECK(proxy_of("https://llm.example/v1") == "none");
  setenv("https_proxy", "http://proxy.example:3128", 1);
  setenv("HTTP_PROXY", "http://never.example:1", 1);
  CHECK(proxy_of("https://llm.example/v1") == "proxy.example:3128 ");
  CHECK(proxy_of("http://llm.example/v1") == "none");
  setenv("all_proxy", "other.example:8080", 1);
  CHECK(proxy_of("http://llm.example/v1") == "other.example:8080 ");
  CHECK(proxy_of("https://llm.example/v1") == "proxy.example:3128 ");
}

TEST_CASE("a_proxys_user_is_sent_decoded") {
  const environment clean;
  setenv("HTTPS_PROXY", "http://anna:p%40ss@proxy.example:3128/", 1);
  CHECK(proxy_of("https://llm.example/v1") == "proxy.example:3128 Basic YW5uYTpwQHNz");  // anna:p@ss
}

TEST_CASE("no_proxy_excepts_hosts_and_their_subdomains") {
  const environment clean;
  setenv("https_proxy", "http://proxy.example:3128", 1);
  setenv("no_proxy", "localhost, .corp.example,10.0.0.1", 1);
  CHECK(proxy_of("https://localhost/v1") == "none");
  CHECK(proxy_of("https://llm.corp.example/v1") == "none");
  CHECK(proxy_of("https://corp.example/v1") == "none");
  CHECK(proxy_of("https://10.0.0.1/v1") == "none");
  CHECK(proxy_of("https://notcorp.example/v1") == "proxy.example:3128 ");
  setenv("no_proxy", "*", 1);
  CHECK(proxy_of("https://llm.example/v1") == "none");
}

TEST_CASE("an_unusable_proxy_is_refused_with_its_variable") {
  const environment clean;
  for (const char* wrong : {"socks5://proxy.example:1080", "https://proxy.example:443", "http://", "http://a b:1"}) {
    setenv("https_proxy", wrong, 1);
    CHECK(proxy_of("https://llm.example/v1") ==
          "the environment's https_proxy names no proxy of the form http://HOST:PORT");
  }
}

}  // namespace
