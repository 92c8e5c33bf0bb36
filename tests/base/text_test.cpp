#include "base/text.h"

#include <catch2/catch.hpp>
#include <string>

#include "base/enum_name.h"
#include "base/fnv_hash.h"

namespace digd::testing {

TEST_CASE("a_text_is_trimmed_at_both_ends", "[base]") {
  CHECK(trimmed(" \t a b\r\n") == "a b");
  CHECK(trimmed(" \n").empty());
  CHECK(trimmed("").empty());
}

TEST_CASE("a_prefix_ends_between_two_characters", "[base]") {
  const std::string text = "aé€😀";  // 1, 2, 3 and 4 bytes
  const std::size_t ends[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
  for (std::size_t max_bytes = 0; max_bytes < std::size(ends); ++max_bytes) {
    CHECK(utf8_prefix(text, max_bytes) == text.substr(0, ends[max_bytes]));
  }
  CHECK(utf8_prefix("\x80\x80\x80", 2).empty());
}

TEST_CASE("a_part_of_a_url_has_only_unreserved_characters", "[base]") {
  CHECK(percent_encoded("aZ09-._~") == "aZ09-._~");
  CHECK(percent_encoded("a b/é%") == "a%20b%2F%C3%A9%25");
}

TEST_CASE("the_fingerprint_of_a_text_is_that_of_fnv_1a", "[base]") {
  CHECK(fnv_digits("") == "cbf29ce484222325");
  CHECK(fnv_digits("a") == "af63dc4c8601ec8c");
  CHECK(fnv_digits("foobar") == "85944171f73967e8");
}

TEST_CASE("an_enumerator_is_found_by_its_name", "[base]") {
  enum class fruit { apple, pear };
  constexpr std::string_view names[] = {"apple", "pear"};
  CHECK(enum_from_name<fruit>("pear", names) == fruit::pear);
  CHECK_FALSE(enum_from_name<fruit>("plum", names));
}

}  // namespace digd::testing
