#include "analysis/causal/report.h"

#include <algorithm>
#include <cstdio>

#include "analysis/causal/factors/plain_name.h"
#include "base/json_writer.h"

namespace digd::causal {

namespace {

std::string shown(double x) {
  char text[32];
  std::snprintf(text, sizeof text, x != 0 && std::abs(x) < 0.001 ? "%.1e" : "%.3f", x);
  return text;
}

void member_line(std::string& out, const reported& r, const member& m) {
  out += "  " + plain(r.data[m.factor].name) + "  support " + shown(m.support) + ", p " + shown(m.p) +
         ", p given the rest " + shown(m.p_given_rest) + '\n';
}

void levers_text(std::string& out, const reported& r) {
  if (r.found.levers.empty()) {
    if (r.found.reached != stage::refused) out += "\nNo lever is named.\n";
    return;
  }
  out += "\nLevers, the most promising first\n";
  std::size_t rank = 0;
  for (const lever& l : r.found.levers) {
    const member& m = l.facts;
    out += "  " + std::to_string(++rank) + ". " + plain(r.data[m.factor].name) + " [" +
           std::string(to_string(l.grade)) + "]  p " + shown(m.p);
    if (r.found.reached > stage::screening) out += ", support " + shown(m.support) + ", nearness " + shown(l.nearness);
    if (r.found.reached > stage::screening && l.direction_open) out += ", direction open";
    out += "\n     " + l.words + '\n';
  }
}

std::string with_scale(const std::string& name, scale s) {
  return plain(name) + (s == scale::unknown ? "" : " (" + std::string(to_string(s)) + ')');
}

void worldviews_text(std::string& out, const reported& r) {
  for (const worldview_status& w : r.worldviews) {
    out += "\nWorldview " + plain(w.name) + (w.chosen ? " (used)" : "");
    out += w.refuted.empty() ? "\n" : ": dropped, " + w.refuted + "\n";
    for (const edge_opinion& e : w.edges) {
      out += "  " + with_scale(e.edge.from, e.from) + " -> " + with_scale(e.edge.to, e.to) + ": ";
      out += e.known ? "support " + shown(e.support) + ", in this direction " + shown(e.forwards) + '\n'
                     : "not measured\n";
    }
  }
}

std::string edge_text(const reported& r, variable a, variable b, const char* arrow) {
  return "  " + plain(r.data[a].name) + arrow + plain(r.data[b].name) + "  support " +
         shown(r.found.structure.adjacent(a, b)) + '\n';
}

}  // namespace

std::string analysis_text(const reported& r) {
  const analysis& a = r.found;
  std::string out = "Outcome " + plain(r.data[r.target].name) + ", " + std::to_string(r.data.rows()) + " runs, " +
                    std::to_string(r.data.size() - 1) + " factors: " + std::string(to_string(a.reached)) + '\n';
  for (const std::string& n : r.notes) out += "Note: " + n + ".\n";
  for (const std::string& s : a.remarks) out += s + '\n';
  levers_text(out, r);
  if (!a.boundary.empty()) {
    out += "\nMarkov boundary: if these are known, no other factor helps to predict the outcome\n";
    for (const member& m : a.boundary) member_line(out, r, m);
  }
  if (!a.downstream.empty()) {
    out += "\nDownstream: influenced by the outcome; changing these does not change it\n";
    for (const member& m : a.downstream) member_line(out, r, m);
  }
  if (!a.causes.edges.empty() || !a.causes.undirected.empty()) {
    out += "\nHow the outcome comes about\n";
    for (const auto& [from, to] : a.causes.edges) out += edge_text(r, from, to, " -> ");
    for (const auto& [i, j] : a.causes.undirected) out += edge_text(r, i, j, " -- ");
  }
  if (!a.open_edges.empty()) {
    out += "\nWorth an experiment: directions that runs alone cannot show\n";
    for (std::size_t i = 0; i < a.open_edges.size() && i < 5; ++i) {
      const ambiguous_edge& e = a.open_edges[i];
      out += "  " + plain(r.data[e.a].name) + " -- " + plain(r.data[e.b].name) + "  worth " + shown(e.worth) + '\n';
    }
  }
  worldviews_text(out, r);
  return out;
}

namespace {

void member_json(json_writer& w, const reported& r, const member& m) {
  w.key("factor").text(r.data[m.factor].name).key("support").number(m.support).key("p").number(m.p);
  w.key("p_given_rest")
      .number(m.p_given_rest)
      .key("upstream")
      .number(m.upstream)
      .key("downstream")
      .number(m.downstream);
}

void members_json(json_writer& w, const reported& r, const std::vector<member>& members) {
  w.open_array();
  for (const member& m : members) {
    w.open_object();
    member_json(w, r, m);
    w.close_object();
  }
  w.close_array();
}

void edge_json(json_writer& w, const reported& r, variable from, variable to, bool directed) {
  w.open_object().key("from").text(r.data[from].name).key("to").text(r.data[to].name).key("directed").boolean(directed);
  w.key("support")
      .number(r.found.structure.adjacent(from, to))
      .key("forwards")
      .number(r.found.structure.causes(from, to))
      .close_object();
}

void explanation_json(json_writer& w, const reported& r) {
  w.key("explanation").open_object().key("nodes").open_array();
  for (variable v : r.found.causes.nodes) w.text(r.data[v].name);
  w.close_array().key("roots").open_array();
  for (variable v : r.found.causes.roots) w.text(r.data[v].name);
  w.close_array().key("edges").open_array();
  for (const auto& [from, to] : r.found.causes.edges) edge_json(w, r, from, to, true);
  for (const auto& [i, j] : r.found.causes.undirected) edge_json(w, r, i, j, false);
  w.close_array().close_object();
}

void worldviews_json(json_writer& w, const reported& r) {
  w.key("worldviews").open_array();
  for (const worldview_status& v : r.worldviews) {
    w.open_object().key("name").text(v.name).key("chosen").boolean(v.chosen).key("refuted");
    if (v.refuted.empty()) w.null();
    else w.text(v.refuted);
    w.key("edges").open_array();
    for (const edge_opinion& e : v.edges) {
      w.open_object().key("from").text(e.edge.from).key("from_scale").text(to_string(e.from)).key("to").text(e.edge.to);
      w.key("to_scale").text(to_string(e.to)).key("measured").boolean(e.known);
      w.key("support").number(e.support).key("forwards").number(e.forwards).close_object();
    }
    w.close_array().close_object();
  }
  w.close_array();
}

}  // namespace

std::string analysis_json(const reported& r) {
  const analysis& a = r.found;
  std::string out;
  json_writer w(out);
  w.open_object().key("outcome").text(r.data[r.target].name).key("runs").number(static_cast<double>(r.data.rows()));
  w.key("factors").number(static_cast<double>(r.data.size() - 1)).key("stage").text(to_string(a.reached));
  w.key("seed")
      .integer(r.seed)
      .key("gate")
      .open_object()
      .key("open")
      .boolean(a.gate.open)
      .key("p")
      .number(a.gate.p)
      .close_object();
  w.key("notes").open_array();
  for (const auto* list : {&r.notes, &a.remarks}) {
    for (const std::string& s : *list) w.text(s);
  }
  w.close_array().key("levers").open_array();
  for (const lever& l : a.levers) {
    w.open_object();
    member_json(w, r, l.facts);
    w.key("evidence")
        .text(to_string(l.grade))
        .key("in_boundary")
        .boolean(l.in_boundary)
        .key("nearness")
        .number(l.nearness);
    w.key("direction_open").boolean(l.direction_open).key("words").text(l.words).close_object();
  }
  w.close_array().key("boundary");
  members_json(w, r, a.boundary);
  w.key("downstream");
  members_json(w, r, a.downstream);
  w.key("twins").open_array();
  for (const twin_pair& t : a.twins) {
    w.open_object()
        .key("kept")
        .text(r.data[t.kept].name)
        .key("dropped")
        .text(r.data[t.dropped].name)
        .key("r2")
        .number(t.r2)
        .close_object();
  }
  w.close_array().key("restating").open_array();
  for (variable v : a.restating) w.text(r.data[v].name);
  w.close_array();
  explanation_json(w, r);
  w.key("open_edges").open_array();
  for (const ambiguous_edge& e : a.open_edges) {
    w.open_object().key("a").text(r.data[e.a].name).key("b").text(r.data[e.b].name).key("worth").number(e.worth);
    w.key("importance")
        .number(e.importance)
        .key("uncertainty")
        .number(e.uncertainty)
        .key("disagreement")
        .number(e.disagreement)
        .close_object();
  }
  w.close_array();
  worldviews_json(w, r);
  w.close_object();
  return out + '\n';
}

std::string analysis_dot(const reported& r) {
  const analysis& a = r.found;
  std::string out = "digraph explanation {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n";
  const auto in = [](const std::vector<member>& members, variable v) {
    return std::any_of(members.begin(), members.end(), [v](const member& m) { return m.factor == v; });
  };
  for (variable v : a.causes.nodes) {
    std::string look;
    if (v == r.target) look = ", shape=ellipse, style=bold";
    else if (in(a.boundary, v)) look = ", style=filled, fillcolor=lightyellow";
    else if (in(a.downstream, v)) look = ", style=dashed";
    out += "  n" + std::to_string(v) + " [label=" + digd::quoted(r.data[v].name) + look + "];\n";
  }
  const auto edge = [&](variable from, variable to, const char* more) {
    const double support = a.structure.adjacent(from, to);
    out += "  n" + std::to_string(from) + " -> n" + std::to_string(to) + " [label=\"" + shown(support) + "\"" + more +
           "];\n";
  };
  for (const auto& [from, to] : a.causes.edges) edge(from, to, "");
  for (const auto& [i, j] : a.causes.undirected) edge(i, j, ", dir=none");
  return out + "}\n";
}

}  // namespace digd::causal
