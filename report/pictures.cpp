#include "report/pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <vector>

#include "report/picture/chart.h"
#include "report/picture/labels.h"
#include "report/picture/model.h"
#include "report/words.h"

namespace digd::report {

namespace {

using picture::chart;
using picture::scale;

picture::svg_path path() { return picture::svg_path(picture::coordinates::tenths); }

constexpr std::size_t max_nodes = 14, max_agents = 30, max_counts = 12;

std::string flow_end(const observed& seen, index end, std::size_t most) {
  if (end == flow::outside) return "outside";
  if (end == flow::monitor) return "digd";
  return short_name(seen.agents[end].name, most);
}

double weight_of(std::uint64_t n) { return 1.2 + 1.5 * std::log10(static_cast<double>(std::max<std::uint64_t>(1, n))); }

// The agents with the most flows, in the order in which the run named them.
std::vector<index> busiest_ends(const observed& seen) {
  std::map<index, std::uint64_t> given;
  for (const flow& f : seen.flows) {
    given[f.from] += f.given;
    given[f.to] += f.given;
  }
  std::vector<index> ends;
  ends.reserve(given.size());
  for (const auto& [end, n] : given) ends.push_back(end);
  std::stable_sort(ends.begin(), ends.end(), [&](index a, index b) { return given[a] > given[b]; });
  if (ends.size() > max_nodes) ends.resize(max_nodes);
  std::sort(ends.begin(), ends.end());
  return ends;
}

struct point {
  double x = 0, y = 0;
};

// From one circle to another, bent to its right, with a head.
void arrow(chart& to, point a, point b, const flow& f, bool counted, const std::string& tip) {
  constexpr double radius = 15;
  const double dx = b.x - a.x, dy = b.y - a.y, length = std::max(1.0, std::hypot(dx, dy));
  const point mid{(a.x + b.x) / 2 - dy / length * 0.14 * length, (a.y + b.y) / 2 + dx / length * 0.14 * length};
  const auto towards = [&](point from, point goal, double by) {
    const double l = std::max(1.0, std::hypot(goal.x - from.x, goal.y - from.y));
    return point{from.x + (goal.x - from.x) / l * by, from.y + (goal.y - from.y) / l * by};
  };
  const point p = towards(a, mid, radius), q = towards(b, mid, radius + 7), head = towards(b, mid, radius);
  const char* text = f.from == flow::monitor ? " heals" : 2 * f.idle > f.given ? " idle" : "";
  to.shape(path().move(p.x, p.y).quadratic(mid.x, mid.y, q.x, q.y), fmt::format("link{}", text), tip,
           weight_of(f.given));
  const double ux = (head.x - q.x) / 7, uy = (head.y - q.y) / 7;
  to.shape(path()
               .move(head.x, head.y)
               .line(q.x - uy * 4.5 - ux, q.y + ux * 4.5 - uy)
               .line(q.x + uy * 4.5 - ux, q.y - ux * 4.5 - uy)
               .relative("z"),
           fmt::format("head{}", text));
  if (counted)
    to.text((p.x + 2 * mid.x + q.x) / 4, (p.y + 2 * mid.y + q.y) / 4 + 4, "middle", "count", std::to_string(f.given));
}

void loop(chart& to, point at, double angle, const flow& f, const std::string& tip) {
  const double x = at.x + 15 * std::cos(angle), y = at.y + 15 * std::sin(angle), far = 46;
  to.shape(path().move(x, y).cubic(at.x + far * std::cos(angle - 0.6), at.y + far * std::sin(angle - 0.6),
                                   at.x + far * std::cos(angle + 0.6), at.y + far * std::sin(angle + 0.6), x, y),
           2 * f.idle > f.given ? "link idle" : "link", tip, weight_of(f.given));
}

// The agents with the most activations, in the order in which the run named them.
std::vector<index> busiest_agents(const observed& seen) {
  std::vector<index> indexes;
  for (index a = 0; a < seen.agents.size(); ++a) {
    if (seen.agents[a].activations > 0) indexes.push_back(a);
  }
  std::stable_sort(indexes.begin(), indexes.end(),
                   [&](index a, index b) { return seen.agents[a].activations > seen.agents[b].activations; });
  if (indexes.size() > max_agents) indexes.resize(max_agents);
  std::sort(indexes.begin(), indexes.end());
  return indexes;
}

class timeline {
 public:
  explicit timeline(const observed& seen)
      : seen_(seen),
        rows_(busiest_agents(seen)),
        time_(picture::time_scale::of(seen.first_ts, seen.last_ts)),
        x_{static_cast<double>(seen.first_ts), static_cast<double>(std::max(seen.last_ts, seen.first_ts + 1)), left,
           width - 24} {
    for (std::size_t r = 0; r < rule_count; ++r) {
      if (seen.rules[r].found > 0) found_.push_back(static_cast<rule_id>(r));
    }
  }

  figure draw() {
    const double bottom = top + row * static_cast<double>(rows_.size());
    const double height = bottom + (found_.empty() ? 0 : 14 + mark_row * static_cast<double>(found_.size())) + 44;
    figure out;
    out.title = "Who acted when";
    out.caption = words();
    chart to(width, height, out.title, subtitle(), {.embedded = true, .description = out.caption});
    for (std::size_t i = 0; i < rows_.size(); ++i) lane(to, i);
    double y = bottom + 14;
    for (const rule_id rule : found_) {
      marks(to, rule, y);
      y += mark_row;
    }
    axis(to, height - 34);
    out.svg = to.done();
    return out;
  }

 private:
  static constexpr double width = 960, left = 176, top = 66, row = 24, mark_row = 20;

  bool one_by_one() const { return !seen_.spans.empty(); }

  std::string subtitle() const {
    std::string text = one_by_one() ? "bars: activations"
                                    : fmt::format("{} activations: the darker, the more began within {}",
                                                  grouped(seen_.activations), picture::duration(seen_.time.width));
    const std::size_t acted = static_cast<std::size_t>(
        std::count_if(seen_.agents.begin(), seen_.agents.end(), [](auto& a) { return a.activations > 0; }));
    if (acted > rows_.size())
      text += fmt::format(" · the {} busiest of {} agents", rows_.size(),
                          acted + (seen_.agents_left_out > 0 ? seen_.agents_left_out - 1 : 0));
    return text + (time_.dated ? " · from " + time_.start() : "");
  }

  std::string words() const {
    return fmt::format(
        "{} of {}{}: a row for each agent, and one below for each rule that found something. Section Who has the "
        "numbers.",
        counted(seen_.activations, "activation", "activations"), counted(seen_.members(), "agent", "agents"),
        seen_.guessed.times ? std::string() : " over " + picture::duration(seen_.last_ts - seen_.first_ts));
  }

  void axis(chart& to, double y) {
    const double zero = static_cast<double>(time_.zero), unit = time_.seconds ? 1000 : 1;
    const std::vector<double> values = picture::ticks((x_.low - zero) / unit, (x_.high - zero) / unit, 8);
    for (const double v : values) {
      to.line(x_(v * unit + zero), top - 6, x_(v * unit + zero), y, "grid");
      to.text(x_(v * unit + zero), y + 16, "middle", "small",
              picture::tick_text(v, values.size() > 1 ? values[1] - values[0] : 1));
    }
    to.text(left - 10, y + 16, "end", "small", std::string(time_.unit()));
  }

  void lane(chart& to, std::size_t at) {
    const double y = top + row * static_cast<double>(at);
    const agent_facts& a = seen_.agents[rows_[at]];
    to.text(left - 10, y + 16, "end", a.findings > 0 ? "strong" : "", short_name(a.name, 22));
    to.rect(left, y + 2, width - 24 - left, row - 4, "panel");
    if (one_by_one()) return bars(to, rows_[at], y);
    std::uint32_t most = 1;
    for (const index other : rows_)
      most = std::max(most, *std::max_element(seen_.agents[other].starts.begin(), seen_.agents[other].starts.end()));
    heat(to, a.starts, most, y + 2, row - 4, "busy", short_name(a.name));
  }

  // Counts by bin, in five shades of a logarithmic scale.
  void heat(chart& to, const std::vector<std::uint32_t>& counts, std::uint32_t most, double y, double height,
            std::string_view style, const std::string& name) {
    for (std::size_t b = 0; b < counts.size(); ++b) {
      if (counts[b] == 0) continue;
      const double from =
          static_cast<double>(seen_.time.start) + static_cast<double>(b) * static_cast<double>(seen_.time.width);
      const double share = std::log1p(counts[b]) / std::log1p(most);
      const double x0 = x_(from), x1 = std::min(width - 24, x_(from + static_cast<double>(seen_.time.width)));
      to.rect(x0, y, std::max(1.0, x1 - x0), height,
              fmt::format("{} q{}", style, std::clamp(static_cast<int>(std::ceil(share * 5)), 1, 5)),
              fmt::format("{}: {} from {}", name, counts[b], time_.moment(static_cast<milliseconds>(from))));
    }
  }

  // Overlapping activations of an agent are drawn one below the other, at most three.
  void bars(chart& to, index agent, double y) {
    std::vector<milliseconds> until;
    for (const span& s : seen_.spans) {
      if (s.agent != agent) continue;
      std::size_t slot = 0;
      while (slot < until.size() && until[slot] > s.started) ++slot;
      if (slot == until.size()) until.push_back(0);
      until[slot] = s.ended;
      const double x0 = x_(static_cast<double>(s.started)), x1 = std::max(x0 + 2, x_(static_cast<double>(s.ended)));
      const double down = 5.0 * static_cast<double>(std::min<std::size_t>(slot, 2));
      to.rect(x0, y + 4 + down, x1 - x0, slot == 0 ? 10 : 8,
              s.failed ? "span broken"
              : s.open ? "span open"
                       : "span",
              fmt::format("{}: {} to {}{}", short_name(s.id), time_.moment(s.started),
                          s.open ? "the end" : time_.moment(s.ended),
                          s.failed ? ", failed"
                          : s.open ? ", still open"
                                   : ""));
    }
  }

  void marks(chart& to, rule_id rule, double y) {
    const rule_facts& facts = seen_.rules[index_of(rule)];
    to.text(left - 10, y + 13, "end", "small", fmt::format("{} {}", picture::code_of(rule), grouped(facts.found)));
    to.line(left, y + 9, width - 24, y + 9, "grid");
    std::size_t reported = 0;
    for (const reported_detection& d : seen_.detections) reported += d.detection.rule == rule;
    if (reported < facts.found) {
      const std::uint32_t most = *std::max_element(facts.over_time.begin(), facts.over_time.end());
      return heat(to, facts.over_time, most, y + 2, 14, "mark fails", std::string(picture::code_of(rule)));
    }
    for (const reported_detection& d : seen_.detections) {
      if (d.detection.rule != rule) continue;
      const double x = x_(static_cast<double>(d.detection.ts));
      const bool grave = d.detection.severity == severity::failure;
      const std::string tip =
          fmt::format("{} at {}", picture::finding_title(d.detection), time_.moment(d.detection.ts));
      if (grave) to.shape(path().move(x, y + 3).relative("l6 11h-12z"), "mark fails", tip);
      else to.dot(x, y + 9, 5, "mark warns", tip);
    }
  }

  const observed& seen_;
  const std::vector<index> rows_;
  const picture::time_scale time_;
  const scale x_;
  std::vector<rule_id> found_;
};

// Draws a witness in layers: a node is to the right of all nodes that lead to it.
class witness_picture {
 public:
  explicit witness_picture(const witness& of) {
    for (const witness::node& e : of.events) add('e', e.id, e.agent);
    for (const witness::node& a : of.activations) add('a', a.id, a.agent);
    for (const witness::edge& e : of.edges) {
      if (e.kind == witness::edge_kind::pending) add('p', e.to, {});
    }
    for (const witness::edge& e : of.edges) {
      const bool made = e.kind == witness::edge_kind::generated;
      const auto from = places_.find({made ? 'a' : 'e', e.from});
      const auto to = places_.find({made ? 'e' : e.kind == witness::edge_kind::delivered ? 'a' : 'p', e.to});
      if (from != places_.end() && to != places_.end()) edges_.push_back({from->second, to->second, &e});
    }
    layer();
  }

  std::string draw(const std::string& title, const std::string& words) {
    chart to(width_, height_, title, {}, {.embedded = true, .description = words});
    for (const edge& e : edges_) draw(to, e);
    for (const node& n : nodes_) draw(to, n);
    return to.done();
  }

 private:
  static constexpr double box = 138, high = 26, across = 206, down = 44, head = 46;

  struct node {
    char kind;  // event, activation, the agent that an event waits for
    std::string id, agent;
    std::size_t depth = 0, line = 0;
  };
  struct edge {
    std::size_t from, to;
    const witness::edge* edge;
  };

  void add(char kind, const std::string& id, const std::string& agent) {
    const auto [at, is_new] = places_.try_emplace({kind, id}, nodes_.size());
    if (is_new) nodes_.push_back({kind, id, agent});
  }

  void layer() {
    for (std::size_t round = 0; round < nodes_.size(); ++round) {  // the number of rounds ends a cycle
      bool moved = false;
      for (const edge& e : edges_) {
        if (nodes_[e.to].depth > nodes_[e.from].depth || nodes_[e.from].depth + 1 >= nodes_.size()) continue;
        nodes_[e.to].depth = nodes_[e.from].depth + 1;
        moved = true;
      }
      if (!moved) break;
    }
    std::map<std::size_t, std::size_t> lines;
    std::size_t most = 0, deepest = 0;
    for (node& n : nodes_) {
      n.line = lines[n.depth]++;
      most = std::max(most, n.line + 1);
      deepest = std::max(deepest, n.depth);
    }
    width_ = std::max(320.0, 32 + across * static_cast<double>(deepest) + box + 16);
    height_ = head + down * static_cast<double>(most) + 6;
  }

  point at(const node& n) const {
    return {16 + across * static_cast<double>(n.depth), head + down * static_cast<double>(n.line)};
  }

  void draw(chart& to, const node& n) const {
    const point p = at(n);
    const char* style = n.kind == 'p' ? "node idle" : n.kind == 'a' ? "span" : "node";
    const char* kind = n.kind == 'p' ? "agent " : n.kind == 'a' ? "activation " : "event ";
    const std::string whose =
        n.agent.empty() ? "" : (n.kind == 'a' ? ", of agent " : ", by agent ") + short_name(n.agent);
    to.rect(p.x, p.y, box, high, style, kind + short_name(n.id, 80) + whose, n.kind == 'a' ? 13 : 2);
    to.text(p.x + box / 2, p.y + 17, "middle", "small strong", short_name(n.id, 19));
    if (!n.agent.empty()) to.text(p.x + box / 2, p.y + high + 11, "middle", "tiny", short_name(n.agent, 22));
  }

  void draw(chart& to, const edge& e) const {
    const point a = at(nodes_[e.from]), b = at(nodes_[e.to]);
    const double x0 = a.x + box, y0 = a.y + high / 2, x1 = b.x, y1 = b.y + high / 2;
    const bool waits = e.edge->kind == witness::edge_kind::pending;
    const bool idle = waits || (e.edge->kind == witness::edge_kind::delivered && e.edge->label != reaction::consume &&
                                e.edge->label != reaction::none);
    const char* text = idle ? " idle" : "";
    const double bend = std::max(24.0, (x1 - x0) / 2);
    to.shape(path().move(x0, y0).cubic(x0 + bend, y0, x1 - 8 - bend, y1, x1 - 7, y1), fmt::format("link{}", text));
    to.shape(path().move(x1, y1).relative("l-9 -4.5v9z"), fmt::format("head{}", text));
    const std::string label = waits                                           ? "waits"
                              : e.edge->kind == witness::edge_kind::generated ? "made"
                                                                              : std::string(to_string(e.edge->label));
    to.text((x0 + x1) / 2 - 3, (y0 + y1) / 2 - 5, "middle", "tiny", label == "none" ? "taken" : label);
  }

  std::vector<node> nodes_;
  std::map<std::pair<char, std::string>, std::size_t> places_;
  std::vector<edge> edges_;
  double width_ = 0, height_ = 0;
};

}  // namespace

figure draw_flows(const observed& seen) {
  constexpr double width = 960, height = 520, radius = 180;
  figure out;
  out.title = "Who gave to whom";
  const std::vector<index> ends = busiest_ends(seen);
  std::set<index> indexes;
  for (const flow& f : seen.flows) indexes.insert({f.from, f.to});
  std::uint64_t given = 0;
  for (const flow& f : seen.flows) given += f.given;
  out.caption = fmt::format(
      "{} events given between {} parties; the thicker an arrow, the more. Dashed: most of them were left waiting, "
      "discarded or "
      "rerouted. The numbers are in the table below.",
      grouped(given), indexes.size());
  const std::string subtitle =
      ends.size() < indexes.size()
          ? fmt::format("the {} busiest of {}", ends.size(), indexes.size())
          : "outside: root events; digd: what it gave to heal; dashed circles are not agents of the run";
  chart to(width, height, out.title, subtitle, {.embedded = true, .description = out.caption});
  std::map<index, double> angle;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    angle[ends[i]] =
        -std::numbers::pi / 2 + 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(ends.size());
  }
  const auto place = [&](index end) {
    return point{width / 2 + 1.25 * radius * std::cos(angle[end]), 292 + radius * std::sin(angle[end])};
  };
  std::size_t counted = 0;
  for (const flow& f : seen.flows) {
    if (!angle.contains(f.from) || !angle.contains(f.to)) continue;
    const std::string tip =
        fmt::format("{} to {}: {} events{}", flow_end(seen, f.from, 60), flow_end(seen, f.to, 60), f.given,
                    f.idle > 0 ? fmt::format(", {} times left waiting, discarded or rerouted", f.idle) : "");
    if (f.from == f.to) loop(to, place(f.from), angle[f.from], f, tip);
    else arrow(to, place(f.from), place(f.to), f, counted++ < max_counts, tip);
  }
  for (const index end : ends) {
    const point p = place(end);
    const bool person = end < flow::monitor;
    const std::uint64_t findings = person ? seen.agents[end].findings : 0;
    to.dot(p.x, p.y, 14,
           findings > 0                                                              ? "node fails"
           : person && !seen.agents[end].member && seen.agents[end].activations == 0 ? "node idle"
                                                                                     : "node",
           person ? fmt::format("{}: {} activations, {} detections", short_name(seen.agents[end].name, 60),
                                seen.agents[end].activations, findings)
                  : flow_end(seen, end, 20));
    if (findings > 0) to.text(p.x, p.y + 4, "middle", "small strong", findings > 999 ? "!" : std::to_string(findings));
    const double c = std::cos(angle[end]);
    to.text(p.x + (c > 0.3    ? 22
                   : c < -0.3 ? -22
                              : 0),
            p.y + (std::abs(c) > 0.3          ? 4
                   : std::sin(angle[end]) > 0 ? 32
                                              : -22),
            c > 0.3    ? "start"
            : c < -0.3 ? "end"
                       : "middle",
            person ? "strong" : "soft", flow_end(seen, end, 26));
  }
  out.svg = to.done();
  return out;
}

figure draw_timeline(const observed& seen) { return timeline(seen).draw(); }

figure draw_witness(const detection& of) {
  figure out;
  out.title = "Witness of " + std::string(to_string(of.rule));
  out.caption = fmt::format("The {} and {} that the sentence rests on, causes to the left{}.",
                            counted(of.witness.events.size(), "event", "events"),
                            counted(of.witness.activations.size(), "activation", "activations"),
                            of.witness.truncated ? "; the rest is left out" : "");
  out.svg = witness_picture(of.witness).draw(out.title, out.caption);
  return out;
}

}  // namespace digd::report
