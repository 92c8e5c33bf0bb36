#include "ingest/otlp/import.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "ingest/otlp/decode.h"
#include "ingest/otlp/inflate.h"
#include "ingest/otlp/mapping.h"
#include "ingest/otlp/runs.h"
#include "ingest/trace/trace_writer.h"

namespace digd::otlp {

namespace {

using importers::import_errc;
using importers::import_failure;

constexpr std::string_view blanks = " \t\r\n";

// Takes the next JSON document: the whole text, or the first of several lines. A line that does not close an object is
// no document of its own, even if the next line opens one.
std::string_view take_document(std::string_view& rest) {
  const std::size_t line = rest.find('\n');
  const std::size_t next = line == std::string_view::npos ? line : rest.find_first_not_of(blanks, line);
  const std::size_t last = line == std::string_view::npos ? line : rest.substr(0, line).find_last_not_of(blanks);
  const bool are_lines =
      next != std::string_view::npos && rest[next] == '{' && last != std::string_view::npos && rest[last] == '}';
  const std::size_t end = are_lines ? line : rest.size();
  const std::string_view out = rest.substr(0, end);
  rest.remove_prefix(end);
  rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(blanks)));
  return out;
}

bool take_one(encoding encoding, std::string_view text, const std::string& where, std::vector<span>& into,
              read_file_result& result) {
  decode_outcome decoded = decode(encoding, text);
  if (!decoded) {
    result.problem = where + decoded.error().message;
    return false;
  }
  if (result.rejected == 0 && decoded->rejected > 0) result.first_rejection = where + decoded->problem;
  result.rejected += decoded->rejected;
  result.dropped_links += decoded->dropped_links;
  std::move(decoded->spans.begin(), decoded->spans.end(), std::back_inserter(into));
  return true;
}

importers::import_result trace_of(const std::string& run, const mapped_run& mapped) {
  importers::trace_writer writer;
  writer.hello(run, std::nullopt, "digd-import-otlp", mapped.labels, {}, rules_for_spans());
  for (const run_message& message : mapped.messages) writer.message(message.type, message.ts_ms, message.members);
  writer.message("run_ended", writer.now(),
                 {{"outcome", boost::json::string_view(mapped.outcome.data(), mapped.outcome.size())}});
  importers::import_result out{.lines = {}, .counts = mapped.counts};
  out.counts.messages = writer.messages();
  out.lines = writer.take_lines();
  return out;
}

import_outcome import_checked(std::vector<span>&& spans, const import_options& options) {
  std::vector<imported_run> out;
  for (const run_of_spans& run_of_spans : split_runs(std::move(spans))) {
    const mapped_run mapped = map_spans(run_of_spans.spans, span_set::complete);
    const std::string& id = options.run.empty() ? run_of_spans.id : options.run;
    if (!mapped.messages.empty()) out.push_back({id, trace_of(id, mapped)});
  }
  if (out.empty()) {
    return import_failure{import_errc::wrong_value,
                          "there is no agent in these spans: digd knows no dialect that matches (docs/otlp.md)"};
  }
  if (!options.run.empty() && out.size() > 1) {
    return import_failure{import_errc::bad_option,
                          "--run names one run, and there are " + std::to_string(out.size()) + " in these spans"};
  }
  return out;
}

}  // namespace

read_file_result read_spans(std::string_view file, const import_options& options, std::vector<span>& into) {
  read_file_result result;
  std::string unpacked;
  if (file.starts_with("\x1f\x8b")) {
    auto text = inflate(file, options.max_bytes);
    if (!text) return {.problem = text.error().message};
    unpacked = std::move(*text);
    file = unpacked;
  }
  const std::size_t begin = file.find_first_not_of(blanks);
  if (begin == std::string_view::npos || file[begin] != '{') {
    take_one(encoding::protobuf, file, {}, into, result);
    return result;
  }
  std::size_t n = 0;
  for (std::string_view rest = file.substr(begin); !rest.empty();) {
    const std::string_view document = take_document(rest);
    const std::string where = n++ == 0 && rest.empty() ? std::string() : "document " + std::to_string(n) + ": ";
    if (!take_one(encoding::json, document, where, into, result)) break;
  }
  return result;
}

import_outcome import_spans(std::vector<span>&& spans, const import_options& options) {
  try {
    return import_checked(std::move(spans), options);
  } catch (const std::exception& error) {
    return import_failure{import_errc::internal, std::string("otlp: ") + error.what()};
  }
}

}  // namespace digd::otlp
