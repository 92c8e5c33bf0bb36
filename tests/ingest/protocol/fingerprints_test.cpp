// Digests of payloads and fingerprints.
#include "ingest/protocol/fingerprints.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

namespace digd::ingest {
namespace {

// A JSON object whose members are `length` characters of text and a number, with `space` between its tokens.
std::string object_of(std::size_t length, std::string_view space) {
  std::string out;
  const std::string text = '"' + std::string(length, 'x') + '"';
  for (const std::string_view token : {"{", "\"text\"", ":", text.c_str(), ",", "\"n\"", ":", "17", "}"}) {
    out += token;
    out += space;
  }
  return out;
}

}  // namespace

TEST_CASE("whitespace_outside_strings_does_not_change_a_digest") {
  for (std::size_t length = 0; length < 40; ++length) {
    INFO(length);
    const std::uint64_t compact = digest_of_payload(object_of(length, ""));
    CHECK(digest_of_payload(object_of(length, " ")) == compact);
    CHECK(digest_of_payload(object_of(length, "\r\n\t ")) == compact);
  }
}

TEST_CASE("different_payloads_have_different_digests") {
  std::set<std::uint64_t> digests;
  for (std::size_t length = 0; length < 40; ++length) digests.insert(digest_of_payload(object_of(length, "")));
  for (const char* text : {R"("a b")", R"("ab")", R"("a  b")", R"("a\"b")", R"("a\\")", "1", "10", "true", "null", "[]",
                           "{}", "[1,2]", "[2,1]", "[12]", R"({"a":{"b":1}})", R"({"a":1,"b":1})", R"("")"})
    digests.insert(digest_of_payload(text));
  CHECK(digests.size() == 40 + 17);
}

TEST_CASE("a_digest_ends_with_the_value") {
  for (const char* value : {"7", "true", R"("a\"},b")", R"("\\")", "[[1],{}]", R"({"a":"}"})"}) {
    INFO(value);
    const std::uint64_t alone = digest_of_payload(value);
    CHECK(digest_of_payload(std::string(value) + R"(,"kind":"work"}})") == alone);
    CHECK(digest_of_payload(std::string(value) + "}") == alone);
  }
}

TEST_CASE("archived_digests_keep_their_value") {
  CHECK(view_of(text_of_digest(0x0123456789abcdef)) == "payload:0123456789abcdef");
  CHECK(view_of(text_of_digest(digest_of_payload(R"({"n": 1})"))) == "payload:9e09cf444e51953d");
  CHECK(view_of(text_of_digest(digest_of_payload(R"("a text of more than eight bytes")"))) ==
        "payload:c392a3574c8ccd55");
}

}  // namespace digd::ingest
