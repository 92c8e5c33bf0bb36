#include "report/picture/export.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <limits>
#include <utility>

#include "base/json_writer.h"
#include "report/picture/dot.h"
#include "report/picture/selection.h"
#include "report/picture/text.h"
#include "report/picture/xml.h"

namespace digd::picture {
namespace json = boost::json;

namespace {

constexpr std::size_t max_depth = 1'100;  // of a frame: the decoder takes 1,000 in a payload
constexpr std::uint64_t remembers_all = 10'000'000;

const json::value* member(const json::object& of, std::string_view name) {
  return of.if_contains({name.data(), name.size()});
}

std::string_view text_of(const json::value* value) {
  const json::string* text = value != nullptr ? value->if_string() : nullptr;
  return text != nullptr ? std::string_view(text->data(), text->size()) : std::string_view{};
}

}  // namespace

std::optional<graph_format> graph_format_from(std::string_view name) {
  if (name == "json") return graph_format::json;
  if (name == "dot") return graph_format::dot;
  if (name == "graphml") return graph_format::graphml;
  if (name == "dig.graph.v2") return graph_format::dig_graph_v2;
  return std::nullopt;
}

std::string_view content_type(graph_format format) {
  switch (format) {
    case graph_format::dot: return "text/vnd.graphviz; charset=utf-8";
    case graph_format::graphml: return "application/graphml+xml; charset=utf-8";
    case graph_format::json:
    case graph_format::dig_graph_v2: break;
  }
  return "application/json";
}

bool recorded_graph::over(const char* text) {
  too_large_ = true;
  problem_ =
      std::string("the run has more than ") + text + "; take its trace instead (digctl export RUN --format trace)";
  return false;
}

const recorded_payload* recorded_graph::payload_of(const std::string& event) const {
  const auto found = payloads_.find(event);
  return found == payloads_.end() ? nullptr : &found->second;
}

std::string recorded_graph::error_of(const std::string& activation) const {
  const auto found = errors_.find(activation);
  return found == errors_.end() ? std::string() : found->second;
}

// Keeps payloads and errors, counts nodes, and has the run remember everything.
bool recorded_graph::read(std::string_view text, std::string& rewritten) {
  json::parse_options options;
  options.max_depth = max_depth;
  json::error_code ec;
  json::value value = json::parse({text.data(), text.size()}, ec, {}, options);
  json::object* object = ec ? nullptr : value.if_object();
  if (object == nullptr) return true;  // a refused frame
  const std::string_view type = text_of(member(*object, "type"));
  if (type == "hello") {
    json::value& limits = (*object)["limits"];
    if (!limits.is_object()) limits.emplace_object();
    limits.get_object()["settled_events"] = remembers_all;
    rewritten = json::serialize(value);
    return true;
  }
  const auto keep = [&](const json::value* event) {
    const json::object* fields = event != nullptr ? event->if_object() : nullptr;
    if (fields == nullptr) return;
    ++nodes_;
    const json::value* payload = member(*fields, "payload");
    if (payload == nullptr) return;
    const auto [at, is_new] = payloads_.try_emplace(std::string(text_of(member(*fields, "id"))));
    if (!is_new) return;
    at->second = {.json = json::serialize(*payload), .is_object = payload->is_object()};
    payload_bytes_ += at->second.json.size();
  };
  if (type == "activation_started") ++nodes_;
  if (const std::string_view error = text_of(member(*object, "error")); !error.empty()) {
    errors_.try_emplace(std::string(text_of(member(*object, "activation"))), error);
    payload_bytes_ += error.size();
  }
  if (type == "event") keep(member(*object, "event"));
  if (const json::value* outputs = member(*object, "outputs"); outputs != nullptr && outputs->is_array()) {
    for (const json::value& value : outputs->get_array()) keep(&value);
  }
  if (nodes_ > bounds_.nodes) return over((std::to_string(bounds_.nodes) + " events and activations").c_str());
  if (payload_bytes_ > bounds_.bytes) return over((std::to_string(bounds_.bytes >> 20) + " MiB of payloads").c_str());
  return true;
}

bool recorded_graph::line(std::string_view text) {
  std::string rewritten;
  if (!read(text, rewritten)) return false;
  if (recorder_.line(rewritten.empty() ? text : std::string_view(rewritten))) return true;
  problem_ = recorder_.problem();
  if (problem_.empty()) return over("a million rows");
  return false;
}

bool recorded_graph::finish() {
  if (too_large_ || !problem_.empty()) return false;
  model_ = recorder_.finish();
  return true;
}

namespace {

selection all_of(const model& m) {
  filter everything;
  everything.limit = std::numeric_limits<std::size_t>::max();
  return select(m, everything);
}

}  // namespace

std::string write_graph(const recorded_graph& of, graph_format format) {
  switch (format) {
    case graph_format::json: return write_json(of);
    case graph_format::dot: return draw_dot(of.graph(), all_of(of.graph()));
    case graph_format::graphml: return write_graphml(of);
    case graph_format::dig_graph_v2: break;
  }
  return write_dig_graph(of);
}

// ---- JSON

namespace {

void write_event(json_writer& to, const model& m, const event& e, const std::vector<const transfer*>& given) {
  to.open_object().key("id").text(e.id).key("source");
  e.source == none ? to.null() : to.text(m.activations[e.source].id);
  if (!e.kind.empty()) to.key("kind").text(e.kind);
  if (e.submit) to.key("submit").boolean(true);
  if (e.given_back) to.key("given_back").boolean(true);
  if (e.fyi) to.key("fyi").boolean(true);
  if (e.system) to.key("system").boolean(true);
  if (e.placeholder) to.key("placeholder").boolean(true);
  if (e.row != none) to.key("ts").integer(m.rows[e.row].ts);
  to.key("deliveries").open_array();
  for (const transfer* g : given) {
    to.open_object().key("agent").text(m.lanes[g->lane].name).key("state").text(to_string(g->fate));
    if (g->by_monitor) to.key("by_monitor").boolean(true);
    to.close_object();
  }
  to.close_array().close_object();
}

void write_activation(json_writer& to, const recorded_graph& of, const activation& a) {
  const model& m = of.graph();
  to.open_object().key("id").text(a.id).key("agent").text(m.lanes[a.lane].name).key("started").integer(a.started);
  to.key("ended");
  a.open ? to.null() : to.integer(a.ended);
  if (a.failed) to.key("failed").boolean(true);
  if (const std::string error = a.failed ? of.error_of(a.id) : std::string(); !error.empty()) {
    to.key("error").text(error);
  }
  to.key("generating").boolean(a.generating()).key("inputs").open_array();
  for (const auto& input : a.inputs) {
    to.open_object().key("event").text(m.events[input.event].id).key("reaction");
    input.reaction == reaction::none ? to.null() : to.text(to_string(input.reaction));
    to.close_object();
  }
  to.close_array().key("outputs").open_array();
  for (const index output : a.outputs) to.text(m.events[output].id);
  to.close_array().close_object();
}

// All deliveries, by event.
std::vector<std::vector<const transfer*>> transfers_of(const model& m) {
  std::vector<std::vector<const transfer*>> by_event(m.events.size());
  for (const row& r : m.rows) {
    if (r.event == none || r.kind == row_kind::note) continue;
    for (const transfer& g : r.to) by_event[r.event].push_back(&g);
  }
  return by_event;
}

}  // namespace

std::string write_json(const recorded_graph& of) {
  const model& m = of.graph();
  const auto given = transfers_of(m);
  const std::size_t max_bytes = of.bounds().bytes;
  std::string out;
  json_writer to(out);
  to.open_object().key("run").text(m.run).key("mode").text(m.mode).key("agents").open_array();
  for (const auto& lane : m.lanes) {
    to.open_object().key("name").text(lane.name).key("member").boolean(lane.member).close_object();
  }
  to.close_array().key("events").open_array();
  for (std::size_t i = 0; i < m.events.size() && out.size() <= max_bytes; ++i) {
    if (i > 0) to.new_line();
    write_event(to, m, m.events[i], given[i]);
  }
  to.close_array().key("activations").open_array();
  for (std::size_t i = 0; i < m.activations.size() && out.size() <= max_bytes; ++i) {
    if (i > 0) to.new_line();
    write_activation(to, of, m.activations[i]);
  }
  to.close_array();
  to.close_object();
  return out + '\n';
}

// ---- DOT and GraphML: nodes are numbered, so that no name is more than a label

namespace {

struct edge {
  std::string from, to;
  std::string_view kind, label;  // digd's own words
};

std::string event_node(index i) { return 'e' + std::to_string(i); }
std::string activation_node(index i) { return 'a' + std::to_string(i); }
std::string agent_node(index i) { return 'g' + std::to_string(i); }

template <class Each>
void each_edge(const model& m, Each each) {
  for (index v = 0; v < m.activations.size(); ++v) {
    const activation& a = m.activations[v];
    for (const input& in : a.inputs) {
      each(edge{event_node(in.event), activation_node(v), "delivered",
                in.reaction == reaction::none ? std::string_view("open") : to_string(in.reaction)});
    }
    for (const index e : a.outputs) each(edge{activation_node(v), event_node(e), "generated", ""});
  }
  for (const row& r : m.rows) {
    if (r.event == none || r.kind == row_kind::note) continue;
    for (const transfer& g : r.to) {
      if (g.fate == fate::pending || g.fate == fate::lost) {
        each(edge{event_node(r.event), agent_node(g.lane), to_string(g.fate), ""});
      }
    }
  }
}

}  // namespace

std::string write_graphml(const recorded_graph& of) {
  const model& m = of.graph();
  std::string out =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
  for (const std::string_view key : {"type", "name", "agent", "kind", "state"}) {
    out.append("<key id=\"").append(key).append("\" for=\"node\" attr.name=\"").append(key);
    out += "\" attr.type=\"string\"/>\n";
  }
  for (const std::string_view key : {"edge", "reaction"}) {
    out.append("<key id=\"").append(key).append("\" for=\"edge\" attr.name=\"").append(key);
    out += "\" attr.type=\"string\"/>\n";
  }
  out += "<graph id=\"run\" edgedefault=\"directed\">\n<desc>" + xml(m.run) + "</desc>\n";
  const auto data = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) out.append("<data key=\"").append(key).append("\">").append(xml(value)).append("</data>");
  };
  const auto node = [&](const std::string& id, std::string_view type, std::string_view name) {
    out += "<node id=\"" + id + "\">";
    data("type", type);
    data("name", name);
  };
  for (index i = 0; i < m.lanes.size(); ++i) {
    node(agent_node(i), "agent", m.lanes[i].name);
    out += "</node>\n";
  }
  for (index i = 0; i < m.events.size() && out.size() <= of.bounds().bytes; ++i) {
    const event& e = m.events[i];
    node(event_node(i), "event", e.id);
    data("kind", e.kind);
    data("state", e.submit ? "submit" : e.system ? "system" : e.fyi ? "fyi" : e.placeholder ? "placeholder" : "");
    out += "</node>\n";
  }
  for (index i = 0; i < m.activations.size() && out.size() <= of.bounds().bytes; ++i) {
    const activation& a = m.activations[i];
    node(activation_node(i), "activation", a.id);
    data("agent", m.lanes[a.lane].name);
    data("state", a.open ? "open" : a.failed ? "failed" : "ended");
    out += "</node>\n";
  }
  each_edge(m, [&](const edge& e) {
    if (out.size() > of.bounds().bytes) return;
    out += "<edge source=\"" + e.from + "\" target=\"" + e.to + "\">";
    data("edge", e.kind);
    data("reaction", e.label);
    out += "</edge>\n";
  });
  return out + "</graph>\n</graphml>\n";
}

}  // namespace digd::picture
