#include "report/picture/terminal.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "report/picture/canvas.h"
#include "report/picture/labels.h"
#include "report/picture/text.h"

namespace digd::picture {

namespace {

constexpr std::size_t min_lane_width = 15, max_lane_width = 36;
constexpr std::size_t max_reason_lines = 3;  // `digctl replay` prints all of it
constexpr std::size_t lines_a_page = 60;     // then the heads of the lanes are repeated

class painter {
 public:
  painter(const model& m, const selection& part, const terminal_look& look)
      : m_(m), part_(part), look_(look), scale_(time_scale::of(m)), gap_(notable_pause(m, part)) {
    lay_out();
  }

  std::string run() {
    title();
    if (!part_.rows.empty()) {
      heads();
      for (const index at : part_.rows) {
        // Findings are printed below the whole message.
        if (!pending_findings_.empty() && (m_.rows[at].seq == 0 || m_.rows[at].seq != message_)) tell_findings();
        message_ = m_.rows[at].seq;
        paint(m_.rows[at], at);
      }
      tell_findings();
      still_open();
    }
    if (look_.legend && !part_.rows.empty()) legend();
    for (const std::string& note : part_.notes) paragraph("note: " + note, style::warning, 0);
    for (const std::string& note : notes_) paragraph("note: " + note, style::warning, 0);
    return std::move(out_);
  }

 private:
  // ---- layout

  // The lanes that fit: those with the most to show.
  void lay_out() {
    for (const index at : part_.rows) {
      time_width_ = std::max(time_width_, scale_.at(m_.rows[at].ts).size());
    }
    border_ = time_width_ + 1;
    const bool from_outside = std::any_of(part_.rows.begin(), part_.rows.end(), [&](index at) {
      const row& r = m_.rows[at];
      return r.kind == row_kind::remedy || (r.kind == row_kind::event && r.activation == none);
    });
    outside_ = !from_outside ? 2 : look_.width >= 100 ? 20 : 15;
    const std::size_t before = border_ + outside_ + 1;
    const std::size_t room = look_.width > before ? look_.width - before : 1;
    const std::size_t fitting = std::max<std::size_t>(1, room / min_lane_width);
    std::vector<index> lanes = busiest_lanes(m_, part_, fitting);
    if (const std::size_t total = busiest_lanes(m_, part_, m_.lanes.size()).size(); total > lanes.size()) {
      notes_.push_back("the " + std::to_string(lanes.size()) + " busiest of " + std::to_string(total) +
                       " agents fit; --agent NAME picks others, --width makes room");
    }
    place_.assign(m_.lanes.size(), none);
    lane_width_ =
        lanes.empty() ? room : std::clamp(room / lanes.size(), std::min(min_lane_width, room), max_lane_width);
    for (std::size_t i = 0; i < lanes.size(); ++i) place_[lanes[i]] = static_cast<index>(i);
    lanes_ = std::move(lanes);
    open_.assign(lanes_.size(), {});
  }

  std::size_t x_of(index lane) const { return border_ + outside_ + 1 + place_[lane] * lane_width_; }
  bool is_shown(index lane) const { return lane != none && place_[lane] != none; }
  std::size_t bars_of(index lane) const { return std::max<std::size_t>(1, open_[place_[lane]].size()); }

  // ---- lines

  void emit(const canvas_line& line) {
    out_ += line.str(look_.color);
    out_ += '\n';
    if (++lines_ == lines_a_page) heads();
  }

  void paragraph(std::string_view text, style style, std::size_t indent) {
    for (const std::string& line : wrapped(text, look_.width > indent + 20 ? look_.width - indent : 20)) {
      out_ += std::string(indent, ' ') + styled(line, style, look_.color) + '\n';
      ++lines_;
    }
  }

  canvas_line fresh() const {
    canvas_line line(look_.width);
    line.put(border_, "│", style::dim);
    for (const index l : lanes_) {
      line.put(x_of(l), "│", style::dim);
      const std::vector<index>& open = open_[place_[l]];
      for (std::size_t i = 0; i < open.size(); ++i) {
        if (open[i] != none) line.put(x_of(l) + i, "┃", style::work);
      }
    }
    return line;
  }

  void stamp(canvas_line& line, milliseconds ts) {
    const std::string text = scale_.at(ts);
    if (text == last_stamp_) return;
    last_stamp_ = text;
    line.text(time_width_ - std::min(time_width_, text.size()), text, style::dim, time_width_);
  }

  void pause(milliseconds ts) {
    if (seen_any_ && ts - last_ts_ >= gap_) {
      canvas_line line = fresh();
      line.text(time_width_ - 1, "⋮", style::dim, 1);
      line.text(border_ + 2, duration(ts - last_ts_) + " later", style::dim, look_.width);
      emit(line);
    }
    seen_any_ = true;
    last_ts_ = ts;
  }

  void title() {
    const std::string name = fit("run " + safe(m_.run), look_.width);
    out_ += styled(name, style::bold, look_.color);
    const std::string about = "  " + summary(m_);
    if (width_of(name) + width_of(about) <= look_.width) {
      out_ += styled(about, style::dim, look_.color) + '\n';
    } else {
      out_ += '\n';
      for (const std::string& line : wrapped(summary(m_), look_.width)) {
        out_ += styled(line, style::dim, look_.color) + '\n';
      }
    }
    if (scale_.dated) out_ += styled("times from " + scale_.start() + " on", style::dim, look_.color) + '\n';
    out_ += '\n';
  }

  void heads() {
    lines_ = 0;
    canvas_line names(look_.width), line(look_.width);
    names.text(time_width_ - scale_.unit().size(), scale_.unit(), style::dim, 4);
    for (const index l : lanes_) {
      const std::string name = safe(m_.lanes[l].name);
      names.text(x_of(l), name, m_.lanes[l].acted ? style::bold : style::dim, lane_width_ - 2);
    }
    out_ += names.str(look_.color) + '\n';
    line = fresh();
    line.put(border_, "╷", style::dim);
    for (const index l : lanes_) {
      if (open_[place_[l]].empty()) line.put(x_of(l), "╷", style::dim);
    }
    out_ += line.str(look_.color) + '\n';
  }

  // ---- rows

  void paint(const row& r, index at) {
    switch (r.kind) {
      case row_kind::start: return start(r, at);
      case row_kind::end: return end(r, at);
      case row_kind::event:
      case row_kind::reroute:
      case row_kind::remedy: arrow(r, at); break;
      case row_kind::firing: pause(r.ts); break;
      case row_kind::note: return note(r);
    }
    for (const index f : part_.detections_of(r)) {
      if (std::find(pending_findings_.begin(), pending_findings_.end(), f) == pending_findings_.end())
        pending_findings_.push_back(f);
    }
  }

  index bar_end(const activation& a) const { return closing_row(m_, part_, a); }

  std::size_t open_bar(index v) {
    std::vector<index>& bars = open_[place_[m_.activations[v].lane]];
    auto free = std::find(bars.begin(), bars.end(), none);
    if (free == bars.end()) free = bars.insert(bars.end(), none);
    *free = v;
    return static_cast<std::size_t>(free - bars.begin());
  }

  void close_bar(index v) {
    std::vector<index>& bars = open_[place_[m_.activations[v].lane]];
    std::replace(bars.begin(), bars.end(), v, none);
    while (!bars.empty() && bars.back() == none) bars.pop_back();
  }

  std::optional<std::size_t> bar_of(index v) const {
    if (v == none || !is_shown(m_.activations[v].lane)) return {};
    const std::vector<index>& bars = open_[place_[m_.activations[v].lane]];
    const auto at = std::find(bars.begin(), bars.end(), v);
    if (at == bars.end()) return {};
    return static_cast<std::size_t>(at - bars.begin());
  }

  // From here to the next bar on the right: may overwrite thin lines, but not bars.
  std::size_t room_from(const canvas_line& line, std::size_t x) const {
    std::size_t end = x;
    while (end < look_.width && line.glyph(end) != "┃") ++end;
    return end > x + 1 && end < look_.width ? end - x - 1 : end - x;
  }

  void start(const row& r, index at) {
    const activation& a = m_.activations[r.activation];
    if (!is_shown(a.lane)) return;
    pause(r.ts);
    const bool instant = bar_end(a) == at;
    const std::size_t bar = open_bar(r.activation);
    canvas_line line = fresh();
    stamp(line, r.ts);
    const std::size_t x = x_of(a.lane);
    line.put(x + bar, instant ? "●" : "┏", a.failed ? style::bad : style::work);
    std::size_t to = x + bars_of(a.lane) + 1;
    const std::size_t limit = to + room_from(line, to);
    const auto write = [&](std::string_view text, style style) {
      if (to + 1 < limit) to = line.text(to, text, style, limit - to);
    };
    write(safe(a.id), style::bold);
    std::size_t reported = 0;
    for (const input& i : a.inputs) {
      const style current_style = i.reaction == reaction::consume ? style::good
                                  : i.reaction == reaction::none  ? style::plain
                                                                  : style::dim;
      if (reported++ >= 6) {
        write(" +" + std::to_string(a.inputs.size() - 6), style::dim);
        break;
      }
      write(" " + std::string(sign(i.reaction)) + safe(m_.events[i.event].id), current_style);
    }
    if (a.failed) write(" failed", style::bad);
    if (!a.open) {
      write("  " + duration(a.ended - a.started), style::dim);
      if (!a.outputs.empty()) write(a.generating() ? " ▲" : " ▼", style::dim);
    }
    emit(line);
    used_.insert(a.outputs.empty() ? "activation" : a.generating() ? "▲" : "▼");
    for (const input& i : a.inputs) used_.insert(std::string(sign(i.reaction)));
    if (instant) close_bar(r.activation);
  }

  void end(const row& r, index at) {
    const activation& a = m_.activations[r.activation];
    const std::optional<std::size_t> bar = bar_of(r.activation);
    if (!bar || bar_end(a) != at) return;
    pause(r.ts);
    canvas_line line = fresh();
    stamp(line, r.ts);
    line.put(x_of(a.lane) + *bar, "┗", a.failed ? style::bad : style::work);
    const std::size_t to = x_of(a.lane) + bars_of(a.lane) + 1;
    line.text(to, safe(a.id) + (a.failed ? " fails" : " ends"), a.failed ? style::bad : style::dim,
              room_from(line, to));
    emit(line);
    close_bar(r.activation);
  }

  struct target {
    std::size_t x;
    digd::picture::fate fate;
    bool by_monitor;
  };

  static style style_of(const target& t) {
    return t.by_monitor           ? style::monitor
           : t.fate == fate::lost ? style::bad
           : productive(t.fate)   ? style::plain
                                  : style::dim;
  }
  static std::string_view line_of(const target& t) { return t.by_monitor ? "═" : productive(t.fate) ? "─" : "╌"; }

  // The label of an event on its arrow, with the recipients to which no arrow leads.
  struct word {
    std::string text;
    digd::picture::style style;
  };
  std::vector<word> label_of(const row& r, std::optional<index> from_lane) {
    const event& e = m_.events[r.event];
    std::vector<word> words;
    const auto add = [&](std::string text, style style) { words.push_back({std::move(text), style}); };
    if (r.kind == row_kind::reroute) add("↪", style::dim);
    if (r.kind == row_kind::remedy) add("◆", style::monitor);
    if (from_lane) add(safe(m_.lanes[*from_lane].name) + ":", style::dim);
    add(safe(e.id), r.kind == row_kind::remedy ? style::monitor : style::bold);
    for (const index f : part_.detections_of(r)) {
      add(std::string(code_of(m_.findings[f].rule)),
          m_.findings[f].severity == severity::failure ? style::bad : style::warning);
    }
    if (e.submit && r.kind == row_kind::event) add("■", e.given_back ? style::bad : style::good);
    if (r.injected) add("✚", style::monitor);
    if (!e.kind.empty()) add(safe(e.kind), style::dim);
    if (e.fyi) add("fyi", style::dim);
    for (const transfer& g : r.to) {
      const bool own = from_own(r, g.lane);
      if (is_shown(g.lane) && !own) continue;
      const std::string name = own ? "↩" : safe(m_.lanes[g.lane].name);
      const bool bad = g.fate == fate::lost;
      add((bad ? "✕" : own ? "" : "→") + name, bad ? style::bad : g.by_monitor ? style::monitor : style::plain);
      used_.insert(bad ? "✕" : own ? "↩" : "→");
    }
    if (look_.words && !e.text.empty()) add("“" + safe(e.text) + "”", style::dim);
    if (r.injected) used_.insert("✚");
    if (e.submit) used_.insert("■");
    if (r.kind == row_kind::remedy) used_.insert("◆");
    return words;
  }

  bool from_own(const row& r, index lane) const {
    return r.activation != none && r.kind != row_kind::remedy && m_.activations[r.activation].lane == lane &&
           is_shown(lane);
  }

  void arrow(const row& r, index at) {
    pause(r.ts);
    canvas_line line = fresh();
    stamp(line, r.ts);
    const std::optional<std::size_t> bar = bar_of(r.activation);
    const index lane = r.activation == none ? none : m_.activations[r.activation].lane;
    const bool from_lane = is_shown(lane);
    const bool last = bar && bar_end(m_.activations[r.activation]) == at;
    std::size_t from = border_, text_at = border_ + 3;
    if (from_lane) {
      from = x_of(lane) + bar.value_or(0);
      text_at = x_of(lane) + bars_of(lane) + 1;
      line.put(from, last ? "┗" : bar ? "┣" : "├", bar ? style::work : style::dim);
    } else {
      line.put(border_, r.kind == row_kind::remedy ? "╞" : "├",
               r.kind == row_kind::remedy ? style::monitor : style::plain);
    }
    std::vector<target> left, right;
    for (const transfer& g : r.to) {
      if (!is_shown(g.lane) || from_own(r, g.lane)) continue;
      const target t{x_of(g.lane), g.fate, g.by_monitor};
      (t.x > from ? right : left).push_back(t);
      if (!g.by_monitor && !productive(g.fate)) used_.insert("╌");
    }
    std::sort(right.begin(), right.end(), [](const target& a, const target& b) { return a.x < b.x; });
    std::sort(left.begin(), left.end(), [](const target& a, const target& b) { return a.x > b.x; });
    const std::vector<word> words = label_of(r, lane != none && !from_lane ? std::optional<index>(lane) : std::nullopt);
    if (!left.empty()) draw(line, left, from, false, {}, 0);
    draw(line, right, from, true, words, text_at);
    emit(line);
    if (last) close_bar(r.activation);
  }

  // The shafts from the farthest target on, so that the nearer ones lie over them; then heads and the label.
  void draw(canvas_line& line, const std::vector<target>& targets, std::size_t from, bool rightwards,
            const std::vector<word>& words, std::size_t text_at) {
    for (auto t = targets.rbegin(); t != targets.rend(); ++t) {
      const std::size_t begin = rightwards ? from + 1 : t->x + 1, end = rightwards ? t->x : from;
      for (std::size_t x = begin; x < end; ++x) {
        const std::string_view there = line.glyph(x);
        if (there == "┃") continue;  // it passes beneath
        const bool crosses = there == "│" || there == "┼" || there == "╪";
        line.put(x, !crosses ? line_of(*t) : t->by_monitor ? "╪" : "┼", crosses ? style::dim : style_of(*t));
      }
    }
    for (const target& t : targets) {
      std::size_t at = rightwards ? t.x - 1 : t.x + 1;
      while (!rightwards && line.glyph(at) == "┃") ++at;
      const std::string_view outcome = t.fate == fate::taken ? std::string_view{} : sign(t.fate);
      if (line.glyph(t.x) != "┃") line.put(t.x, "│", style::dim);
      line.put(at, rightwards ? "▶" : "◀", style_of(t));
      if (!outcome.empty() && !t.by_monitor) {
        line.put(rightwards ? at - 1 : at + 1, outcome, t.fate == fate::lost ? style::bad : style::dim);
        used_.insert(std::string(outcome));
      }
    }
    if (words.empty()) return;
    const std::size_t nearest = targets.empty() ? text_at + room_from(line, text_at) : targets.front().x - 3;
    std::size_t limit = std::max(nearest, text_at + 4);
    std::size_t at = text_at;
    bool first = true;
    for (const word& w : words) {
      if (at + (first ? 0 : 2) >= limit) break;
      if (!first) line.put(at++, "", style::plain);
      at = line.text(at, w.text, w.style, limit - at);
      first = false;
    }
    if (at < limit) line.put(at, "", style::plain);
    if (text_at > 0 && line.glyph(text_at - 1) != "┃") line.put(text_at - 1, "", style::plain);
  }

  void tell_findings() {
    for (const index f : pending_findings_) finding(m_.findings[f]);
    pending_findings_.clear();
  }

  // Text over the lanes, which continue behind it.
  void say(std::size_t at, std::string_view words, style style, milliseconds ts) {
    canvas_line line = fresh();
    stamp(line, ts);
    const std::size_t end = line.text(at, words, style, look_.width);
    if (line.glyph(end) != "┃") line.put(end, "", style::plain);
    emit(line);
  }

  void finding(const detection& d) {
    const style current_style = d.severity == severity::failure ? style::bad : style::warning;
    say(border_ + 2, "⚠ " + finding_title(d), current_style, d.ts);
    const std::size_t indent = border_ + 4;
    const auto [before, is_new] = first_time_of_reason_.try_emplace(d.reason, d.ts);
    const std::string words = is_new ? d.reason : "the same as at " + scale_.at(before->second);
    std::vector<std::string> lines = wrapped(words, look_.width > indent + 20 ? look_.width - indent - 1 : 20);
    if (lines.size() > max_reason_lines) {
      lines.resize(max_reason_lines);
      lines.back() = fit(lines.back(), look_.width - indent - 4) + " …";
    }
    for (const std::string& part : lines) say(indent, part, is_new ? style::plain : style::dim, d.ts);
    say(indent, finding_outcome(d), d.healed ? style::good : style::dim, d.ts);
  }

  void note(const row& r) {
    if (r.lane != none && !is_shown(r.lane)) return;
    pause(r.ts);
    canvas_line line = fresh();
    stamp(line, r.ts);
    const bool bad = r.note == note_kind::problem;
    if (r.lane != none) {
      line.put(x_of(r.lane), "◇", style::dim);
      line.text(x_of(r.lane) + 2, r.text, style::dim, lane_width_ - 3);
    } else {
      const std::string text = (r.event != none ? safe(m_.events[r.event].id) + ": " : "") + r.text;
      line.text(border_ + 2, fit(text, look_.width - border_ - 3) + " ", bad ? style::bad : style::dim, look_.width);
    }
    emit(line);
  }

  void still_open() {
    for (const index l : lanes_) {
      for (const index v : std::vector<index>(open_[place_[l]])) {
        if (v == none || !m_.activations[v].open) continue;
        const std::size_t bar = *bar_of(v);
        canvas_line line = fresh();
        line.put(x_of(l) + bar, "╏", style::warning);
        const std::size_t to = x_of(l) + bars_of(l) + 1;
        line.text(to, safe(m_.activations[v].id) + (m_.activations[v].stalled ? " stalled" : " still open"),
                  style::warning, room_from(line, to));
        emit(line);
      }
    }
  }

  void legend() {
    out_ += '\n';
    std::string text = "┏┗ activation  ● one without outputs  ─▶ event";
    const auto add = [&](std::string_view sign, std::string_view meaning) {
      if (used_.contains(std::string(sign))) text += "  " + std::string(sign) + " " + std::string(meaning);
    };
    add("╌", "given, not productive");
    add("✓", "consumed");
    add("…", "waits");
    add("✗", "discarded");
    add("↪", "rerouted");
    add("·", "open or failed");
    add("○", "pending");
    add("✕", "lost");
    add("⊖", "withdrawn");
    add("?", "unknown");
    add("→", "to one not shown");
    add("↩", "to itself");
    add("▲", "generating: more outputs than inputs");
    add("▼", "reducing: no more");
    add("■", "submits");
    add("✚", "digd adds a text");
    add("◆", "═▶ digd gives");
    paragraph(text, style::dim, 0);
  }

  const model& m_;
  const selection& part_;
  const terminal_look& look_;
  const time_scale scale_;
  const milliseconds gap_;
  std::size_t time_width_ = 2, border_ = 0, outside_ = 2, lane_width_ = 0;
  std::vector<index> lanes_;
  std::vector<index> place_;              // by lane: which of those shown; none: it is not
  std::vector<std::vector<index>> open_;  // by place: the open activations, one a bar
  std::vector<index> pending_findings_;   // of the current message
  std::uint64_t message_ = 0;             // its seq
  std::string last_stamp_;
  milliseconds last_ts_ = 0;
  bool seen_any_ = false;
  std::size_t lines_ = 0;
  std::set<std::string> used_;                                          // signs, for the legend
  std::unordered_map<std::string, milliseconds> first_time_of_reason_;  // reasons
  std::vector<std::string> notes_;
  std::string out_;
};

}  // namespace

std::string draw_terminal(const model& m, const selection& part, const terminal_look& look) {
  return painter(m, part, look).run();
}

}  // namespace digd::picture
