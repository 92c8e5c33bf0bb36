// The pictures of a report that need no more than sums: who gave to whom, who acted when, what a detection rests on.
// SVG for a page that has picture::chart_style. Any run fits: many agents and activations are drawn together.
#pragma once

#include "model/answer.h"
#include "report/document.h"
#include "report/observed.h"

namespace digd::report {

// Agents on a circle, an arrow for the events from one to another.
figure draw_flows(const observed& seen);
// A row for each agent: its activations as bars, or where there are too many how many began when; below, what was
// found.
figure draw_timeline(const observed& seen);
// The events, activations and agents that a detection's sentence names, causes to the left.
figure draw_witness(const detection& of);

}  // namespace digd::report
