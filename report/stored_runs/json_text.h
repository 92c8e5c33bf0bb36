// Members of a JSON object, written at its end: the comma is put where one is needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace digd::stored {

// `name` is the code's own and needs no escape; a text is escaped.
void append_member(std::string& out, std::string_view name);  // and its colon; the value follows
void append_number(std::string& out, std::string_view name, std::int64_t value);
void append_number_or_null(std::string& out, std::string_view name, const std::optional<std::int64_t>& value);
void append_text(std::string& out, std::string_view name, std::string_view value);
void append_text_or_null(std::string& out, std::string_view name, std::string_view value);  // null if it is empty
void append_bool(std::string& out, std::string_view name, bool value);

// The member `next` of a page: the cursor to go on from as a string, or null at the end.
void append_next(std::string& out, bool more, std::uint64_t last);

}  // namespace digd::stored
