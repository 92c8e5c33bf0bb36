#include "base/shown_url.h"

#include <catch2/catch.hpp>

namespace digd::testing {

TEST_CASE("a_shown_url_has_neither_a_user_nor_a_password", "[base]") {
  CHECK(shown_url("nats://127.0.0.1:4222") == "nats://127.0.0.1:4222");
  CHECK(shown_url("nats://ann:pw@nats.example:4222") == "nats://…@nats.example:4222");
  CHECK(shown_url("nats://token@h") == "nats://…@h");
  CHECK(shown_url("tls://ann:p@s/w?d#x@h:1") == "tls://…@h:1");
  CHECK(shown_url("nats://a:b@one,nats://c:d@two") == "nats://…@two");
  CHECK(shown_url("ann:pw@nats.example:4222") == "…@nats.example:4222");
  CHECK(shown_url("s3://key:secret@bucket/path") == "s3://…@bucket/path");
}

TEST_CASE("a_shown_url_has_no_query_and_of_http_no_path", "[base]") {
  CHECK(shown_url("s3://bucket/path?secret=x") == "s3://bucket/path?…");
  CHECK(shown_url("https://hooks.example:8443/T0/secret?key=x") == "https://hooks.example:8443/…");
  CHECK(shown_url("HTTPS://hooks.example?key=x") == "HTTPS://hooks.example/…");
  CHECK(shown_url("http://ann:pw@h:4318/v1/traces") == "http://…@h:4318/…");
  CHECK(shown_url("http://ann:p/w@h:4318/v1/traces") == "http://…");
}

TEST_CASE("a_text_that_is_no_url_is_shown", "[base]") {
  CHECK(shown_url("").empty());
  CHECK(shown_url("/var/lib/fleet@2/x?y") == "/var/lib/fleet@2/x?y");
  CHECK(shown_url("./a@b") == "./a@b");
  CHECK(shown_url("nats") == "nats");
  CHECK(shown_url("@") == "…@");
}

}  // namespace digd::testing
