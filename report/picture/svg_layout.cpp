#include "report/picture/svg_layout.h"

#include <algorithm>

namespace digd::picture {

namespace {

constexpr double margin = 28, head_height = 34, row_height = 25, note_height = 22, pause_height = 20;
constexpr double port_step = 7, track_step = 9, gutter = 38, first_track = 23, stub = 15;

class planner {
 public:
  planner(const model& m, const selection& part, double top) : m_(m), part_(part) { out_.top = top; }

  svg_layout run() {
    choose_lanes();
    choose_slots();
    place_rows();
    make_edges();
    assign_tracks();
    place_lanes();
    place_edges();
    return std::move(out_);
  }

 private:
  void choose_lanes() {
    out_.lanes = busiest_lanes(m_, part_, svg_layout::max_lanes);
    const std::size_t total = busiest_lanes(m_, part_, m_.lanes.size()).size();
    out_.lanes_left_out = total - out_.lanes.size();
    out_.place.assign(m_.lanes.size(), none);
    for (std::size_t i = 0; i < out_.lanes.size(); ++i) out_.place[out_.lanes[i]] = static_cast<index>(i);
  }

  void choose_slots() {
    out_.spans.assign(m_.activations.size(), {});
    slots_.assign(m_.lanes.size(), 1);
    std::vector<std::vector<index>> busy(m_.lanes.size());
    last_.assign(m_.activations.size(), none);
    std::map<index, std::vector<index>> ends;
    for (const index at : part_.rows) {
      const row& r = m_.rows[at];
      if (r.kind == row_kind::start && out_.has(m_.activations[r.activation].lane)) {
        const activation& a = m_.activations[r.activation];
        std::vector<index>& bars = busy[a.lane];
        auto free = std::find(bars.begin(), bars.end(), none);
        if (free == bars.end()) free = bars.insert(bars.end(), none);
        *free = r.activation;
        svg_span& span = out_.spans[r.activation];
        span.shown = true;
        span.slot = static_cast<std::size_t>(free - bars.begin());
        slots_[a.lane] = std::max(slots_[a.lane], span.slot + 1);
        last_[r.activation] = closing_row(m_, part_, a);
        if (last_[r.activation] != none) ends[last_[r.activation]].push_back(r.activation);
      }
      const auto ending = ends.find(at);
      if (ending == ends.end()) continue;
      for (const index v : ending->second) {
        std::vector<index>& bars = busy[m_.activations[v].lane];
        std::replace(bars.begin(), bars.end(), v, none);
      }
    }
  }

  void place_rows() {
    double y = out_.top + head_height;
    const milliseconds gap = notable_pause(m_, part_);
    milliseconds before = part_.rows.empty() ? 0 : m_.rows[part_.rows.front()].ts;
    for (const index at : part_.rows) {
      const row& r = m_.rows[at];
      const bool own_row = r.kind != row_kind::end || last_[r.activation] == at;
      if (!own_row || (r.kind == row_kind::start && !out_.spans[r.activation].shown)) continue;
      if (r.ts - before >= gap) {
        y += pause_height;
        out_.pause_y[at] = y - 4;
      }
      before = r.ts;
      double height = r.kind == row_kind::note || r.kind == row_kind::end ? note_height : row_height;
      double lead = 0;
      if (r.kind == row_kind::start) {
        const std::size_t ports = std::min(m_.activations[r.activation].inputs.size(), svg_layout::max_ports);
        lead = ports > 1 ? port_step * static_cast<double>(ports - 1) / 2 : 0;
        height += 6;
      }
      y += height + lead;
      out_.row_y[at] = y;
      y += lead;
      if (r.kind == row_kind::start) {
        svg_span& span = out_.spans[r.activation];
        span.top = span.bottom = y - lead;
      }
    }
    out_.bottom = y + 26;
    for (std::size_t v = 0; v < out_.spans.size(); ++v) {
      svg_span& span = out_.spans[v];
      if (!span.shown) continue;
      const auto end = last_[v] == none ? out_.row_y.end() : out_.row_y.find(last_[v]);
      const bool is_cut_off = end == out_.row_y.end();
      span.bottom = is_cut_off ? out_.bottom - 14 : end->second;
    }
  }

  void make_edges() {
    for (const index at : part_.rows) {
      const row& r = m_.rows[at];
      for (const transfer& g : r.to) {
        if (!out_.has(g.lane)) continue;
        bool any = false;
        for (const index v : g.taken_by) {
          if (!out_.spans[v].shown) continue;
          any = true;
          out_.edges.push_back(
              {.row = at, .lane = g.lane, .fate = fate_of(v, r.event), .by_monitor = g.by_monitor, .to = v});
        }
        if (!any) out_.edges.push_back({.row = at, .lane = g.lane, .fate = g.fate, .by_monitor = g.by_monitor});
      }
    }
    for (svg_edge& e : out_.edges) {
      e.y0 = out_.row_y.at(e.row);
      e.y1 = e.to == none ? e.y0 + stub : out_.port_y(m_, e.to, input_of(e.to, m_.rows[e.row].event));
    }
  }

  std::size_t input_of(index v, index event) const {
    const std::vector<input>& inputs = m_.activations[v].inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].event == event) return i;
    }
    return 0;
  }

  fate fate_of(index v, index event) const {
    const activation& a = m_.activations[v];
    if (a.inputs.empty()) return fate::taken;
    switch (a.inputs[input_of(v, event)].reaction) {
      case reaction::consume: return fate::consumed;
      case reaction::wait: return fate::waiting;
      case reaction::discard: return fate::discarded;
      case reaction::reroute: return fate::rerouted;
      case reaction::none: break;
    }
    return fate::taken;
  }

  // Gives each edge the nearest track of the lane that is free over the edge's length. `track` first holds the track's
  // number.
  void assign_tracks() {
    std::vector<std::vector<double>> free_from(m_.lanes.size());
    for (svg_edge& e : out_.edges) {
      std::vector<double>& tracks = free_from[e.lane];
      std::size_t t = 0;
      while (t < tracks.size() && tracks[t] > e.y0) ++t;
      if (t == tracks.size() && t < svg_layout::max_tracks) tracks.push_back(0);
      t = std::min(t, tracks.size() - 1);
      tracks[t] = std::max(tracks[t], e.y1 + 4);
      e.track = static_cast<double>(t);
    }
    tracks_.assign(m_.lanes.size(), 0);
    for (std::size_t l = 0; l < free_from.size(); ++l) tracks_[l] = free_from[l].size();
  }

  void place_lanes() {
    double x = margin + 52;  // the times
    out_.outside_x = x;
    const bool outside = std::any_of(part_.rows.begin(), part_.rows.end(), [&](index at) {
      const row& r = m_.rows[at];
      const bool from_lane = r.activation != none && out_.has(m_.activations[r.activation].lane);
      return !r.to.empty() ? r.kind == row_kind::remedy || !from_lane
                           : r.kind == row_kind::firing || (r.kind == row_kind::event && !from_lane);
    });
    out_.outside_width = outside ? 150 : 0;
    x += out_.outside_width;
    const double words = out_.lanes.size() > 8 ? 118 : out_.lanes.size() > 4 ? 145 : 175;
    for (const index l : out_.lanes) {
      const double before = gutter + static_cast<double>(tracks_[l]) * track_step;
      out_.lane_x.push_back(x);
      out_.node_x.push_back(x + before);
      out_.side_x.push_back(x + before + static_cast<double>(slots_[l] - 1) * svg_layout::slot_px +
                            svg_layout::span_width / 2);
      out_.lane_width.push_back(before + static_cast<double>(slots_[l] - 1) * svg_layout::slot_px + words);
      x += out_.lane_width.back() + 6;
    }
    out_.width = x + margin - 6;
    for (std::size_t v = 0; v < out_.spans.size(); ++v) {
      svg_span& span = out_.spans[v];
      if (!span.shown) continue;
      span.x = out_.node_x[out_.place[m_.activations[v].lane]] + static_cast<double>(span.slot) * svg_layout::slot_px;
    }
  }

  void place_edges() {
    // If edges overlap, the most important is drawn last.
    std::stable_sort(out_.edges.begin(), out_.edges.end(), [](const svg_edge& a, const svg_edge& b) {
      const auto weight = [](const svg_edge& e) { return e.by_monitor ? 2 : productive(e.fate) ? 1 : 0; };
      return weight(a) < weight(b);
    });
    for (svg_edge& e : out_.edges) {
      const double node = out_.node_x[out_.place[e.lane]];
      e.track = node - svg_layout::span_width / 2 - first_track - e.track * track_step;
      e.x0 = out_.square_x(m_, m_.rows[e.row]);
      e.x1 = e.to == none ? e.track : out_.spans[e.to].x - svg_layout::span_width / 2;
    }
  }

  const model& m_;
  const selection& part_;
  svg_layout out_;
  std::vector<std::size_t> slots_, tracks_;  // by lane
  std::vector<index> last_;                  // by activation: its last row; none: open
};

}  // namespace

double svg_layout::square_x(const model& m, const row& r) const {
  if (r.kind == row_kind::remedy || r.activation == none || !has(m.activations[r.activation].lane))
    return outside_x + 16;
  return side_x[place[m.activations[r.activation].lane]] + 16;
}

double svg_layout::port_y(const model& m, index v, std::size_t input) const {
  const std::size_t ports = std::min(m.activations[v].inputs.size(), max_ports);
  if (ports < 2) return spans[v].top;
  const double at = static_cast<double>(std::min(input, ports - 1));
  return spans[v].top + (at - static_cast<double>(ports - 1) / 2) * port_step;
}

svg_layout lay_out(const model& m, const selection& part, double top) { return planner(m, part, top).run(); }

}  // namespace digd::picture
