#include "base/entropy.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace digd::testing {

TEST_CASE("random_bytes_fill_the_whole_span", "[base]") {
  std::vector<unsigned char> bytes(1'000);
  REQUIRE(random_bytes(bytes));
  // Sixteen zeros in a row: once in 2^118 calls.
  CHECK(std::search_n(bytes.begin(), bytes.end(), 16, 0) == bytes.end());
  std::vector<unsigned char> more(1'000);
  REQUIRE(random_bytes(more));
  CHECK(bytes != more);
}

TEST_CASE("random_hex_has_as_many_digits_as_asked_for", "[base]") {
  for (const std::size_t digits : {0u, 1u, 15u, 16u, 33u}) {
    const std::string text = random_hex(digits);
    CHECK(text.size() == digits);
    CHECK(text.find_first_not_of("0123456789abcdef") == std::string::npos);
  }
  CHECK(random_hex(32) != random_hex(32));
}

TEST_CASE("random_seeds_use_all_bits", "[base]") {
  std::uint64_t ever = 0, always = ~std::uint64_t{0};
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t seed = random_seed();
    ever |= seed;
    always &= seed;
  }
  CHECK(ever == ~std::uint64_t{0});
  CHECK(always == 0);
}

}  // namespace digd::testing
