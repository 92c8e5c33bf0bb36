// Spans in either encoding, compressed or not: read, mapped to messages at once and in two parts, and replayed.
#include <map>

#include "ingest/otlp/import.h"
#include "ingest/otlp/mapping.h"
#include "ingest/otlp/sent_messages.h"
#include "ingest/protocol/replay.h"
#include "tests/fuzz/imported.h"

#include <boost/json/serialize.hpp>

namespace {

using namespace digd;

// Maps spans as the daemon does when they arrive in two requests: later messages must fit those already sent.
void check_parts(const std::vector<otlp::span>& spans) {
  std::vector<std::string> lines{R"({"type":"hello","protocol":1,"run":"r","mode":"observe","clock":"trace"})"};
  otlp::sent_messages sent;
  const auto half = spans.begin() + static_cast<std::ptrdiff_t>(spans.size() / 2);
  for (const auto& known : {std::vector<otlp::span>(spans.begin(), half), spans}) {
    const bool last = known.size() == spans.size();
    for (otlp::run_message& message :
         sent.take_unsent(otlp::map_spans(known, last ? otlp::span_set::complete : otlp::span_set::partial))) {
      message.members["type"] = boost::json::string_view(message.type.data(), message.type.size());
      message.members["seq"] = lines.size();
      message.members["ts"] = message.ts_ms;
      lines.push_back(boost::json::serialize(message.members));
    }
  }
  fuzz::check_import(importers::import_outcome(importers::import_result{std::move(lines), {}}));
}

}  // namespace

FUZZ_TARGET(otlp) {
  std::vector<otlp::span> spans;
  const auto result = otlp::read_spans(fuzz::text_of(data, size), {.max_bytes = 1 << 20}, spans);
  if (!result.problem.empty()) fuzz::touch(result.problem);
  if (spans.size() > 500) return 0;
  check_parts(spans);
  const auto runs = otlp::import_spans(std::move(spans));
  if (runs.has_error()) {
    fuzz::must(runs.error().code != importers::import_errc::internal, "the mapping has no faults of its own",
               runs.error().message);
    return 0;
  }
  for (const otlp::imported_run& imported_run : *runs)
    fuzz::check_import(importers::import_outcome(imported_run.trace));
  return 0;
}
