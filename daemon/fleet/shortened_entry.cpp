#include "daemon/fleet/shortened_entry.h"

#include <algorithm>
#include <boost/json.hpp>
#include <string_view>
#include <utility>

namespace digd::daemon {

namespace {

namespace json = boost::json;

constexpr std::string_view list_names[] = {"detections", "interventions", "outcomes"};
constexpr std::size_t max_bare_text = 64;  // bytes of `type` and `code`, which a bare entry can do without

json::array& rows_in(json::object& fields, std::string_view name) {
  json::value& found = fields[name];
  return found.is_array() ? found.get_array() : found.emplace_array();
}

void remove_texts(json::object& fields) {
  fields["cut"] = true;
  fields["frame"] = nullptr;
  fields["verdicts"] = nullptr;
  for (const auto& [name, text] :
       {std::pair{"detections", "detection"}, {"detections", "more_evidence"}, {"interventions", "intervention"}}) {
    for (json::value& row : rows_in(fields, name)) {
      if (row.is_object()) row.get_object()[text] = nullptr;
    }
  }
}

// False: all lists are empty.
bool halve_longest_list(json::object& fields) {
  const auto rows = [&](std::string_view name) { return rows_in(fields, name).size(); };
  const std::string_view longest =
      *std::max_element(std::begin(list_names), std::end(list_names),
                        [&](std::string_view a, std::string_view b) { return rows(a) < rows(b); });
  const std::size_t count = rows(longest);
  if (count == 0) return false;
  fields.emplace(std::string(longest) + "_total", count);  // keeps the first total
  rows_in(fields, longest).resize(count / 2);
  return true;
}

json::object bare_entry(const json::object& from) {
  json::object to;
  for (const std::string_view name : {"format", "entry", "run", "run_number", "n", "kind", "session", "seq", "ts",
                                      "arrived_ms", "epoch", "origin_archive", "origin_run_number"}) {
    if (const json::value* found = from.if_contains(name)) to[name] = *found;
  }
  for (const std::string_view name : {"type", "code"}) {
    const json::value* found = from.if_contains(name);
    const bool is_short = found != nullptr && found->is_string() && found->get_string().size() <= max_bare_text;
    to[name] = is_short ? *found : json::value();
  }
  to["cut"] = true;
  for (const std::string_view name : list_names) {
    to[name] = json::array();
    if (const json::value* total = from.if_contains(std::string(name) + "_total")) {
      to[std::string(name) + "_total"] = *total;
    }
  }
  return to;
}

}  // namespace

shortening shorten_entry(std::string& json, std::size_t max_bytes) {
  json::parse_options options;
  options.allow_invalid_utf8 = true;  // the archive may have such texts
  boost::system::error_code ec;
  json::value parsed = json::parse(json, ec, {}, options);
  if (ec || !parsed.is_object()) return shortening::too_large;
  json::object& fields = parsed.get_object();
  remove_texts(fields);
  json = json::serialize(fields);
  while (json.size() > max_bytes && halve_longest_list(fields)) json = json::serialize(fields);
  if (json.size() <= max_bytes) return shortening::cut;
  json = json::serialize(bare_entry(fields));
  return json.size() <= max_bytes ? shortening::bare : shortening::too_large;
}

}  // namespace digd::daemon
