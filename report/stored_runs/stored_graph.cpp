#include "report/stored_runs/stored_graph.h"

#include <utility>

#include "archive/trace_source.h"

namespace digd::stored {

namespace {

using status = stored_graph::status;

stored_graph failed(const boost::system::error_code& ec) {
  const bool gone = ec == archive::make_error_code(archive::archive_error::run_deleted);
  return {gone ? status::deleted : status::unreadable, {}, ec.message()};
}

// Feeds the trace to the graph; an error if it cannot be read. Stops early if the graph reaches its bounds.
boost::system::error_code feed(archive::trace_source& from, picture::recorded_graph& graph) {
  for (;;) {
    const auto piece = from.next();
    if (!piece) return piece.error();
    if (piece->empty()) return {};
    for (std::size_t at = 0; at < piece->size();) {
      const std::size_t end = piece->find('\n', at);
      if (!graph.line(std::string_view(*piece).substr(at, end - at))) return {};
      at = end + 1;
    }
  }
}

}  // namespace

stored_graph draw_stored(const std::string& archive_path, std::uint64_t run_number, picture::graph_format format) {
  constexpr picture::export_bounds most{};
  auto trace = archive::trace_source::open(archive_path, run_number);
  if (!trace) return failed(trace.error());
  picture::recorded_graph graph(most);
  if (const auto ec = feed(**trace, graph)) return failed(ec);
  std::string text;
  if (graph.finish()) text = picture::write_graph(graph, format);
  if (graph.too_large()) return {status::too_large, {}, graph.problem()};
  if (text.size() > most.bytes) {
    return {status::too_large,
            {},
            "the export is over its limit of " + std::to_string(most.bytes >> 20) +
                " MiB; take `digctl export RUN --format trace` instead"};
  }
  if (!graph.problem().empty()) return {status::not_replayed, {}, "the run cannot be replayed: " + graph.problem()};
  return {status::drawn, std::move(text), {}};
}

}  // namespace digd::stored
