#include "report/picture/dot.h"

#include "report/picture/labels.h"
#include "report/picture/text.h"

namespace digd::picture {

namespace {

std::string dot_escaped(std::string_view text) {
  std::string out;
  for (const char c : safe(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string quoted_dot(std::string_view text) { return '"' + dot_escaped(text) + '"'; }

class dot_writer {
 public:
  dot_writer(const model& m, const selection& part)
      : m_(m), part_(part), has_event_(m.events.size(), false), starts_(m.lanes.size()) {
    for (const index at : part_.rows) {
      const row& r = m_.rows[at];
      if (r.kind == row_kind::start) starts_[m_.activations[r.activation].lane].push_back(r.activation);
    }
  }

  std::string run() {
    out_ = "digraph " + quoted_dot(m_.run) +
           " {\n  rankdir=LR;\n  node [fontname=\"Helvetica\", fontsize=10];\n  edge [fontname=\"Helvetica\", "
           "fontsize=9];\n";
    for (const index at : part_.rows) events(m_.rows[at]);
    for (const index lane : part_.lanes) cluster(lane);
    for (const index at : part_.rows) edges(at);
    for (const std::string& note : part_.notes) out_ += "  // " + safe(note) + "\n";
    return out_ + "}\n";
  }

 private:
  static std::string event_name(index e) { return "e" + std::to_string(e); }
  static std::string activation_name(index v) { return "v" + std::to_string(v); }

  void events(const row& r) {
    if (r.event == none || r.kind == row_kind::note || r.kind == row_kind::firing || has_event_[r.event]) return;
    has_event_[r.event] = true;
    const event& e = m_.events[r.event];
    std::string label = dot_escaped(e.id);
    for (const index f : e.findings) label += " " + std::string(code_of(m_.findings[f].rule));
    if (!e.kind.empty()) label += "\\n" + dot_escaped(e.kind);
    out_ += "  " + event_name(r.event) + " [shape=box, label=\"" + label + '"';
    if (e.submit) out_ += ", peripheries=2";
    if (e.fyi) out_ += ", style=dotted";
    if (e.system) out_ += ", color=\"#b0467f\"";
    for (const index f : e.findings) {
      out_ += m_.findings[f].severity == severity::failure ? ", color=\"#d55e00\", penwidth=2"
                                                           : ", color=\"#c98a00\", penwidth=2";
      break;
    }
    out_ += "];\n";
  }

  void cluster(index lane) {
    out_ += "  subgraph cluster_" + std::to_string(lane) + " {\n    label=" + quoted_dot(m_.lanes[lane].name) +
            ";\n    style=rounded; color=\"#c3cad2\";\n";
    for (const index v : starts_[lane]) {
      const activation& a = m_.activations[v];
      out_ += "    " + activation_name(v) + " [shape=circle, label=" + quoted_dot(a.id) +
              (a.failed         ? ", style=dashed, color=\"#d55e00\""
               : a.open         ? ", style=dashed"
               : a.generating() ? ", style=filled, fillcolor=\"#8fc3e6\""
                                : "") +
              "];\n";
    }
    out_ += "  }\n";
  }

  bool shown(index v) const { return v != none && part_.has_row[m_.activations[v].first_row]; }

  void edges(index at) {
    const row& r = m_.rows[at];
    if (r.kind == row_kind::event && shown(r.activation))
      out_ += "  " + activation_name(r.activation) + " -> " + event_name(r.event) + ";\n";
    for (const transfer& g : r.to) {
      bool any = false;
      for (const index v : g.taken_by) {
        if (!shown(v)) continue;
        any = true;
        deliver(r.event, activation_name(v), fate_of(v, r.event), g.by_monitor);
      }
      if (any || r.event == none) continue;
      const std::string end = "d" + std::to_string(ends_++);
      out_ += "  " + end + " [shape=plaintext, label=" + quoted_dot(m_.lanes[g.lane].name) + "];\n";
      deliver(r.event, end, g.fate, g.by_monitor);
    }
  }

  fate fate_of(index v, index e) const {
    for (const input& i : m_.activations[v].inputs) {
      if (i.event != e) continue;
      switch (i.reaction) {
        case reaction::wait: return fate::waiting;
        case reaction::discard: return fate::discarded;
        case reaction::reroute: return fate::rerouted;
        case reaction::consume: return fate::consumed;
        case reaction::none: return fate::taken;
      }
    }
    return fate::taken;
  }

  void deliver(index e, const std::string& to, fate fate, bool by_monitor) {
    out_ += "  " + event_name(e) + " -> " + to + " [label=" + quoted_dot(to_string(fate));
    if (!productive(fate)) out_ += ", style=dashed";
    if (by_monitor) out_ += ", color=\"#b0467f\", penwidth=2";
    out_ += "];\n";
  }

  const model& m_;
  const selection& part_;
  std::vector<bool> has_event_;
  std::vector<std::vector<index>> starts_;  // activations by lane, in order
  std::size_t ends_ = 0;
  std::string out_;
};

}  // namespace

std::string draw_dot(const model& m, const selection& part) { return dot_writer(m, part).run(); }

}  // namespace digd::picture
