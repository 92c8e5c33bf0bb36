// The explanation as an SVG picture: causes on the left, their effects to the right, each edge with its support.
//
// A node's layer is its longest path to the right end. An edge over several layers has a bend in each, so that it goes
// around the nodes there. Nodes within a layer are ordered by their neighbours' places. Size: one box for each node of
// the explanation, so at most the number of columns of the table.
#include <algorithm>
#include <map>

#include "analysis/causal/factors/plain_name.h"
#include "analysis/causal/report.h"
#include "report/picture/svg_builder.h"
#include "report/picture/text.h"

namespace digd::causal {

namespace {

constexpr double box_height = 34, row_step = 62, gap = 120, margin = 28, char_px = 7.3, title_height = 64,
                 legend_height = 64;
constexpr std::size_t max_letters = 30, sweeps = 8;

constexpr std::string_view style = R"css(
text{font:12px system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:#1b1f24}
.title{font-size:18px;font-weight:600}.sub,.support{fill:#57606a})css"
                                   R"css(.support{font-size:11px;paint-order:stroke;stroke:#fff;stroke-width:4px}
.paper{fill:#fff}.box{fill:#f5f7f9;stroke:#9aa4af;stroke-width:1.3}.member{fill:#d9eaf7;stroke:#0072b2})css"
                                   R"css(.lever{stroke-width:2.6}
.verified{fill:#d8f3e7;stroke:#009e73}.target{fill:#fff3d6;stroke:#c98a00;stroke-width:2.6}.after{stroke-dasharray:5 4}
.edge{fill:none;stroke:#4a5562;stroke-width:1.5}.open{stroke-dasharray:2 4;stroke-linecap:round}.tip{fill:#4a5562}
@media (prefers-color-scheme:dark){text{fill:#e6e9ee}.sub,.support{fill:#a9b3be})css"
                                   R"css(.support{stroke:#12161b}.paper{fill:#12161b}
.box{fill:#1b2128;stroke:#75818e}.member{fill:#143650;stroke:#56b4e9}.verified{fill:#0f3b2d;stroke:#3ddbaa})css"
                                   R"css(.target{fill:#3d3214;stroke:#f0c24b}
.edge{stroke:#b6c0cb}.tip{fill:#b6c0cb}}
)css";

using picture::coordinate, picture::svg_builder, picture::svg_path;

constexpr picture::coordinates px = picture::coordinates::tenths;

// The sheet that everything else stands on.
void open_sheet(svg_builder& to, const std::string& width, const std::string& height) {
  to.open("svg").attribute("xmlns", "http://www.w3.org/2000/svg");
  to.attribute("width", width).attribute("height", height).attribute("viewBox", "0 0 " + width + ' ' + height);
  to.attribute("role", "img").children().line_end();
  to.raw("<style>").raw(style).close("style");
}

void paper(svg_builder& to) {
  to.open("rect").attribute("class", "paper").attribute("width", "100%").attribute("height", "100%").end_empty();
}

void write_text(svg_builder& to, double x, double y, std::string_view style_name, const std::string& text) {
  to.open("text").attribute("x", x).attribute("y", y).attribute("class", style_name).content(text);
}

// A node of the explanation, or a bend of an edge on its way through a layer.
struct spot {
  variable of = 0;
  bool is_bend = false;
  std::size_t layer = 0;
  double place = 0;               // within the layer, in rows
  std::vector<std::size_t> near;  // neighbouring spots, indices
};

struct line {
  std::vector<std::size_t> way;  // spots, from left to right
  variable from = 0, to = 0;
  bool directed = true;
  bool backwards = false;  // the arrow points to the left end
};

class drawing {
 public:
  explicit drawing(const reported& r) : r_(r), causes_(r.found.causes) {}

  std::string draw() {
    lay_layers();
    place_spots();
    order();
    const double width = std::max(layer_x_.back() + layer_width_.back() + margin, 560.0);
    const double bottom = title_height + static_cast<double>(rows_) * row_step;
    const double height = bottom + legend_height;
    std::string out;
    svg_builder to(out, px);
    open_sheet(to, coordinate(width, px), coordinate(height, px));
    arrow_head(to);
    paper(to);
    write_text(to, margin, 30, "title", "How " + name_of(r_.target) + " comes about");
    write_text(to, margin, 50, "sub",
               std::to_string(r_.data.rows()) + " runs, " + std::string(to_string(r_.found.reached)) +
                   "; each edge shows the share of graphs that contain it");
    for (const line& l : lines_) edge(to, l);
    for (const line& l : lines_) support(to, l);
    for (const spot& s : spots_) {
      if (!s.is_bend) box(to, s);
    }
    legend(to, bottom);
    return out + "</svg>\n";
  }

 private:
  static void arrow_head(svg_builder& to) {
    to.open("defs").children().open("marker").attribute("id", "tip").attribute("viewBox", "0 0 10 10");
    to.attribute("refX", "9").attribute("refY", "5").attribute("markerWidth", "8").attribute("markerHeight", "8");
    to.attribute("orient", "auto-start-reverse").children();
    to.raw("<path class=\"tip\" d=\"M0 0L10 5L0 10z\"/></marker>").close("defs");
  }

  std::string name_of(variable v) const { return picture::fit(plain(r_.data[v].name), max_letters); }

  // An edge of open direction at the outcome counts as leading to it.
  void lay_layers() {
    for (variable v : causes_.nodes) layer_of_[v] = 0;
    std::vector<std::pair<variable, variable>> edges = causes_.edges;
    for (const auto& [i, j] : causes_.undirected) {
      if (i == r_.target) edges.emplace_back(j, i);
      if (j == r_.target) edges.emplace_back(i, j);
    }
    for (std::size_t round = 0; round < causes_.nodes.size(); ++round) {
      for (const auto& [from, to] : edges)
        layer_of_[from] = std::max(layer_of_[from], std::min(layer_of_[to] + 1, causes_.nodes.size() - 1));
    }
    std::size_t last_layer = 0;
    for (const auto& [v, layer] : layer_of_) last_layer = std::max(last_layer, layer);
    for (auto& [v, layer] : layer_of_) layer = last_layer - layer;
    layer_width_.assign(last_layer + 1, 0);
  }

  void place_spots() {
    for (variable v : causes_.nodes) {
      at_[v] = add({v, false, layer_of_[v], 0, {}});
      const double wide = 26 + char_px * static_cast<double>(picture::width_of(name_of(v)));
      layer_width_[layer_of_[v]] = std::max(layer_width_[layer_of_[v]], wide);
    }
    for (const auto& [from, to] : causes_.edges) connect(from, to, true);
    for (const auto& [from, to] : causes_.undirected) connect(from, to, false);
    layer_x_.push_back(margin);
    for (std::size_t k = 1; k < layer_width_.size(); ++k)
      layer_x_.push_back(layer_x_[k - 1] + layer_width_[k - 1] + gap);
  }

  std::size_t add(spot s) {
    spots_.push_back(std::move(s));
    return spots_.size() - 1;
  }

  void connect(variable from, variable to, bool directed) {
    line l{{}, from, to, directed, layer_of_[from] > layer_of_[to]};
    const variable left = l.backwards ? to : from, right = l.backwards ? from : to;
    l.way.push_back(at_[left]);
    for (std::size_t k = layer_of_[left] + 1; k < layer_of_[right]; ++k) l.way.push_back(add({left, true, k, 0, {}}));
    l.way.push_back(at_[right]);
    for (std::size_t k = 1; k < l.way.size(); ++k) {
      spots_[l.way[k - 1]].near.push_back(l.way[k]);
      spots_[l.way[k]].near.push_back(l.way[k - 1]);
    }
    lines_.push_back(std::move(l));
  }

  // Sorts each layer by the mean place of its neighbours, in a few sweeps to and fro, and centres it.
  void order() {
    std::vector<std::vector<std::size_t>> layers(layer_width_.size());
    for (std::size_t s = 0; s < spots_.size(); ++s) layers[spots_[s].layer].push_back(s);
    for (const auto& layer : layers) rows_ = std::max(rows_, layer.size());
    for (auto& layer : layers) settle(layer);
    for (std::size_t sweep = 0; sweep < sweeps; ++sweep) {
      for (std::size_t k = 0; k < layers.size(); ++k) arrange(layers[sweep % 2 ? layers.size() - 1 - k : k]);
    }
  }

  void arrange(std::vector<std::size_t>& layer) {
    std::map<std::size_t, double> wanted;
    for (std::size_t s : layer) {
      double sum = 0;
      for (std::size_t other : spots_[s].near) sum += spots_[other].place;
      wanted[s] = spots_[s].near.empty() ? spots_[s].place : sum / static_cast<double>(spots_[s].near.size());
    }
    std::stable_sort(layer.begin(), layer.end(), [&](std::size_t a, std::size_t b) { return wanted[a] < wanted[b]; });
    settle(layer);
  }

  void settle(const std::vector<std::size_t>& layer) {
    const double above = static_cast<double>(rows_ - layer.size()) / 2;
    for (std::size_t i = 0; i < layer.size(); ++i) spots_[layer[i]].place = above + static_cast<double>(i);
  }

  double y_of(const spot& s) const { return title_height + (s.place + 0.5) * row_step; }
  double left_of(const spot& s) const { return layer_x_[s.layer]; }
  double right_of(const spot& s) const { return layer_x_[s.layer] + layer_width_[s.layer]; }

  void edge(svg_builder& to, const line& l) const {
    const spot& first = spots_[l.way.front()];
    svg_path path(px);
    if (first.layer == spots_[l.way.back()].layer) {  // same layer: around the right side
      const double x = right_of(first), y0 = y_of(first), y1 = y_of(spots_[l.way.back()]);
      path.move(x, y0).cubic(x + gap / 2, y0, x + gap / 2, y1, x, y1);
    } else {
      path.move(right_of(first), y_of(first));
      for (std::size_t k = 1; k < l.way.size(); ++k) {
        const spot &a = spots_[l.way[k - 1]], &b = spots_[l.way[k]];
        const double x0 = right_of(a), x1 = left_of(b), bend = (x1 - x0) / 2;
        path.cubic(x0 + bend, y_of(a), x1 - bend, y_of(b), x1, y_of(b));
        if (b.is_bend) path.line(right_of(b), y_of(b));
      }
    }
    to.open("path").attribute("class", l.directed ? "edge" : "edge open").attribute("d", path.text());
    if (l.directed) to.attribute(l.backwards ? "marker-start" : "marker-end", "url(#tip)");
    to.end_empty();
  }

  void support(svg_builder& to, const line& l) const {
    const spot &a = spots_[l.way[0]], &b = spots_[l.way[1]];
    // A third of the way along the curve, where crossing lines are apart.
    constexpr double t = 0.35, risen = t * t * (3 - 2 * t), along = t * (1.5 - 1.5 * t + t * t);
    const bool beside = a.layer == b.layer;
    const double x = beside ? right_of(a) + gap * 0.375 : right_of(a) + along * (left_of(b) - right_of(a));
    const double y = beside ? (y_of(a) + y_of(b)) / 2 : y_of(a) + risen * (y_of(b) - y_of(a));
    const double share = r_.found.structure.adjacent(l.from, l.to);
    to.open("text").attribute("x", x).attribute("y", y - 3).attribute("class", "support");
    to.attribute("text-anchor", "middle").content(coordinate(share, picture::coordinates::hundredths));
  }

  void box(svg_builder& to, const spot& s) const {
    const auto is_s = [&s](const member& m) { return m.factor == s.of; };
    const auto lever_at =
        std::find_if(r_.found.levers.begin(), r_.found.levers.end(), [&](const lever& l) { return is_s(l.facts); });
    const bool is_lever = lever_at != r_.found.levers.end();
    const auto in = [&](const std::vector<member>& members) {
      return std::any_of(members.begin(), members.end(), is_s);
    };
    std::string look = "box";
    if (s.of == r_.target) look += " target";
    else if (is_lever && lever_at->grade == evidence::verified) look += " verified";
    else if (in(r_.found.boundary)) look += " member";
    else if (in(r_.found.downstream)) look += " member after";
    if (is_lever) look += " lever";
    to.open("g").children().element("title", is_lever ? lever_at->words : plain(r_.data[s.of].name));
    to.open("rect").attribute("class", look).attribute("x", left_of(s)).attribute("y", y_of(s) - box_height / 2);
    to.attribute("width", layer_width_[s.layer]).attribute("height", box_height);
    to.attribute("rx", s.of == r_.target ? "17" : "5").raw("/>");
    to.open("text").attribute("x", (left_of(s) + right_of(s)) / 2).attribute("y", y_of(s) + 4);
    to.attribute("text-anchor", "middle").content(name_of(s.of)).close("g");
  }

  static void legend(svg_builder& to, double y) {
    write_text(to, margin, y + 18, "sub",
               "Thick border: a lever. Blue: in the Markov boundary. Green: an experiment verified it.");
    write_text(to, margin, y + 36, "sub",
               "Dashed border: influenced by the outcome. Dotted edge: direction unknown. Hover over a box for what "
               "to try.");
  }

  const reported& r_;
  const explanation& causes_;
  std::map<variable, std::size_t> layer_of_, at_;
  std::vector<double> layer_width_, layer_x_;
  std::vector<spot> spots_;
  std::vector<line> lines_;
  std::size_t rows_ = 1;
};

// A picture with the reason why there is no explanation.
std::string nothing(const reported& r) {
  std::string remark = r.found.remarks.empty() ? "There is no explanation." : r.found.remarks.back();
  std::string out;
  svg_builder to(out, px);
  open_sheet(to, "900", "80");
  paper(to);
  write_text(to, margin, 30, "title", picture::fit(plain(r.data[r.target].name), max_letters));
  write_text(to, margin, 54, "sub", remark);
  return out + "</svg>\n";
}

}  // namespace

std::string analysis_svg(const reported& r) { return r.found.causes.nodes.empty() ? nothing(r) : drawing(r).draw(); }

}  // namespace digd::causal
