// A run's recorded graph for other programs: JSON, Graphviz, GraphML, and the paper's `dig.graph.v2`.
//
// Rebuilt by replaying the run's trace with forgetting off. Whatever an agent chose (ids, names, kinds, errors,
// payloads) is escaped for the format it stands in. Thread: one. Bounds: `export_bounds`; beyond them the graph is
// refused as a whole, never cut. Fields and formats: docs/operate.md, docs/importers.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "report/picture/model.h"

namespace digd::picture {

enum class graph_format : std::uint8_t { json, dot, graphml, dig_graph_v2 };

std::optional<graph_format> graph_format_from(std::string_view name);  // json, dot, graphml, dig.graph.v2
std::string_view content_type(graph_format);

struct export_bounds {
  std::size_t nodes = 50'000;     // events and activations; below what a run remembers of settled events
  std::size_t bytes = 64u << 20;  // of payloads, and of the text
};

struct recorded_payload {
  std::string json;
  bool is_object = false;
};

class recorded_graph {
 public:
  explicit recorded_graph(const export_bounds& bounds) : bounds_(bounds) {}

  // Takes one line of the run's trace. False: the trace cannot be replayed (`problem`).
  bool line(std::string_view text);
  // After the last line. False: there is no graph (`problem`).
  bool finish();

  const std::string& problem() const { return problem_; }
  bool too_large() const { return too_large_; }
  const model& graph() const { return model_; }
  const export_bounds& bounds() const { return bounds_; }
  // Null: the event had none.
  const recorded_payload* payload_of(const std::string& event) const;
  // The error of a failed activation; empty: none.
  std::string error_of(const std::string& activation) const;

 private:
  bool read(std::string_view text, std::string& rewritten);
  bool over(const char* text);

  const export_bounds bounds_;
  recorder recorder_;
  std::unordered_map<std::string, recorded_payload> payloads_;
  std::unordered_map<std::string, std::string> errors_;
  std::size_t nodes_ = 0, payload_bytes_ = 0;
  bool too_large_ = false;
  std::string problem_;
  model model_;
};

// Writes a finished graph. A text longer than the bound is incomplete and must not be used.
std::string write_graph(const recorded_graph& of, graph_format format);

std::string write_json(const recorded_graph& of);
std::string write_graphml(const recorded_graph& of);
std::string write_dig_graph(const recorded_graph& of);  // picture/export_dig.cpp

}  // namespace digd::picture
