#include "analysis/causal/worldview.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <initializer_list>
#include <type_traits>

#include "analysis/causal/factors/csv.h"
#include "analysis/causal/factors/plain_name.h"
#include "base/quote.h"

namespace digd::causal {

std::string_view to_string(scale s) {
  constexpr std::string_view names[] = {"unknown", "micro", "meso", "macro"};
  return names[static_cast<std::size_t>(s)];
}

std::string_view to_string(finding_kind k) {
  constexpr std::string_view names[] = {"confirmed", "contradicted", "open"};
  return names[static_cast<std::size_t>(k)];
}

namespace {

constexpr std::size_t max_bytes = 1 << 20, max_alternatives = 64, max_items = 1000;

// Thrown within this file only; the readers turn it into `problem`.
struct bad_yaml {
  std::string text;
};

[[noreturn]] void refuse(const YAML::Node& at, const std::string& text) {
  throw bad_yaml{"line " + std::to_string(at.Mark().line + 1) + ": " + text};
}

void allow(const YAML::Node& map, std::initializer_list<std::string_view> keys) {
  if (!map.IsMap()) refuse(map, "expected a mapping");
  for (const auto& item : map) {
    const std::string key = item.first.Scalar();
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) refuse(item.first, "unknown key " + digd::quoted(key));
  }
}

std::string text(const YAML::Node& map, const char* key, bool needed) {
  const YAML::Node value = map[key];
  if (!value) {
    if (needed) refuse(map, std::string(key) + " is missing");
    return {};
  }
  if (!value.IsScalar()) refuse(value, std::string(key) + " has to be a text");
  return value.Scalar();
}

bool flag(const YAML::Node& map, const char* key) {
  const std::string value = text(map, key, false);
  if (value.empty() || value == "false") return false;
  if (value != "true") refuse(map[key], std::string(key) + " has to be true or false");
  return true;
}

YAML::Node list(const YAML::Node& map, const char* key) {
  const YAML::Node value = map[key];
  if (!value) return YAML::Node(YAML::NodeType::Sequence);
  if (!value.IsSequence()) refuse(value, std::string(key) + " has to be a list");
  if (value.size() > max_items) refuse(value, std::string(key) + " has more than 1000 items");
  return value;
}

template <class number>
number read_number(const YAML::Node& at, const char* text) {
  try {
    return at.as<number>();
  } catch (const YAML::Exception&) {
    refuse(at, std::string(text) + (std::is_integral_v<number> ? " has to be a whole number" : " has to be a number"));
  }
}

worldview_variable read_variable(const YAML::Node& at) {
  allow(at, {"name", "scale", "expression", "root", "tier"});
  worldview_variable v;
  v.name = text(at, "name", true);
  v.expression = text(at, "expression", false);
  v.root = flag(at, "root");
  if (at["tier"]) v.tier = read_number<int>(at["tier"], "tier");
  const std::string s = text(at, "scale", false);
  if (s == "micro") v.at = scale::micro;
  else if (s == "meso") v.at = scale::meso;
  else if (s == "macro") v.at = scale::macro;
  else if (!s.empty()) refuse(at["scale"], "scale has to be micro, meso or macro");
  return v;
}

int sign_of(const YAML::Node& at, const std::string& sign) {
  if (!sign.empty() && sign != "+" && sign != "-") refuse(at["sign"], "sign has to be \"+\" or \"-\"");
  return sign == "+" ? 1 : sign == "-" ? -1 : 0;
}

worldview_edge read_edge(const YAML::Node& at) {
  allow(at, {"from", "to", "sign", "required"});
  worldview_edge e;
  e.from = text(at, "from", true);
  e.to = text(at, "to", true);
  e.required = flag(at, "required");
  const std::string sign = text(at, "sign", false);
  e.sign = sign_of(at, sign);
  return e;
}

void read_edges(const YAML::Node& at, worldview& into) {
  for (const YAML::Node& e : list(at, "edges")) into.edges.push_back(read_edge(e));
  for (const YAML::Node& e : list(at, "forbidden")) into.forbidden.push_back(read_edge(e));
}

template <class result, class reader>
result guarded(std::string_view yaml, reader&& read) {
  result out;
  if (yaml.size() > max_bytes) {
    out.problem = "longer than 1 MB";
    return out;
  }
  try {
    read(YAML::Load(std::string(yaml)), out);
  } catch (const bad_yaml& bad) {
    out.problem = bad.text;
  } catch (const YAML::Exception& e) {
    out.problem = "line " + std::to_string(e.mark.line + 1) + ": " + e.msg;
  }
  if (!out.problem.empty()) {
    const std::string problem = std::move(out.problem);
    out = {};
    out.problem = problem;
  }
  return out;
}

}  // namespace

worldviews read_worldviews(std::string_view yaml) {
  return guarded<worldviews>(yaml, [](const YAML::Node& root, worldviews& out) {
    allow(root, {"name", "variables", "edges", "forbidden", "alternatives"});
    worldview base;
    base.name = text(root, "name", true);
    for (const YAML::Node& v : list(root, "variables")) base.variables.push_back(read_variable(v));
    worldview common = base;
    read_edges(root, base);
    out.worldviews.push_back(base);
    const YAML::Node others = list(root, "alternatives");
    if (others.size() > max_alternatives) refuse(others, "more than 64 alternatives");
    // What an alternative says about two variables replaces what the base says about them.
    for (const YAML::Node& other : others) {
      allow(other, {"name", "edges", "forbidden"});
      worldview w = common;
      w.name = text(other, "name", true);
      read_edges(other, w);
      const auto is_same = [](const worldview_edge& a, const worldview_edge& b) {
        return a.from == b.from && a.to == b.to;
      };
      const auto says = [&](const std::vector<worldview_edge>& own, const worldview_edge& e, bool either_way) {
        return std::any_of(own.begin(), own.end(), [&](const worldview_edge& o) {
          return is_same(o, e) || (either_way && o.from == e.to && o.to == e.from);
        });
      };
      std::vector<worldview_edge> edges, forbidden;
      for (const worldview_edge& e : base.edges) {
        if (!says(w.edges, e, true) && !says(w.forbidden, e, false)) edges.push_back(e);
      }
      for (const worldview_edge& e : base.forbidden) {
        if (!says(w.edges, e, false) && !says(w.forbidden, e, false)) forbidden.push_back(e);
      }
      w.edges.insert(w.edges.begin(), edges.begin(), edges.end());
      w.forbidden.insert(w.forbidden.begin(), forbidden.begin(), forbidden.end());
      out.worldviews.push_back(std::move(w));
    }
  });
}

experiments read_experiments(std::string_view yaml) {
  return guarded<experiments>(yaml, [](const YAML::Node& root, experiments& out) {
    if (root.IsNull()) return;
    if (!root.IsSequence()) refuse(root, "expected a list");
    for (const YAML::Node& at : root) {
      allow(at, {"from", "to", "result", "sign", "p", "pairs"});
      experiment e;
      e.from = text(at, "from", true);
      e.to = text(at, "to", true);
      const std::string result = text(at, "result", true), sign = text(at, "sign", false);
      if (result == "confirmed") e.result = finding_kind::confirmed;
      else if (result == "contradicted") e.result = finding_kind::contradicted;
      else if (result != "open") refuse(at["result"], "result has to be confirmed, contradicted or open");
      e.sign = sign_of(at, sign);
      if (at["p"]) e.p = read_number<double>(at["p"], "p");
      if (at["pairs"]) e.pairs = read_number<std::size_t>(at["pairs"], "pairs");
      out.experiments.push_back(std::move(e));
    }
  });
}

std::string write_experiments(const std::vector<experiment>& experiments) {
  std::string out = "# Results of digctl causal verify; read by digctl causal explain --experiments.\n";
  if (experiments.empty()) return out + "[]\n";
  for (const experiment& e : experiments) {
    out += "- from: " + digd::quoted(e.from) + "\n  to: " + digd::quoted(e.to) +
           "\n  result: " + std::string(to_string(e.result)) + '\n';
    if (e.sign != 0) out += std::string("  sign: \"") + (e.sign > 0 ? '+' : '-') + "\"\n";
    out += "  p: " + number_text(e.p) + "\n  pairs: " + std::to_string(e.pairs) + '\n';
  }
  return out;
}

std::string contradiction_of(const worldview& w, const std::vector<experiment>& found) {
  for (const worldview_edge& edge : w.edges) {
    const std::string claim = plain(edge.from) + " -> " + plain(edge.to);
    for (const experiment& e : found) {
      if (e.from == edge.from && e.to == edge.to) {
        if (e.result == finding_kind::contradicted) return claim + ": an experiment found no effect";
        const bool other_way = e.result == finding_kind::confirmed && edge.sign != 0 && e.sign == -edge.sign;
        if (other_way) return claim + ": an experiment found the opposite effect";
      }
      if (e.from == edge.to && e.to == edge.from && e.result == finding_kind::confirmed) {
        return claim + ": an experiment confirmed the other direction";
      }
    }
  }
  return {};
}

}  // namespace digd::causal
