// The layout of an SVG picture: lanes side by side, rows one below the other, edges on tracks.
//
// An edge leaves its event sideways, goes down on a track in the gutter of the target's lane, and enters the activation
// from the left. Edges that overlap in time use different tracks. Units: px.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "report/picture/model.h"
#include "report/picture/selection.h"

namespace digd::picture {

struct svg_edge {
  index row = none;  // of the transfer
  index lane = none;
  digd::picture::fate fate = fate::pending;  // of this edge: what the activation did
  bool by_monitor = false;
  index to = none;        // activation; none: it ends in the lane
  double x0 = 0, y0 = 0;  // from
  double track = 0;       // x of the way down
  double x1 = 0, y1 = 0;  // to
};

struct svg_span {
  bool shown = false;
  std::size_t slot = 0;        // beside others of its agent that are open at the same time
  double x = 0;                // middle
  double top = 0, bottom = 0;  // of first and last row
};

struct svg_layout {
  static constexpr double span_width = 18, square = 11, slot_px = 32;
  static constexpr std::size_t max_lanes = 60, max_tracks = 16, max_ports = 14;

  std::vector<index> lanes;    // shown
  std::vector<double> lane_x;  // by place in `lanes`: the left edge
  std::vector<double> lane_width;
  std::vector<double> node_x;               // middle of the first slot
  std::vector<double> side_x;               // right of the last slot: where squares and words begin
  std::vector<index> place;                 // by lane; none: not shown
  double outside_x = 0, outside_width = 0;  // root events and the monitor
  std::map<index, double> row_y;            // by row shown; ends that need no row of their own have none
  std::map<index, double> pause_y;          // by row: the label of a pause is above it
  std::vector<svg_span> spans;              // by activation
  std::vector<svg_edge> edges;
  double top = 0, bottom = 0, width = 0;
  std::size_t lanes_left_out = 0;

  bool has(index lane) const { return lane != none && place[lane] != none; }
  // Where the square of an event row stands.
  double square_x(const model& m, const row& r) const;
  // Where an input of an activation arrives.
  double port_y(const model& m, index activation, std::size_t input) const;
};

svg_layout lay_out(const model& m, const selection& part, double top);

}  // namespace digd::picture
