#include <algorithm>
#include <cstdio>

#include "analysis/causal/eval.h"
#include "base/json_writer.h"

namespace digd::causal {

namespace {

std::string fixed(double x, int digits) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", digits, x);
  return text;
}

std::string shown_value(const figure& f, double x) {
  return fixed(x, f.metric.find("SHD") != std::string::npos ? 1 : 3);
}

std::string verdict_text(const figure& f) {
  if (!f.has_aim) return "";
  if (f.reached()) return "reached";
  return f.is_aim ? "not reached (aim)" : "NOT REACHED";
}

}  // namespace

std::string evaluation_text(const evaluation& e) {
  std::string out;
  char line[256];
  const auto row = [&](const char* data, const char* text, const std::string& n, const std::string& slices,
                       const std::string& value, const std::string& wanted, const std::string& is) {
    std::snprintf(line, sizeof line, "%-22s  %-28s  %6s  %6s  %8s  %8s  %s", data, text, n.c_str(), slices.c_str(),
                  value.c_str(), wanted.c_str(), is.c_str());
    out += line;
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  };
  row("data", "figure", "rows", "slices", "value", "wanted", "");
  for (const figure& f : e.figures) {
    const std::string wanted = f.has_aim ? (f.at_most ? "<= " : ">= ") + shown_value(f, f.wanted) : "";
    const std::string interval = "[" + fixed(f.low, 3) + ", " + fixed(f.high, 3) + "]";
    row(f.data.c_str(), f.metric.c_str(), f.rows ? std::to_string(f.rows) : "-", std::to_string(f.slices),
        shown_value(f, f.value), wanted, f.has_interval ? interval : verdict_text(f));
  }
  return out;
}

std::string evaluation_json(const evaluation& e) {
  std::string out;
  json_writer w(out);
  w.open_object().key("figures").open_array();
  for (const figure& f : e.figures) {
    w.open_object().key("data").text(f.data).key("figure").text(f.metric).key("rows");
    if (f.rows) w.number(static_cast<double>(f.rows));
    else w.null();
    w.key("slices").number(static_cast<double>(f.slices)).key("value").number(f.value);
    if (f.has_aim)
      w.key(f.at_most ? "at_most" : "at_least")
          .number(f.wanted)
          .key("reached")
          .boolean(f.reached())
          .key("aim")
          .boolean(f.is_aim);
    if (f.has_interval) w.key("low").number(f.low).key("high").number(f.high);
    w.close_object();
  }
  w.close_array().key("slices").open_array();
  for (const slice_figure& s : e.slices) {
    w.open_object().key("data").text(s.data).key("rows").number(static_cast<double>(s.rows)).key("slice");
    w.number(static_cast<double>(s.slice)).key("mb_f1").number(s.mb_f1).key("shd").number(s.shd);
    w.key("seconds").number(s.seconds).close_object();
  }
  w.close_array().close_object();
  return out + '\n';
}

}  // namespace digd::causal
