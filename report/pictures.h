// The pictures of a report that are drawn from sums: flows between agents, activity over time, witnesses of detections.
// SVG for a page that has picture::chart_style. Runs of any size fit: many agents or activations are drawn combined.
#pragma once

#include "model/answer.h"
#include "report/document.h"
#include "report/observed.h"

namespace digd::report {

// Agents on a circle, an arrow for the events from one to another.
figure draw_flows(const observed& seen);
// A row for each agent with its activations as bars; if there are too many, a heat map of starts. Below: the findings.
figure draw_timeline(const observed& seen);
// The witness of a detection: the events, activations and agents that its sentence names; causes on the left.
figure draw_witness(const detection& of);

}  // namespace digd::report
