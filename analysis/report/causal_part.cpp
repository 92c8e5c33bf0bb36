#include <fmt/format.h>

#include <boost/json.hpp>

#include "analysis/report/parts.h"
#include "report/words.h"

namespace digd::report {

namespace {

namespace json = boost::json;

constexpr std::size_t max_levers = 20;

std::string text_of(const json::object& of, const char* name) {
  const json::value* v = of.if_contains(name);
  return v != nullptr && v->is_string() ? std::string(v->get_string().data(), v->get_string().size()) : std::string();
}

std::string number_of(const json::object& of, const char* name) {
  const json::value* v = of.if_contains(name);
  return v != nullptr && v->is_number() ? fmt::format("{:.3g}", v->to_number<double>()) : std::string("–");
}

const json::array* list_of(const json::object& of, const char* name) {
  const json::value* v = of.if_contains(name);
  return v != nullptr ? v->if_array() : nullptr;
}

table levers_of(const json::array& levers) {
  table out{
      .caption = "Levers: what to change, by evidence",
      .columns = {{"factor"}, {"evidence"}, {"support", true}, {"p", true}, {"p given the rest", true}, {"in words"}},
      .rows = {},
      .left_out = {}};
  for (const json::value& value : levers) {
    if (!value.is_object() || out.rows.size() == max_levers) continue;
    const json::object& l = value.get_object();
    out.rows.push_back({short_name(text_of(l, "factor"), 60), text_of(l, "evidence"), number_of(l, "support"),
                        number_of(l, "p"), number_of(l, "p_given_rest"), short_name(text_of(l, "words"), 200)});
  }
  if (levers.size() > max_levers) out.left_out = fmt::format("The first {} of {}.", max_levers, levers.size());
  return out;
}

}  // namespace

part causal_part(std::string_view analysis) {
  part out{
      .id = "causes",
      .name = "CAMO",
      .title = "CAMO: causes over many runs",
      .command = "digctl causal explain RUNS… --format json > causes.json && digctl report RUN --causes causes.json"};
  if (analysis.empty()) {
    out.not_run_reason = "it needs many runs; --causes adds a result of digctl causal explain.";
    return out;
  }
  json::error_code ec;
  const json::value read = json::parse({analysis.data(), analysis.size()}, ec);
  const json::object* whole = ec ? nullptr : read.if_object();
  const json::array* levers = whole == nullptr ? nullptr : list_of(*whole, "levers");
  if (levers == nullptr) {
    out.not_run_reason = "--causes: the file is not a result of digctl causal explain --format json.";
    return out;
  }
  out.ran = true;
  out.json = std::string(analysis);
  out.origins = {
      {"levers, boundary, support", "Markov boundary and structure over factors of many runs", "CAMO; docs/causal.md"},
      {"evidence class", "screened, candidate, or verified by an experiment", "docs/causal.md; docs/glossary.md"}};
  out.blocks.push_back(block::words(
      fmt::format("Over {} runs with {} factors each, these factors are related to the outcome {}; reached: {}. "
                  "This run is one of these runs, or similar to them. "
                  "Nothing here is about this run alone.",
                  number_of(*whole, "runs"), number_of(*whole, "factors"), short_name(text_of(*whole, "outcome")),
                  text_of(*whole, "stage"))));
  out.blocks.push_back(block::of(levers_of(*levers)));
  if (const json::array* notes = list_of(*whole, "notes"); notes != nullptr && !notes->empty()) {
    block list{.kind = block::kind::list, .text = "It says:"};
    for (const json::value& n : *notes) {
      if (n.is_string())
        list.items.push_back(short_name(std::string(n.get_string().data(), n.get_string().size()), 300));
    }
    out.blocks.push_back(std::move(list));
  }
  return out;
}

}  // namespace digd::report
