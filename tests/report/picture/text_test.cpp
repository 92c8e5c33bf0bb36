#include "report/picture/text.h"

#include <catch2/catch.hpp>

#include "report/picture/canvas.h"
#include "report/picture/xml.h"

namespace digd::picture {

TEST_CASE("a_wide_character_takes_two_columns_and_a_combining_one_none") {
  CHECK(width_of("abc") == 3);
  CHECK(width_of("名前") == 4);
  CHECK(width_of("e\u0301") == 1);
  CHECK(width_of("\x1b[1;31mred\x1b[0m") == 3);
}

TEST_CASE("a_text_is_cut_between_characters") {
  CHECK(fit("abcdef", 4) == "abc…");
  CHECK(fit("名前名前", 4) == "名…");
  CHECK(fit("abc", 3) == "abc");
  CHECK(fit("abc", 0).empty());
  CHECK(width_of(padded("名", 5)) == 5);
}

TEST_CASE("long_lines_wrap_at_spaces_and_long_words_are_broken") {
  CHECK(wrapped("one two three", 8) == std::vector<std::string>{"one two", "three"});
  CHECK(wrapped("abcdefghij", 4) == std::vector<std::string>{"abcd", "efgh", "ij"});
  CHECK(wrapped("", 4) == std::vector<std::string>{""});
  CHECK(wrapped("名前", 1) == std::vector<std::string>{"名", "前"});
}

TEST_CASE("a_name_cannot_leave_xml") {
  CHECK(xml("<a b=\"c\" d='e'>&amp;") == "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;amp;");
  CHECK(xml("a\\u0041\\n") == "a\\u0041\\n");  // not ours: the agent wrote backslashes
}

TEST_CASE("what_xml_cannot_hold_or_what_reorders_text_is_replaced") {
  const std::string replaced = "\xEF\xBF\xBD";
  CHECK(xml(std::string("\0", 1)) == replaced);
  CHECK(xml("\x07") == replaced);
  CHECK(xml("\x1b") == replaced);
  CHECK(xml("\u202e") == replaced);
  CHECK(xml("\u0085") == replaced);
  CHECK(xml("\xEF\xBF\xBE") == replaced);
  CHECK(xml("\xff") == replaced);
  CHECK(xml("a\tb\nc") == "a b c");
  CHECK(xml("名é\U0001F600") == "名é\U0001F600");
}

TEST_CASE("drawing_over_half_of_a_wide_character_leaves_none_of_it") {
  canvas_line line(6);
  line.text(0, "名前", style::plain, 6);
  line.put(1, "|", style::plain);
  CHECK(line.str(false) == " |前");
  line.put(2, "|", style::plain);
  CHECK(line.str(false) == " ||");
}

TEST_CASE("colour_is_only_there_if_asked_for") {
  canvas_line line(6);
  line.text(0, "ab", style::bad, 6);
  CHECK(line.str(false) == "ab");
  CHECK(line.str(true) == "\x1b[1;31mab\x1b[0m");
}

}  // namespace digd::picture
