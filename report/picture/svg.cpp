#include "report/picture/svg.h"

#include <algorithm>
#include <unordered_map>

#include "report/picture/labels.h"
#include "report/picture/palette.h"
#include "report/picture/svg_builder.h"
#include "report/picture/svg_layout.h"
#include "report/picture/svg_pieces.h"
#include "report/picture/svg_style.h"
#include "report/picture/text.h"

namespace digd::picture {

namespace {

constexpr double title_height = 60, line_height = 18;
constexpr std::size_t max_findings_listed = 60;

std::size_t letters_in(double width) {
  return width < svg_pieces::letter ? 1 : static_cast<std::size_t>(width / svg_pieces::letter);
}

class drawing : private svg_pieces {
 public:
  drawing(const model& m, const selection& part, const svg_look& look)
      : m_(m),
        part_(part),
        look_(look),
        scale_(time_scale::of(m)),
        at_(lay_out(m, part, look.embedded ? 8 : title_height + 16 * static_cast<double>(note_count()))) {}

  std::string run() {
    width_ = std::max(at_.width, 760.0);
    lanes();
    times();
    if (look_.lit != nullptr) glow();
    edges();
    nodes();
    tips();
    findings();
    height_ = draw_legend(*this, below_ + 34, width_, look_.lit != nullptr);
    return head() + body_ + "</svg>\n";
  }

 private:
  std::size_t note_count() const { return part_.notes.size() + 1; }  // room for one more: lanes left out

  // ---- the sheet

  std::string head() const {
    const std::string title = "Run " + m_.run, id(look_.id);
    const std::string width = coordinate(width_, px), height = coordinate(height_, px);
    std::string out;
    svg_builder to(out, px);
    to.open("svg");
    if (look_.embedded) {
      to.attribute("class", "run").attribute("style", "min-width:" + coordinate(0.8 * width_, px) + "px");
    } else {
      to.attribute("xmlns", "http://www.w3.org/2000/svg");
    }
    to.attribute("width", width).attribute("height", height).attribute("viewBox", "0 0 " + width + ' ' + height);
    to.attribute("role", "img").attribute("aria-labelledby", id + "-title " + id + "-desc").children().line_end();
    to.open("title").attribute("id", id + "-title").content(title);
    to.open("desc").attribute("id", id + "-desc");
    to.content("The interactions of a run as digd saw them, time downwards, a lane for each agent: " + summary(m_) +
               '.');
    if (!look_.embedded) sheet(to, title);
    return out;
  }

  // The parts of a standalone picture only: style, background, heading and notes.
  void sheet(svg_builder& to, const std::string& title) const {
    to.raw("<style>").raw(with_colours(svg_style)).close("style");
    to.open("rect").attribute("width", "100%").attribute("height", "100%").attribute("class", "paper").end_empty();
    const auto write_line = [&](double y, std::string_view style, std::string_view line_text) {
      to.open("text").attribute("x", 28).attribute("y", y).attribute("class", style).content(line_text);
    };
    write_line(36, "title", fit(title, letters_in(width_ - 60) * 6 / 10));
    write_line(56, "sub", summary(m_) + (scale_.dated ? " · from " + scale_.start() : ""));
    double y = 74;
    std::vector<std::string> notes = part_.notes;
    if (at_.lanes_left_out > 0) {
      notes.push_back("the " + std::to_string(at_.lanes.size()) + " busiest agents; " +
                      std::to_string(at_.lanes_left_out) + " are left out (--agent NAME picks others)");
    }
    for (const std::string& note : notes) {
      write_line(y, "note", note);
      y += 16;
    }
  }

  void lanes() {
    const double top = at_.top, height = at_.bottom - at_.top;
    for (std::size_t i = 0; i < at_.lanes.size(); ++i) {
      const lane& l = m_.lanes[at_.lanes[i]];
      box(at_.lane_x[i], top, at_.lane_width[i], height, 8, "lane");
      line(at_.node_x[i], top + 30, at_.node_x[i], at_.bottom - 8, "life");
      text(at_.node_x[i] - 9, top + 20, l.acted ? "agent" : "agent idle",
           fit(l.name, letters_in(at_.lane_x[i] + at_.lane_width[i] - at_.node_x[i])));
    }
    if (at_.outside_width > 0) text(at_.outside_x + 10, top + 20, "agent idle", "outside, digd");
    text(72, top + 20, "time", scale_.unit(), "end");
  }

  void times() {
    std::string before;
    for (const auto& [row, y] : at_.row_y) {
      const std::string now = scale_.at(m_.rows[row].ts);
      if (now != before) text(72, y + 4, "time", now, "end");
      before = now;
    }
    for (const auto& [row, y] : at_.pause_y) {
      line(at_.outside_x, y - 4, at_.width - 28, y - 4, "pause");
      const auto earlier = std::lower_bound(part_.rows.begin(), part_.rows.end(), row);
      if (earlier == part_.rows.begin()) continue;
      text(72, y, "time", "+" + duration(m_.rows[row].ts - m_.rows[*std::prev(earlier)].ts), "end");
    }
  }

  // ---- edges

  // A broad band beneath the highlighted nodes and edges.
  void glow() {
    const highlight& lit = *look_.lit;
    const double half = svg_layout::square / 2;
    to_.open("g").children().line_end();
    for (const svg_edge& e : at_.edges) {
      if (e.to == none || !lit.events[m_.rows[e.row].event] || !lit.activations[e.to]) continue;
      shape(path().move(e.x0, e.y0).horizontal(e.track).vertical(e.y1).horizontal(e.x1), "glow");
    }
    for (const auto& [at, y] : at_.row_y) {
      const row& r = m_.rows[at];
      if (r.kind == row_kind::start && lit.activations[r.activation]) {
        const svg_span& s = at_.spans[r.activation];
        line(s.x, s.top - half, s.x, s.bottom + half, "glow");
        circle(s.x, s.top, svg_layout::span_width, "glow whole");
      } else if (r.event != none && lit.events[r.event] &&
                 (r.kind == row_kind::event || r.kind == row_kind::reroute || r.kind == row_kind::remedy)) {
        const double x = at_.square_x(m_, r);
        if (r.activation != none && at_.spans[r.activation].shown && lit.activations[r.activation])
          line(at_.spans[r.activation].x, y, x, y, "glow");
        box(x - half - 3, y - half - 3, 2 * half + 6, 2 * half + 6, 3, "glow whole");
      }
    }
    close_group();
  }

  void edges() {
    to_.open("g").attribute("fill", "none").children().line_end();
    for (const svg_edge& e : at_.edges) {
      if (e.fate != fate::lost) edge(e);
    }
    close_group();
  }

  static std::string style_of(const svg_edge& e) {
    return e.by_monitor ? "heals" : productive(e.fate) ? "works" : "idles";
  }

  void edge(const svg_edge& e) {
    const double side = e.track > e.x0 ? 1 : -1;
    const double half = svg_layout::square / 2;
    const double r = std::max(0.0, std::min(8.0, (e.y1 - e.y0) / 2));
    svg_path way = path();
    way.move(e.x0 + side * half, e.y0).horizontal(e.track - side * r).quadratic(e.track, e.y0, e.track, e.y0 + r);
    if (e.to == none) way.vertical(e.y1);
    else way.vertical(e.y1 - r).quadratic(e.track, e.y1, e.track + r, e.y1).horizontal(e.x1 - 6);
    shape(way, style_of(e));
    if (e.to == none) stop(e);
  }

  // Drawn over everything else, so that the ends of edges are visible.
  void tips() {
    for (const svg_edge& e : at_.edges) {
      if (e.to != none) tip(e);
    }
  }

  void tip(const svg_edge& e) {
    shape(path().move(e.x1 - 1, e.y1).relative("l-7.5 -3.6v7.2z"), style_of(e) + " tip");
    const std::string_view word = e.fate == fate::waiting     ? "⋯"
                                  : e.fate == fate::discarded ? "✗"
                                  : e.fate == fate::rerouted  ? "↪"
                                                              : "";
    if (!word.empty()) text(e.x1 - 9, e.y1 - 3.5, "sign", word, "end");
  }

  // The end of a delivery that no activation in the picture took.
  void stop(const svg_edge& e) {
    open_group(
        m_.events[m_.rows[e.row].event].id + " for " + m_.lanes[e.lane].name + ": " + std::string(to_string(e.fate)),
        "");
    if (e.fate == fate::pending) {
      circle(e.track, e.y1 + 4, 4, "stop");
    } else if (e.fate == fate::withdrawn || e.fate == fate::unknown) {
      box(e.track - 4, e.y1, 8, 8, 0, "hit");
      shape(path().move(e.track - 3.5, e.y1 + 0.5).relative("l7 7m0 -7l-7 7"),
            e.fate == fate::unknown ? "stop" : "cross");
    } else {  // taken by an activation outside the picture
      shape(path().move(e.track, e.y1 + 7).relative("l-3.6 -7h7.2z"), style_of(e) + " tip");
    }
    close_group();
  }

  // ---- nodes

  void nodes() {
    for (const auto& [at, y] : at_.row_y) {
      const row& r = m_.rows[at];
      switch (r.kind) {
        case row_kind::start: span(r.activation); break;
        case row_kind::event:
        case row_kind::reroute:
        case row_kind::remedy: square(r, y); break;
        case row_kind::firing: firing(r, y); break;
        case row_kind::note: note(r, y); break;
        case row_kind::end: break;
      }
    }
  }

  std::string_view ring_of(const std::vector<index>& findings) const {
    std::string_view ring;
    for (const index f : findings) {
      if (m_.findings[f].severity == severity::failure) return "fails";
      ring = "warns";
    }
    return ring;
  }

  void span(index v) {
    const activation& a = m_.activations[v];
    const svg_span& s = at_.spans[v];
    const double half = svg_layout::span_width / 2;
    std::string facts = (a.generating() ? "problem-generating" : "problem-reducing") + std::string(", ");
    for (const input& i : a.inputs) facts += std::string(sign(i.reaction)) + m_.events[i.event].id + " ";
    facts += "→";
    for (const index e : a.outputs) facts += " " + m_.events[e].id;
    open_group("activation " + a.id + " of " + m_.lanes[a.lane].name + ", " + scale_.at(a.started) + std::string(" ") +
                   std::string(scale_.unit()) +
                   (a.open ? a.stalled ? ", stalled" : ", still open"
                           : ", " + duration(a.ended - a.started) + (a.failed ? ", failed" : "")),
               facts);
    ghosts(v);
    std::string cls = a.failed ? "span broken" : a.open ? "span open" : a.generating() ? "span many" : "span";
    if (s.bottom - s.top < 1) {
      circle(s.x, s.top, half + 1, cls);
    } else {
      box(s.x - half, s.top - half - 1, svg_layout::span_width, s.bottom - s.top + svg_layout::span_width + 2, half,
          cls);
    }
    if (a.failed) {
      shape(path().move(s.x - 4, s.top - 4).relative("l8 8m0 -8l-8 8"), "cross");
    } else if (!a.outputs.empty()) {
      shape(path()
                .move(s.x, s.top + (a.generating() ? -4 : 4))
                .relative(a.generating() ? "l4.2 7h-8.4z" : "l4.2 -7h-8.4z"),
            "glyph");
    }
    const std::size_t at = at_.place[a.lane];
    const double x = at_.side_x[at] + 7;
    const double room = at_.lane_x[at] + at_.lane_width[at] - x;
    const std::string id = fit(a.id, letters_in(room));
    text(x, s.top + 4, "id", id);
    const std::string more = a.open     ? a.stalled ? "stalled" : "open"
                             : a.failed ? "failed " + duration(a.ended - a.started)
                                        : duration(a.ended - a.started);
    const double used = static_cast<double>(width_of(id)) * letter + 7;
    if (used + static_cast<double>(more.size()) * letter < room)
      text(x + used, s.top + 4, a.failed ? "less bad" : "less", more);
    close_group();
  }

  // Inputs from events outside the picture.
  void ghosts(index v) {
    const activation& a = m_.activations[v];
    for (std::size_t i = 0; i < std::min(a.inputs.size(), svg_layout::max_ports); ++i) {
      const index event = a.inputs[i].event;
      const bool drawn = std::any_of(at_.edges.begin(), at_.edges.end(),
                                     [&](const svg_edge& e) { return e.to == v && m_.rows[e.row].event == event; });
      if (drawn) continue;
      const double y = at_.port_y(m_, v, i), x = at_.spans[v].x - svg_layout::span_width / 2;
      line(x - 14, y, x - 1, y, "idles");
      box(x - 20, y - 3, 6, 6, 1, "ghost");
    }
  }

  struct word {
    std::string text;
    std::string_view cls;
  };

  // Codes of rules as badges, then words, as far as there is room.
  void words(double x, double y, double room, const std::vector<index>& findings,
             const std::vector<word>& given_words) {
    const double end = x + room;
    bool first = true;
    const auto badges = [&] {
      for (const index f : findings) {
        const detection& d = m_.findings[f];
        const double w = static_cast<double>(code_of(d.rule).size()) * letter + 8;
        if (x + w > end) return;
        box(x, y - 10.5, w, 13.5, 4, d.severity == severity::failure ? "badge fails" : "badge warns");
        text(x + 4, y, "code", code_of(d.rule));
        x += w + 5;
      }
    };
    for (const word& w : given_words) {
      if (end - x < 2 * letter) break;
      const std::string fitting = fit(w.text, letters_in(end - x));
      text(x, y, w.cls, fitting);
      x += static_cast<double>(width_of(fitting) + 1) * letter;
      if (first) badges();
      first = false;
    }
  }

  void square(const row& r, double y) {
    const event& e = m_.events[r.event];
    const double x = at_.square_x(m_, r), half = svg_layout::square / 2;
    const bool again = r.kind != row_kind::event && !(r.kind == row_kind::remedy && e.system);
    open_group(title_of(r), e.text);
    if (r.activation != none && r.kind != row_kind::remedy && at_.spans[r.activation].shown) {
      line(at_.spans[r.activation].x + svg_layout::span_width / 2, y, x - half, y, "works");
    }
    const std::string_view ring = r.kind == row_kind::remedy ? std::string_view{} : ring_of(part_.detections_of(r));
    if (!ring.empty()) box(x - 10, y - 10, 20, 20, 5, "ring " + std::string(ring));
    else if (!e.evidence.empty() && !again) box(x - 9, y - 9, 18, 18, 4, "ring named");
    std::string cls = "square";
    if (r.kind == row_kind::remedy) cls += " heals";
    if (again) cls += " again";
    if (e.submit && r.kind == row_kind::event) cls += e.given_back ? " refused" : " answer";
    if (e.fyi) cls += " fyi";
    box(x - half, y - half, svg_layout::square, svg_layout::square, 2, cls);
    std::vector<word> current_words;
    if (r.kind == row_kind::reroute) current_words.push_back({"↪", "less"});
    current_words.push_back({e.id, r.kind == row_kind::remedy ? "id heals" : "id"});
    if (e.submit && r.kind == row_kind::event)
      current_words.push_back({e.given_back ? "given back" : "submit", e.given_back ? "less bad" : "less good"});
    if (r.injected) current_words.push_back({"✚", "id heals"});
    for (const transfer& g : r.to) {
      if (g.fate == fate::lost) current_words.push_back({"✕" + m_.lanes[g.lane].name, "less bad"});
      else if (!at_.has(g.lane)) current_words.push_back({"→" + m_.lanes[g.lane].name, "less"});
    }
    if (!e.kind.empty()) current_words.push_back({e.kind, "less"});
    if (e.fyi) current_words.push_back({"fyi", "less"});
    const bool in_lane =
        r.kind != row_kind::remedy && r.activation != none && at_.has(m_.activations[r.activation].lane);
    const std::size_t at = in_lane ? at_.place[m_.activations[r.activation].lane] : 0;
    const double end = in_lane ? at_.lane_x[at] + at_.lane_width[at] : at_.outside_x + at_.outside_width;
    words(x + 11, y - 3.5, end - x - 12, part_.detections_of(r), current_words);
    close_group();
  }

  std::string title_of(const row& r) const {
    const event& e = m_.events[r.event];
    std::string title = "event " + e.id + (e.kind.empty() ? "" : " (" + e.kind + ")");
    if (r.kind == row_kind::reroute) title += ", rerouted by " + m_.activations[r.activation].id;
    if (r.kind == row_kind::remedy) title += e.system ? ", made by digd" : ", given again by digd";
    if (r.kind == row_kind::event) {
      title += r.activation == none ? ", a root event" : ", by " + m_.activations[r.activation].id;
      if (e.submit) title += e.given_back ? ", an answer that was given back" : ", the answer";
    }
    for (const transfer& g : r.to)
      title += "; " + m_.lanes[g.lane].name + ": " + std::string(to_string(g.fate)) + (g.by_monitor ? " (digd)" : "");
    for (const index f : part_.detections_of(r)) title += "; " + std::string(digd::to_string(m_.findings[f].rule));
    return title;
  }

  void firing(const row& r, double y) {
    const detection& d = m_.findings[r.findings.front()];
    open_group(finding_title(d), d.reason);
    words(at_.outside_x + 11, y + 4, std::max(at_.outside_width, 150.0) - 12, part_.detections_of(r),
          {{r.event == none ? "found" : m_.events[r.event].id, "less"}});
    close_group();
  }

  void note(const row& r, double y) {
    if (r.lane != none && !at_.has(r.lane)) return;
    const bool bad = r.note == note_kind::problem;
    if (r.lane != none) {
      const std::size_t at = at_.place[r.lane];
      circle(at_.node_x[at], y, 3, "stop");
      text(at_.side_x[at] + 7, y + 4, "less", r.text);
      return;
    }
    const std::string about = r.event == none ? r.text : m_.events[r.event].id + ": " + r.text;
    text(at_.outside_x + 10, y + 4, bad ? "less bad" : "less", fit(about, letters_in(width_ - at_.outside_x - 30)));
  }

  // ---- below the graph

  void findings() {
    if (look_.embedded) {
      below_ = at_.bottom - 12;
      return;
    }
    double y = at_.bottom + 30;
    if (!part_.findings.empty()) {
      text(28, y, "head", "Findings");
      y += 6;
    }
    std::size_t n = 0;
    std::unordered_map<std::string, milliseconds> first_time_of_reason;
    const std::size_t columns = static_cast<std::size_t>((std::min(width_, 1300.0) - 128) / 6.6);
    for (const index f : part_.findings) {
      if (n++ == max_findings_listed) {
        y += line_height;
        text(76, y, "less", "and " + std::to_string(part_.findings.size() - max_findings_listed) + " more");
        break;
      }
      y += line_height + 4;
      const detection& d = m_.findings[f];
      const double w = static_cast<double>(code_of(d.rule).size()) * letter + 8;
      box(28, y - 10.5, w, 13.5, 4, d.severity == severity::failure ? "badge fails" : "badge warns");
      text(32, y, "code", code_of(d.rule));
      text(76, y, "words",
           std::string(digd::to_string(d.rule)) + " at " + scale_.at(d.ts) + " " + std::string(scale_.unit()) +
               (d.event ? " · " + *d.event : "") + (d.agent ? " · " + *d.agent : "") + " · " + finding_outcome(d));
      const auto [before, is_new] = first_time_of_reason.try_emplace(d.reason, d.ts);
      for (const std::string& part :
           wrapped(is_new ? d.reason : "the same as at " + scale_.at(before->second), columns)) {
        y += 16;
        text(76, y, "reason", part);
      }
    }
    below_ = part_.findings.empty() ? at_.bottom + 6 : y;
  }

  const model& m_;
  const selection& part_;
  const svg_look look_;
  const time_scale scale_;
  const svg_layout at_;
  double width_ = 0, height_ = 0, below_ = 0;
};

}  // namespace

std::string draw_svg(const model& m, const selection& part, const svg_look& look) {
  return drawing(m, part, look).run();
}

}  // namespace digd::picture
