// How a report writes names, numbers and rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/answer.h"
#include "model/rule_id.h"

namespace digd::report {

// A name in a picture or a sentence: escaped as in base/quote.h, cut to `max_width` columns.
std::string short_name(const std::string& name, std::size_t max_width = 40);
// "1,622".
std::string grouped(std::uint64_t n);
// "1 event", "3 events".
std::string counted(std::uint64_t n, const char* text, const char* many);
// "orphaned event".
std::string rule_words(rule_id rule);
// "a deadlock", "3 × deadlock".
std::string counted_rule(std::uint64_t n, rule_id rule);
// Why a detection was not healed: a clause.
std::string_view cause_words(cause);
// What an agent said, in one line between quotation marks: as `short_name`, but its own quotes stay as they are.
std::string quotable(const std::string& text, std::size_t max_width);
// Without the backslashes that `picture::safe` puts before quotes and backslashes.
std::string without_escapes(std::string_view safe);
// "a, b and c"
std::string listed(const std::vector<std::string>& names);
// With a capital first letter.
std::string capitalized(std::string text);

// The command of digctl that a text has at `at` between backticks, without them; empty: none. Writers show it as code.
std::string_view command_at(std::string_view text, std::size_t at);

}  // namespace digd::report
