// Spans as tests write them, and the runs made of them.
#pragma once

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "ingest/otlp/decode.h"
#include "ingest/otlp/essential.h"
#include "ingest/otlp/import.h"
#include "ingest/otlp/mapping.h"
#include "ingest/otlp/turns.h"
#include "ingest/protocol/replay.h"
#include "tests/ingest/importers/trace_check.h"

namespace otlp_tests {

using namespace digd::otlp;
namespace json = boost::json;

// `name`: a file below recorded/, without its extension.
inline std::string recorded(const std::string& name) {
  return importer_tests::read_file(std::string(DIGD_SOURCE_DIR) + "/tests/ingest/otlp/recorded/" + name + ".json");
}

inline std::vector<span> spans_of(const std::string& text) {
  std::vector<span> out;
  const read_file_result result = read_spans(text, {}, out);
  REQUIRE(result.problem == "");
  REQUIRE(result.rejected == 0);
  return out;
}

// A span in milliseconds. Ids are short; the functions below pad them.
struct made {
  std::string id, parent, name;
  std::int64_t start = 0, end = 0;
  json::object attributes;
  std::vector<std::string> links = {};
  std::string error = {};
  std::string scope = {};
  std::string trace = "1";
};

inline std::string padded(const std::string& id, std::size_t size) { return std::string(size - id.size(), '0') + id; }
inline std::string span_id(const std::string& id) { return id.empty() ? id : padded(id, 16); }

inline std::vector<span> spans(const std::vector<made>& mades) {
  constexpr std::int64_t ms = 1'000'000;
  std::vector<span> out;
  for (const made& made : mades) {
    span s;
    s.trace = padded(made.trace, 32);
    s.id = span_id(made.id);
    s.parent = span_id(made.parent);
    s.name = made.name;
    s.start_ns = made.start * ms;
    s.end_ns = made.end * ms;
    s.attributes = made.attributes;
    for (const std::string& link : made.links) s.links.push_back({s.trace, span_id(link)});
    s.failed = !made.error.empty();
    s.error = made.error;
    s.from = std::make_shared<const origin>(origin{.service = "app", .scope = made.scope});
    out.push_back(std::move(s));
  }
  return out;
}

inline json::object agent(const std::string& name) {
  return {{"gen_ai.operation.name", "invoke_agent"}, {"gen_ai.provider.name", "x"}, {"gen_ai.agent.name", name}};
}
inline json::object operation(const std::string& name) {
  return {{"gen_ai.operation.name", name}, {"gen_ai.provider.name", "x"}};
}

// Messages for assertions: "event in:1 -> a", "start 1 a(in:1)", "end 1 [out:1 -> b]", with ids as they were written.
inline std::string short_id(std::string id) {
  const std::size_t colon = id.find(':');
  const std::string rest = colon == std::string::npos ? id : id.substr(colon + 1);
  std::string out;
  for (std::size_t at = 0; at <= rest.size();) {
    const std::size_t next = std::min(rest.find(':', at), rest.size());
    const std::string part = rest.substr(at, next - at);
    const std::size_t digit = part.find_first_not_of('0');
    out += (out.empty() ? "" : ":") + (digit == std::string::npos ? part : part.substr(digit));
    at = next + 1;
  }
  return colon == std::string::npos ? out : id.substr(0, colon + 1) + out;
}

inline std::string in_short(const json::object& event) {
  std::string out = short_id(importer_tests::text(event.at("id")));
  if (event.contains("submit")) return out + " submits";
  if (event.contains("fyi")) return out + " fyi";
  out += " ->";
  for (const std::string& to : importer_tests::texts(event.at("recipients"))) out += ' ' + to;
  return out;
}

inline std::string in_short(const run_message& message) {
  const json::object& m = message.members;
  if (message.type == "event") {
    const json::object& event = m.at("event").as_object();
    return "event " + in_short(event) +
           (event.contains("source") ? " by " + short_id(importer_tests::text(event.at("source"))) : "");
  }
  const std::string id = short_id(importer_tests::text(m.at("activation")));
  if (message.type == "activation_started") {
    std::string inputs;
    for (const std::string& input : importer_tests::texts(m.at("inputs")))
      inputs += (inputs.empty() ? "" : " ") + short_id(input);
    return "start " + id + ' ' + importer_tests::text(m.at("agent")) + '(' + inputs + ')';
  }
  if (m.contains("failed")) return "fail " + id;
  std::string out = "end " + id;
  for (const json::value& output : m.at("outputs").as_array()) out += " [" + in_short(output.as_object()) + ']';
  return out;
}

inline std::vector<std::string> mapped(const std::vector<span>& of, span_set known = span_set::complete) {
  std::vector<std::string> out;
  for (const run_message& message : map_spans(of, known).messages) out.push_back(in_short(message));
  return out;
}

// What the engine finds in an imported run, as "rule event"; it must refuse nothing.
inline std::vector<std::string> detections_of(const imported_run& run) {
  std::vector<std::string> out;
  digd::ingest::replay through(digd::run_policy{}, {.record = [&](const digd::ingest::record& taken) {
                                 INFO(std::string(taken.frame));
                                 REQUIRE(taken.answer.refused.text == "");
                                 for (const auto& d : taken.answer.detections)
                                   out.push_back(std::string(to_string(d.rule)) + ' ' + short_id(d.event.value_or("")));
                               }});
  for (const std::string& line : run.trace.lines) REQUIRE(through.line(line));
  return out;
}

inline std::vector<imported_run> imported(const std::vector<span>& of) {
  auto outcome = import_spans(std::vector<span>(of));
  if (!outcome) FAIL(outcome.error().message);
  return std::move(*outcome);
}

// Of spans that are one run.
inline std::vector<std::string> detections(const std::vector<span>& of) {
  const auto runs = imported(of);
  REQUIRE(runs.size() == 1);
  return detections_of(runs.front());
}

// The outcome that an imported run ends with.
inline std::string outcome_of(const imported_run& run) {
  const json::object end = json::parse(run.trace.lines.back()).as_object();
  REQUIRE(end.at("type") == "run_ended");
  return importer_tests::text(end.at("outcome"));
}

}  // namespace otlp_tests
