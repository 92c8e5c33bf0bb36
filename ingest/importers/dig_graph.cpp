#include "ingest/importers/dig_graph.h"

#include <exception>
#include <utility>

#include "base/fnv_hash.h"
#include "ingest/importers/dig_graph_reader.h"
#include "ingest/importers/dig_replay.h"
#include "ingest/trace/json_reader.h"
#include "ingest/trace/trace_writer.h"

namespace digd::importers {
namespace {

std::string default_run(const dig_tables& tables, std::string_view file) {
  return "dig-" + (tables.created_us ? std::to_string(*tables.created_us / 1000) : fnv_digits(file));
}

import_outcome import_checked(std::string_view file, const dig_graph_options& options) {
  json_reader reader;
  boost::json::value document;
  const auto* top = reader.parse(file, options.max_bytes, document);
  if (!top) return reader.failure();

  import_result result;
  name_table agents(name_table::kind::agent);
  name_table events(name_table::kind::id);
  name_table activations(name_table::kind::id);
  auto tables = dig_graph_reader(reader, agents, events, activations, result.counts).read(*top, options.max_items);
  if (reader.failed()) return reader.failure();

  trace_writer writer;
  dig_replay replay(tables, events, activations, writer, result.counts);
  writer.hello(options.run.empty() ? default_run(tables, file) : options.run, replay.roster(), "digd-import-dig-graph",
               {{"source", "dig.graph.v2"}}, {});
  replay.run();
  result.counts.messages = writer.messages();
  result.counts.agents = replay.roster().size();
  result.counts.renamed = agents.renamed() + events.renamed() + activations.renamed();
  result.lines = writer.take_lines();
  return result;
}

}  // namespace

import_outcome import_dig_graph(std::string_view json_text, const dig_graph_options& options) {
  try {
    return import_checked(json_text, options);
  } catch (const std::exception& error) {
    return import_failure{import_errc::internal, std::string("dig graph: ") + error.what()};
  }
}

}  // namespace digd::importers
