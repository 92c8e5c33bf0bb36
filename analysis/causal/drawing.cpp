// The explanation as an SVG picture: causes to the left, what they lead to on the right, each edge with its support.
//
// Layers by the longest path to the right; an edge over several layers has a bend in each, so that it goes around what
// stands there; the order within a layer follows the neighbours' places. Size: as many boxes as the explanation has
// nodes, so at most the columns of the table.
#include <algorithm>
#include <cstdio>
#include <map>

#include "analysis/causal/report.h"
#include "analysis/causal/words.h"
#include "report/picture/text.h"
#include "report/picture/xml.h"

namespace digd::causal {

namespace {

constexpr double box_height = 34, row_step = 62, gap = 120, margin = 28, char_px = 7.3, title_height = 64,
                 legend_height = 64;
constexpr std::size_t most_letters = 30, sweeps = 8;

constexpr std::string_view style = R"css(
text{font:12px system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:#1b1f24}
.title{font-size:18px;font-weight:600}.sub,.support{fill:#57606a}.support{font-size:11px;paint-order:stroke;stroke:#fff;stroke-width:4px}
.paper{fill:#fff}.box{fill:#f5f7f9;stroke:#9aa4af;stroke-width:1.3}.member{fill:#d9eaf7;stroke:#0072b2}.lever{stroke-width:2.6}
.verified{fill:#d8f3e7;stroke:#009e73}.target{fill:#fff3d6;stroke:#c98a00;stroke-width:2.6}.after{stroke-dasharray:5 4}
.edge{fill:none;stroke:#4a5562;stroke-width:1.5}.open{stroke-dasharray:2 4;stroke-linecap:round}.tip{fill:#4a5562}
@media (prefers-color-scheme:dark){text{fill:#e6e9ee}.sub,.support{fill:#a9b3be}.support{stroke:#12161b}.paper{fill:#12161b}
.box{fill:#1b2128;stroke:#75818e}.member{fill:#143650;stroke:#56b4e9}.verified{fill:#0f3b2d;stroke:#3ddbaa}.target{fill:#3d3214;stroke:#f0c24b}
.edge{stroke:#b6c0cb}.tip{fill:#b6c0cb}}
)css";

std::string px(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", x);
  return text;
}

std::string words_at(double x, double y, std::string_view given_text, const std::string& text) {
  return "<text x=\"" + px(x) + "\" y=\"" + px(y) + "\" " + std::string(given_text) + ">" + picture::xml(text) +
         "</text>\n";
}

// A node of the explanation, or a bend of an edge on its way through a layer.
struct spot {
  variable of = 0;
  bool is_bend = false;
  std::size_t layer = 0;
  double place = 0;  // within the layer, in rows
  std::vector<std::size_t> near;
};

struct line {
  std::vector<std::size_t> way;  // spots, from left to right
  variable from = 0, to = 0;
  bool directed = true;
  bool backwards = false;  // the arrow points to the left end
};

class drawing {
 public:
  explicit drawing(const reported& r) : r_(r), why_(r.found.why) {}

  std::string draw() {
    lay_layers();
    place_spots();
    order();
    const double width = std::max(layer_x_.back() + layer_width_.back() + margin, 560.0);
    const double bottom = title_height + static_cast<double>(rows_) * row_step;
    const double height = bottom + legend_height;
    std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + px(width) + "\" height=\"" + px(height) +
                      "\" viewBox=\"0 0 " + px(width) + " " + px(height) + "\" role=\"img\">\n<style>" +
                      std::string(style) + "</style>\n";
    out +=
        "<defs><marker id=\"tip\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" "
        "orient=\"auto-start-reverse\">"
        "<path class=\"tip\" d=\"M0 0L10 5L0 10z\"/></marker></defs>\n";
    out += "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n";
    out += words_at(margin, 30, "class=\"title\"", "How " + name_of(r_.target) + " comes about");
    out += words_at(margin, 50, "class=\"sub\"",
                    std::to_string(r_.data.rows()) + " runs, " + std::string(to_string(r_.found.reached)) +
                        "; at each edge the share of graphs that have it");
    for (const line& l : lines_) out += edge(l);
    for (const line& l : lines_) out += support(l);
    for (const spot& s : spots_) {
      if (!s.is_bend) out += box(s);
    }
    return out + legend(bottom) + "</svg>\n";
  }

 private:
  std::string name_of(variable v) const { return picture::fit(plain(r_.data[v].name), most_letters); }

  // What an open edge joins to the outcome stands to its left.
  void lay_layers() {
    for (variable v : why_.nodes) layer_of_[v] = 0;
    std::vector<std::pair<variable, variable>> items = why_.edges;
    for (const auto& [i, j] : why_.undirected) {
      if (i == r_.target) items.emplace_back(j, i);
      if (j == r_.target) items.emplace_back(i, j);
    }
    for (std::size_t round = 0; round < why_.nodes.size(); ++round) {
      for (const auto& [from, to] : items)
        layer_of_[from] = std::max(layer_of_[from], std::min(layer_of_[to] + 1, why_.nodes.size() - 1));
    }
    std::size_t most = 0;
    for (const auto& [v, layer] : layer_of_) most = std::max(most, layer);
    for (auto& [v, layer] : layer_of_) layer = most - layer;
    layer_width_.assign(most + 1, 0);
  }

  void place_spots() {
    for (variable v : why_.nodes) {
      at_[v] = add({v, false, layer_of_[v], 0, {}});
      const double wide = 26 + char_px * static_cast<double>(picture::width_of(name_of(v)));
      layer_width_[layer_of_[v]] = std::max(layer_width_[layer_of_[v]], wide);
    }
    for (const auto& [from, to] : why_.edges) connect(from, to, true);
    for (const auto& [from, to] : why_.undirected) connect(from, to, false);
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

  // Each layer in the order of its neighbours' mean places, a few times to and fro; then centred.
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

  std::string edge(const line& l) const {
    const spot& first = spots_[l.way.front()];
    std::string path;
    if (first.layer == spots_[l.way.back()].layer) {  // one above the other: around the right side
      const double x = right_of(first), y0 = y_of(first), y1 = y_of(spots_[l.way.back()]);
      path = "M" + px(x) + " " + px(y0) + "C" + px(x + gap / 2) + " " + px(y0) + " " + px(x + gap / 2) + " " + px(y1) +
             " " + px(x) + " " + px(y1);
    } else {
      path = "M" + px(right_of(first)) + " " + px(y_of(first));
      for (std::size_t k = 1; k < l.way.size(); ++k) {
        const spot &a = spots_[l.way[k - 1]], &b = spots_[l.way[k]];
        const double x0 = right_of(a), x1 = left_of(b), bend = (x1 - x0) / 2;
        path += "C" + px(x0 + bend) + " " + px(y_of(a)) + " " + px(x1 - bend) + " " + px(y_of(b)) + " " + px(x1) + " " +
                px(y_of(b));
        if (b.is_bend) path += "L" + px(right_of(b)) + " " + px(y_of(b));
      }
    }
    const char* tip = !l.directed ? "" : l.backwards ? " marker-start=\"url(#tip)\"" : " marker-end=\"url(#tip)\"";
    return std::string("<path class=\"edge") + (l.directed ? "" : " open") + "\" d=\"" + path + "\"" + tip + "/>\n";
  }

  std::string support(const line& l) const {
    const spot &a = spots_[l.way[0]], &b = spots_[l.way[1]];
    // A third of the way along the bend, where lines that cross or meet are apart.
    constexpr double t = 0.35, risen = t * t * (3 - 2 * t), along = t * (1.5 - 1.5 * t + t * t);
    const bool beside = a.layer == b.layer;
    const double x = beside ? right_of(a) + gap * 0.375 : right_of(a) + along * (left_of(b) - right_of(a));
    const double y = beside ? (y_of(a) + y_of(b)) / 2 : y_of(a) + risen * (y_of(b) - y_of(a));
    char text[16];
    std::snprintf(text, sizeof text, "%.2f", r_.found.structure.adjacent(l.from, l.to));
    return words_at(x, y - 3, "class=\"support\" text-anchor=\"middle\"", text);
  }

  std::string box(const spot& s) const {
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
    std::string out = "<g><title>" + picture::xml(is_lever ? lever_at->words : plain(r_.data[s.of].name)) + "</title>";
    out += "<rect class=\"" + look + "\" x=\"" + px(left_of(s)) + "\" y=\"" + px(y_of(s) - box_height / 2) +
           "\" width=\"" + px(layer_width_[s.layer]) + "\" height=\"" + px(box_height) + "\" rx=\"" +
           (s.of == r_.target ? "17" : "5") + "\"/>";
    const double middle = (left_of(s) + right_of(s)) / 2;
    return out + words_at(middle, y_of(s) + 4, "text-anchor=\"middle\"", name_of(s.of)) + "</g>\n";
  }

  static std::string legend(double y) {
    return words_at(margin, y + 18, "class=\"sub\"",
                    "Thick border: a lever. Blue: in the Markov boundary. Green: an experiment verified it.") +
           words_at(margin, y + 36, "class=\"sub\"",
                    "Dashed border: what the outcome leads to. Dotted edge: direction open. Point at a box for what to "
                    "try.");
  }

  const reported& r_;
  const explanation& why_;
  std::map<variable, std::size_t> layer_of_, at_;
  std::vector<double> layer_width_, layer_x_;
  std::vector<spot> spots_;
  std::vector<line> lines_;
  std::size_t rows_ = 1;
};

// Where there is nothing to explain, the picture says so.
std::string nothing(const reported& r) {
  std::string why = r.found.says.empty() ? "There is no explanation." : r.found.says.back();
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"80\" viewBox=\"0 0 900 80\" "
         "role=\"img\">\n<style>" +
         std::string(style) + "</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n" +
         words_at(margin, 30, "class=\"title\"", picture::fit(plain(r.data[r.target].name), most_letters)) +
         words_at(margin, 54, "class=\"sub\"", why) + "</svg>\n";
}

}  // namespace

std::string analysis_svg(const reported& r) { return r.found.why.nodes.empty() ? nothing(r) : drawing(r).draw(); }

}  // namespace digd::causal
