#include "ingest/importers/trajectory.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <exception>
#include <set>
#include <utility>

#include "base/fnv_hash.h"
#include "base/json_writer.h"
#include "ingest/importers/conversation.h"
#include "ingest/importers/trajectory_readers.h"
#include "ingest/trace/json_reader.h"
#include "ingest/trace/trace_writer.h"

namespace digd::importers {
namespace json = boost::json;

namespace {

void fill_roster(conversation& log) {
  std::set<std::string_view> known;
  const auto add = [&](std::string_view agent) {
    if (known.insert(agent).second) log.agents.push_back(agent);
  };
  for (const turn& t : log.turns) {
    if (t.form != step_form::human) add(t.agent);
    for (const auto to : t.addressees) add(to);
  }
}

import_outcome import_checked(framework from, std::string_view file, const trajectory_options& options) {
  json_reader reader;
  check_times({options.step_ms, options.quiet_ms}, reader);
  if (reader.failed()) return reader.failure();

  const auto first = file.find_first_not_of(" \t\r\n");
  const bool is_list = first != std::string_view::npos && file[first] == '[';
  std::string wrapped;
  if (is_list && file.size() <= options.max_bytes) {
    json_writer(wrapped).open_object().key("events").raw(file).close_object();
  }
  constexpr std::size_t wrapping_bytes = 16;
  json::value document;
  const auto* top = reader.parse(wrapped.empty() ? file : std::string_view(wrapped),
                                 options.max_bytes + (wrapped.empty() ? 0 : wrapping_bytes), document);
  if (!top) return reader.failure();

  name_table names(name_table::kind::agent);
  trajectory read;
  read_trajectory(from, *top, reader, names, options.max_items, read);
  if (!reader.failed() && read.log.turns.empty()) {
    reader.fail(import_errc::wrong_shape, {}, "expected at least one turn of an agent or of the user");
  }
  if (reader.failed()) return reader.failure();
  fill_roster(read.log);

  import_result result;
  trace_writer writer;
  const std::string name(to_string(from));
  json::object labels;
  labels["source"] = name;
  writer.hello(options.run.empty() ? name + '-' + fnv_digits(file) : options.run, read.log.agents,
               "digd-import-" + name, std::move(labels), {"ts"});
  write_conversation(read.log, {options.step_ms, options.quiet_ms}, writer, result.counts);
  result.counts.messages = writer.messages();
  result.counts.agents = read.log.agents.size();
  result.counts.renamed = names.renamed();
  result.lines = writer.take_lines();
  return result;
}

}  // namespace

import_outcome import_trajectory(framework from, std::string_view json_text, const trajectory_options& options) {
  try {
    return import_checked(from, json_text, options);
  } catch (const std::exception& error) {
    return import_failure{import_errc::internal, std::string(to_string(from)) + ": " + error.what()};
  }
}

}  // namespace digd::importers
