// Tokens, their rate, and the payload policy.
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <catch2/catch.hpp>

#include "daemon/access/even_rate.h"
#include "daemon/access/payload_policy.h"
#include "daemon/access/tokens.h"

namespace digd::daemon {
namespace {

using std::chrono::milliseconds;
using time_point = std::chrono::steady_clock::time_point;

// SHA-256 of "one" and of "two".
const std::string one_hash = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed";
const std::string two_hash = "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3";

std::string entry(const std::string& name, const std::string& hash, const std::string& more = "rights = [\"read\"]") {
  return "[[token]]\nname = \"" + name + "\"\nsha256 = \"" + hash + "\"\n" + more + "\n";
}

token_table table_of(const std::string& text) {
  token_table made;
  REQUIRE(token_table::parse(text, "tokens.toml", made) == "");
  return made;
}

TEST_CASE("a_token_is_found_by_its_hash") {
  const token_table table = table_of(entry("one", one_hash, "rights = [\"read\", \"ingest\"]\nruns = [\"a-\", \"b\"]") +
                                     entry("two", two_hash));
  REQUIRE(table.find("one") != nullptr);
  CHECK(table.find("one")->name() == "one");
  CHECK(table.find("two")->name() == "two");
  CHECK(table.find("One") == nullptr);
  CHECK(table.find("") == nullptr);
  CHECK(table.find(one_hash) == nullptr);
  const grant& found = *table.find("one");
  CHECK((found.may(right::read) && found.may(right::ingest) && found.may(right::none)));
  CHECK_FALSE((found.may(right::watch) || found.may(right::operate)));
  CHECK((found.covers("a-1") && found.covers("b") && !found.covers("a") && !found.covers("c-a-")));
  CHECK_FALSE(found.covers_all_runs());
  CHECK(table.find("two")->covers_all_runs());
}

TEST_CASE("a_hash_may_be_in_upper_case") {
  std::string upper = one_hash;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  CHECK(table_of(entry("one", upper)).find("one") != nullptr);
}

TEST_CASE("a_reload_keeps_unchanged_grants_and_revokes_the_others") {
  token_table before = table_of(entry("one", one_hash) + entry("two", two_hash));
  const grant_ptr kept = before.find("one"), changed = before.find("two");
  token_table after = table_of(entry("one", one_hash) + entry("two", two_hash, "rights = [\"watch\"]"));
  after.succeed(before);
  CHECK(after.find("one") == kept);
  CHECK_FALSE(kept->is_revoked());
  CHECK(after.find("two") != changed);
  CHECK(changed->is_revoked());
  CHECK_FALSE(after.find("two")->is_revoked());
}

TEST_CASE("the_bytes_of_a_token_in_the_archive_are_limited_if_it_has_a_limit") {
  const std::string rights = "rights = [\"ingest\"]\n";
  const token_table table =
      table_of(entry("one", one_hash, rights + "max_bytes = 1_000_000_000_000") + entry("two", two_hash, rights));
  CHECK(table.find("one")->max_bytes() == 1'000'000'000'000);
  CHECK(table.find("two")->max_bytes() == 0);
  CHECK(table.byte_limits_of_tokens() == byte_limits{{"one", 1'000'000'000'000}});
  for (const char* wrong : {"999", "-1", "1e6", "\"1 GB\"", "1_000_000_000_000_001"}) {
    token_table made;
    const std::string problem =
        token_table::parse(entry("one", one_hash, rights + "max_bytes = " + wrong), "tokens.toml", made);
    CHECK(problem.find("max_bytes: expected a whole number from 1000 to 1000000000000000") != std::string::npos);
  }
}

TEST_CASE("a_reload_with_another_limit_on_bytes_revokes_the_grant") {
  const std::string rights = "rights = [\"ingest\"]\n";
  token_table before = table_of(entry("one", one_hash, rights + "max_bytes = 1000"));
  const grant_ptr changed = before.find("one");
  token_table after = table_of(entry("one", one_hash, rights + "max_bytes = 2000"));
  after.succeed(before);
  CHECK(changed->is_revoked());
  CHECK(after.byte_limits_of_tokens() == byte_limits{{"one", 2'000}});
}

TEST_CASE("a_rate_allows_a_burst_of_one_second") {
  even_rate ten(10);
  const time_point start{std::chrono::hours(1)};
  for (int i = 0; i < 10; ++i) CHECK(ten.take(start).count() == 0);
  CHECK(ten.take(start) == milliseconds(100));
  CHECK(ten.take(start) == milliseconds(200));
  CHECK(ten.take(start + milliseconds(250)) == milliseconds(50));
  CHECK(ten.take(start + std::chrono::hours(1)).count() == 0);  // saves up one second at most
  for (int i = 0; i < 9; ++i) CHECK(ten.take(start + std::chrono::hours(1)).count() == 0);
  CHECK(ten.take(start + std::chrono::hours(1)).count() > 0);
  even_rate none(0);
  for (int i = 0; i < 1000; ++i) CHECK(none.take(start).count() == 0);
}

TEST_CASE("a_string_that_cannot_be_decoded_is_redacted") {
  const payload_policy policy({.keep = payload_keeping::full, .redact = {"key", "\\d{4}"}});
  CHECK(policy.stored(R"({"payload":"a \u006bey 1234 5"})") == R"({"payload":"a [redacted] [redacted] 5"})");
  CHECK(policy.stored(R"({"payload":"\ud800"})") == R"({"payload":"[redacted]"})");
  CHECK(policy.stored(R"({"payload":{"key":[1234]},"id":"key"})") == R"({"payload":{"[redacted]":[1234]},"id":"key"})");
  CHECK(policy.stored(R"({"payload":"\u202e \"fine\" "})") == R"({"payload":"\u202e \"fine\" "})");
}

TEST_CASE("a_digest_is_computed_after_redaction") {
  const payload_policy policy({.keep = payload_keeping::digest, .redact = {"[0-9]+"}});
  CHECK(policy.stored(R"({"payload":"1"})") == policy.stored(R"({"payload":"22"})"));
  const payload_policy plain({.keep = payload_keeping::digest, .redact = {}});
  CHECK(plain.stored(R"({"payload":"1"})") != plain.stored(R"({"payload":"22"})"));
  CHECK(plain.stored(R"({"payload":one})") == "{\"payload\":{\"sha256\":\"" + one_hash + "\",\"bytes\":3}}");
}

}  // namespace
}  // namespace digd::daemon
