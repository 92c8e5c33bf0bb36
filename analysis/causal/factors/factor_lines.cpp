#include "analysis/causal/factors/factor_lines.h"

#include <simdjson.h>

#include <limits>

#include "base/json_writer.h"

namespace digd::causal {

namespace {

using simdjson::SUCCESS;
using simdjson::dom::element;

void write(json_writer& to, std::string_view name, const std::vector<double>& numbers) {
  to.key(name).open_array();
  for (const double x : numbers) to.number(x);
  to.close_array();
}

// json_writer writes a value that is not finite as null; it reads back as NaN.
bool read(const element& from, double& x) {
  if (!from.is_null()) return from.get(x) == SUCCESS;
  x = std::numeric_limits<double>::quiet_NaN();
  return true;
}

bool read(const simdjson::dom::object& from, const char* name, std::vector<double>& numbers) {
  simdjson::dom::array items;
  if (from[name].get(items) != SUCCESS) return false;
  for (const element item : items) {
    if (!read(item, numbers.emplace_back())) return false;
  }
  return true;
}

bool read(const simdjson::dom::object& from, const char* name, std::string& text) {
  std::string_view found;
  if (from[name].get(found) != SUCCESS) return false;
  text = found;
  return true;
}

}  // namespace

std::string line_of(const run_factors& of) {
  std::string out;
  json_writer to(out);
  to.open_object();
  if (!of.note.empty()) {
    to.key("note").text(of.note);
  } else {
    to.key("run").text(of.run).key("ended").boolean(of.ended).key("success").boolean(of.success);
    to.key("lacking").text(of.lacking);
    write(to, "builtin", of.builtin);
    write(to, "user", of.user);
    to.key("labels").open_object();
    for (const auto& [name, value] : of.labels) to.key(name).text(value);
    to.close_object().key("metrics").open_object();
    for (const auto& [name, value] : of.metrics) to.key(name).number(value);
    to.close_object();
  }
  to.close_object();
  return out += '\n';
}

bool read_line(std::string_view line, run_factors& into) {
  thread_local simdjson::dom::parser parser;
  simdjson::dom::object top, labels, metrics;
  into = {};
  if (parser.parse(line.data(), line.size()).get(top) != SUCCESS) return false;
  if (read(top, "note", into.note)) return !into.note.empty();
  if (!read(top, "run", into.run) || top["ended"].get(into.ended) != SUCCESS ||
      top["success"].get(into.success) != SUCCESS || !read(top, "lacking", into.lacking) ||
      !read(top, "builtin", into.builtin) || !read(top, "user", into.user) || top["labels"].get(labels) != SUCCESS ||
      top["metrics"].get(metrics) != SUCCESS)
    return false;
  for (const auto& [name, value] : labels) {
    std::string_view text;
    if (value.get(text) != SUCCESS) return false;
    into.labels.emplace(name, text);
  }
  for (const auto& [name, value] : metrics) {
    if (!read(value, into.metrics[std::string(name)])) return false;
  }
  return true;
}

}  // namespace digd::causal
