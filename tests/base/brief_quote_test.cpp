#include "base/quote.h"

#include <catch2/catch.hpp>
#include <string>

namespace digd::testing {

TEST_CASE("a_brief_name_takes_at_most_its_bytes_in_a_sentence_as_json", "[base]") {
  for (const std::string unit : {"x", "\"", "\\", "\x01", "\n", "\x7f", "\u202e", "é", "😀", "\xff"}) {
    std::string name;
    while (name.size() < 256) {
      name += unit;
      const std::string brief = quoted_briefly(name);
      CHECK(quoted_size(brief) - 2 <= max_brief_bytes);
      if (quoted_size(digd::quoted(name)) - 2 <= max_brief_bytes) {
        CHECK(brief == digd::quoted(name));
      } else {
        CHECK(brief.ends_with("…\""));
        CHECK(digd::quoted(name).starts_with(brief.substr(0, brief.size() - std::string("…\"").size())));
      }
    }
  }
  CHECK(quoted_briefly("e1") == "\"e1\"");
}

TEST_CASE("a_text_is_cut_between_characters_to_fit_its_quotes", "[base]") {
  CHECK(cut_to_quote("plain", 5) == "plain");
  CHECK(cut_to_quote("plainer", 6) == "pla…");
  CHECK(cut_to_quote("é\"é\"é", 8) == "é\"…");
  CHECK(cut_to_quote("éééé", 7) == "éé…");
}

TEST_CASE("the_size_of_a_quoted_name_is_that_of_its_text", "[base]") {
  for (const std::string name : {"", "x", "a b", "\"", "\x1f", "\x7f", "\u2028", "é", "\xff"}) {
    CHECK(quoted_size(name) == digd::quoted(name).size());
  }
}

}  // namespace digd::testing
