#include "base/shown_url.h"

#include <catch2/catch.hpp>
#include <string_view>
#include <vector>

namespace digd::testing {

namespace {

struct shown_example {
  std::string_view url, shown;
};

void check(const std::vector<shown_example>& examples) {
  for (const auto& [url, shown] : examples) CHECK(shown_url(url) == shown);
}

}  // namespace

TEST_CASE("a_shown_url_has_neither_a_user_nor_a_password", "[base]") {
  check({{"nats://127.0.0.1:4222", "nats://127.0.0.1:4222"},
         {"nats://ann:pw@nats.example:4222", "nats://…@nats.example:4222"},
         {"nats://token@h", "nats://…@h"},
         {"tls://ann:p@s/w?d#x@h:1", "tls://…@h:1"},
         {"nats://a:b@one,nats://c:d@two", "nats://…@two"},
         {"ann:pw@nats.example:4222", "…@nats.example:4222"},
         {"s3://key:secret@bucket/path", "s3://…@bucket/path"}});
}

TEST_CASE("a_shown_url_has_no_query_and_of_http_no_path", "[base]") {
  check({{"s3://bucket/path?secret=x", "s3://bucket/path?…"},
         {"https://hooks.example:8443/T0/secret?key=x", "https://hooks.example:8443/…"},
         {"HTTPS://hooks.example?key=x", "HTTPS://hooks.example/…"},
         {"http://ann:pw@h:4318/v1/traces", "http://…@h:4318/…"},
         {"http://ann:p/w@h:4318/v1/traces", "http://…"}});
}

TEST_CASE("a_path_or_a_text_without_a_user_is_shown_unchanged", "[base]") {
  check(
      {{"", ""}, {"/var/lib/fleet@2/x?y", "/var/lib/fleet@2/x?y"}, {"./a@b", "./a@b"}, {"nats", "nats"}, {"@", "…@"}});
}

}  // namespace digd::testing
