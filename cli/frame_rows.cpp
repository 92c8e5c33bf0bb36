#include "cli/frame_rows.h"

#include <boost/json/serialize.hpp>
#include <iostream>
#include <string>

#include "base/deep_json.h"
#include "base/quote.h"
#include "cli/json_fields.h"
#include "cli/printable.h"

namespace digd::cli {

namespace json = boost::json;

namespace {

using tone = table::tone;

std::string names_of(const json::object& from, std::string_view key) {
  std::string names;
  const json::value* found = from.if_contains(key);
  if (!found || !found->is_array()) return "-";
  for (const json::value& name : found->get_array()) {
    const json::string* text = name.if_string();
    if (text) names += (names.empty() ? "" : " ") + digd::quoted({text->data(), text->size()});
  }
  return names.empty() ? "-" : names;
}

std::string number_of(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  return found && found->is_number() ? json::serialize(*found) : "-";
}

std::string quoted_or_dash(std::string_view text) { return text.empty() ? "-" : digd::quoted(text); }

std::string printable_or_dash(std::string_view text) { return text.empty() ? "-" : printable(text); }

table::row acted(std::string seq, const json::object& object) {
  const std::string_view action = text_in(object, "action");
  const tone action_tone = action == "deliver" ? tone::quiet : action == "inject" ? tone::warning : tone::bad;
  std::string_view event = text_in(object, "event");
  if (event.empty()) event = text_in(object, "id");
  return {{std::move(seq), tone::quiet},
          {quoted_or_dash(event)},
          {printable(action), action_tone},
          {names_of(object, "recipients")},
          {printable_or_dash(text_in(object, "inject")), action == "deliver" ? tone::quiet : tone::plain}};
}

}  // namespace

table frame_table(const table::look& look, pace rows_come) {
  table rows({"seq", "event", "action", "to", "text"}, look);
  // Room for usual names, which are not known yet when the first row is printed.
  if (rows_come == pace::live) rows.set_least_widths({4, 18, 7, 9});
  return rows;
}

void add_frame(table& to, std::string_view frame) {
  boost::system::error_code ec;
  const json::value parsed = parse_json(frame, ec);
  if (ec || !parsed.is_object()) return;
  const json::object& object = parsed.get_object();
  const std::string_view type = text_in(object, "type");
  const std::string_view session = text_in(object, "session");
  const auto seq = [&] { return (session.empty() ? "" : digd::quoted(session) + " ") + number_of(object, "seq"); };
  if (type == "intervention") return to.add(acted(session.empty() ? "-" : digd::quoted(session) + " -", object));
  if (type == "error") {
    return to.add({{seq(), tone::quiet},
                   {quoted_or_dash(text_in(object, "field"))},
                   {printable(text_in(object, "code")), tone::bad},
                   {"-"},
                   {printable_or_dash(text_in(object, "message"))}});
  }
  const json::value* verdicts = type == "verdicts" ? object.if_contains("verdicts") : nullptr;
  if (!verdicts || !verdicts->is_array()) return;
  for (const json::value& verdict : verdicts->get_array()) {
    if (verdict.is_object()) to.add(acted(seq(), verdict.get_object()));
  }
}

void frame_printer::frame(std::string_view text) {
  if (records_.is_on()) return records_.add(text);
  add_frame(table_, text);
  if (table_.waiting() >= rows_at_once) table_.print(std::cout);
}

void frame_printer::flush() {
  if (!records_.is_on() && table_.waiting() > 0) table_.print(std::cout);
  std::cout.flush();
}

void frame_printer::finish() {
  records_.finish();
  if (!records_.is_on()) table_.print(std::cout);
  std::cout.flush();
}

void frame_printer::abandon() {
  records_.finish();
  flush();
}

}  // namespace digd::cli
