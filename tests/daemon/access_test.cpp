// Tokens, their pace, and what of a payload is kept.
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <catch2/catch.hpp>

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
  const grant& it = *table.find("one");
  CHECK((it.may(right::read) && it.may(right::ingest) && it.may(right::none)));
  CHECK_FALSE((it.may(right::watch) || it.may(right::operate)));
  CHECK((it.covers("a-1") && it.covers("b") && !it.covers("a") && !it.covers("c-a-")));
  CHECK_FALSE(it.covers_all_runs());
  CHECK(table.find("two")->covers_all_runs());
}

TEST_CASE("a_hash_may_be_in_capitals") {
  std::string loud = one_hash;
  for (char& c : loud) c = static_cast<char>(std::toupper(c));
  CHECK(table_of(entry("one", loud)).find("one") != nullptr);
}

TEST_CASE("a_reload_keeps_what_is_alike_and_revokes_the_rest") {
  token_table before = table_of(entry("one", one_hash) + entry("two", two_hash));
  const grant_ptr grant_ptr = before.find("one"), two = before.find("two");
  token_table after = table_of(entry("one", one_hash) + entry("two", two_hash, "rights = [\"watch\"]"));
  after.succeed(before);
  CHECK(after.find("one") == grant_ptr);
  CHECK_FALSE(grant_ptr->is_revoked());
  CHECK(after.find("two") != two);
  CHECK(two->is_revoked());
  CHECK_FALSE(after.find("two")->is_revoked());
}

TEST_CASE("a_pace_lets_a_second_pass_at_once_and_is_even_after_that") {
  message_rate ten(10);
  const time_point start{std::chrono::hours(1)};
  for (int i = 0; i < 10; ++i) CHECK(ten.take(start).count() == 0);
  CHECK(ten.take(start) == milliseconds(100));
  CHECK(ten.take(start) == milliseconds(200));
  CHECK(ten.take(start + milliseconds(250)) == milliseconds(50));
  CHECK(ten.take(start + std::chrono::hours(1)).count() == 0);  // and saves up no more than a second
  for (int i = 0; i < 9; ++i) CHECK(ten.take(start + std::chrono::hours(1)).count() == 0);
  CHECK(ten.take(start + std::chrono::hours(1)).count() > 0);
  message_rate none(0);
  for (int i = 0; i < 1000; ++i) CHECK(none.take(start).count() == 0);
}

TEST_CASE("what_cannot_be_read_as_text_is_blotted_out") {
  const payload_policy policy({.keep = payload_keeping::full, .redact = {"key", "\\d{4}"}});
  CHECK(policy.stored(R"({"payload":"a \u006bey 1234 5"})") == R"({"payload":"a [redacted] [redacted] 5"})");
  CHECK(policy.stored(R"({"payload":"\ud800"})") == R"({"payload":"[redacted]"})");
  CHECK(policy.stored(R"({"payload":{"key":[1234]},"id":"key"})") == R"({"payload":{"[redacted]":[1234]},"id":"key"})");
  CHECK(policy.stored(R"({"payload":"\u202e \"fine\" "})") == R"({"payload":"\u202e \"fine\" "})");
}

TEST_CASE("a_digest_is_taken_after_blotting_out") {
  const payload_policy policy({.keep = payload_keeping::digest, .redact = {"[0-9]+"}});
  CHECK(policy.stored(R"({"payload":"1"})") == policy.stored(R"({"payload":"22"})"));
  const payload_policy plain({.keep = payload_keeping::digest, .redact = {}});
  CHECK(plain.stored(R"({"payload":"1"})") != plain.stored(R"({"payload":"22"})"));
  CHECK(plain.stored(R"({"payload":one})") == "{\"payload\":{\"sha256\":\"" + one_hash + "\",\"bytes\":3}}");
}

}  // namespace
}  // namespace digd::daemon
