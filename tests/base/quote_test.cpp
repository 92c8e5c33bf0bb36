#include "base/quote.h"

#include <boost/json/parse.hpp>
#include <catch2/catch.hpp>
#include <string>

namespace digd::testing {

TEST_CASE("characters_that_show_nothing_are_escaped", "[base]") {
  CHECK(quoted("a\u061cb") == R"("a\u061cb")");
  CHECK(quoted("a\u200bb") == R"("a\u200bb")");
  CHECK(quoted("a\u2060b") == R"("a\u2060b")");
  CHECK(quoted("a\ufeffb") == R"("a\ufeffb")");
  CHECK(quoted("a\u00adb") == R"("a\u00adb")");
  CHECK(quoted("a\U000E0041b") == R"("a\udb40\udc41b")");  // a tag: text that only machines read
  CHECK(quoted("a\U000E0100b") == "\"a\U000E0100b\"");     // a variation selector: part of the character before
}

TEST_CASE("escaped_characters_are_json_of_the_same_text", "[base]") {
  for (const std::string text : {"a\u061cb", "\u200b\ufeff", "\U000E0041\U000E007F", "\U000E0FFF", "\u3164"}) {
    CHECK(boost::json::parse(quoted(text)).as_string() == text);
  }
}

TEST_CASE("joiners_of_scripts_and_emoji_stay", "[base]") {
  const std::string family = "\U0001F468\u200D\U0001F469\u200D\U0001F467", persian = "\u0645\u06CC\u200C\u062E\u0648";
  CHECK(quoted(family) == '"' + family + '"');
  CHECK(quoted(persian) == '"' + persian + '"');
}

}  // namespace digd::testing
