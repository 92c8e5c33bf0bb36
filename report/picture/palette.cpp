#include "report/picture/palette.h"

#include <algorithm>
#include <array>

namespace digd::picture {

namespace {

constexpr std::array hues{
    hue{"ink", "#1b1f24", "#e6e9ee"},         hue{"soft", "#57606a", "#a9b3be"},
    hue{"faint", "#656f7a", "#98a3af"},       hue{"quiet", "#9aa4af", "#75818e"},
    hue{"edge", "#4a5562", "#b6c0cb"},        hue{"line", "#d5dbe1", "#313a44"},
    hue{"line-strong", "#c3cad2", "#46515d"}, hue{"paper", "#ffffff", "#12161b"},
    hue{"panel", "#f5f7f9", "#1b2128"},       hue{"blue", "#0072b2", "#56b4e9"},
    hue{"blue-ink", "#0a5688", "#cfe8fa"},    hue{"blue-fill", "#d9eaf7", "#143650"},
    hue{"blue-mid", "#8fc3e6", "#2a6a97"},    hue{"fail", "#d55e00", "#ff8a4c"},
    hue{"fail-ink", "#a84500", "#ff9a5c"},    hue{"fail-fill", "#fdeee4", "#3a2313"},
    hue{"fail-badge", "#b54e00", "#ff8a4c"},  hue{"warn", "#c98a00", "#f0c24b"},
    hue{"warn-ink", "#7d5200", "#f0c24b"},    hue{"warn-fill", "#fff3d6", "#3a3014"},
    hue{"warn-badge", "#825b00", "#f0c24b"},  hue{"good", "#009e73", "#1fbf90"},
    hue{"good-ink", "#006b4c", "#3ddbaa"},    hue{"good-fill", "#e0f5ee", "#12352b"},
    hue{"heal", "#b0467f", "#e58fbd"},        hue{"heal-ink", "#98336a", "#f0a6cc"},
    hue{"glow", "#f7d774", "#6b5410"},
};

std::string_view value_of(std::string_view name, bool dark) {
  for (const hue& hue : hues) {
    if (hue.name == name) return dark ? hue.dark : hue.light;
  }
  return "currentColor";
}

// `var(--name)` written out.
std::string written_out(std::string_view css, bool dark) {
  constexpr std::string_view mark = "var(--";
  std::string out;
  for (std::size_t at; (at = css.find(mark)) != std::string_view::npos;) {
    const std::size_t end = css.find(')', at);
    out += css.substr(0, at);
    out += value_of(css.substr(at + mark.size(), end - at - mark.size()), dark);
    css.remove_prefix(end + 1);
  }
  return out.append(css);
}

// Calls `each` with the selectors and the declarations of every rule.
template <class Each>
void each_rule(std::string_view css, Each each) {
  for (std::size_t open; (open = css.find('{')) != std::string_view::npos;) {
    const std::size_t close = css.find('}', open);
    const std::size_t begin = css.find_first_not_of(" \n");
    each(css.substr(begin, open - begin), css.substr(open + 1, close - open - 1));
    css.remove_prefix(close + 1);
  }
}

std::string with_variables(std::string_view declarations) {
  std::string out;
  while (!declarations.empty()) {
    const std::size_t end = std::min(declarations.find(';'), declarations.size());
    const std::string_view text = declarations.substr(0, end);
    if (text.find("var(--") != std::string_view::npos) out.append(out.empty() ? "" : ";").append(text);
    declarations.remove_prefix(std::min(end + 1, declarations.size()));
  }
  return out;
}

}  // namespace

std::span<const hue> palette() { return hues; }

std::string palette_variables() {
  std::string light = ":root{color-scheme:light dark", dark = "@media (prefers-color-scheme:dark){:root{";
  for (const hue& hue : hues) {
    light.append(";--").append(hue.name).append(":").append(hue.light);
    dark.append("--").append(hue.name).append(":").append(hue.dark).append(";");
  }
  return light + "}\n" + dark + "}}\n";
}

std::string with_colours(std::string_view css) {
  std::string dark;
  each_rule(css, [&](std::string_view selectors, std::string_view declarations) {
    const std::string its = with_variables(declarations);
    if (!its.empty()) dark.append(selectors).append("{").append(written_out(its, true)).append("}\n");
  });
  return written_out(css, false) + "@media (prefers-color-scheme:dark){\n" + dark + "}\n";
}

std::string scoped(std::string_view css, std::string_view prefix) {
  std::string out;
  each_rule(css, [&](std::string_view selectors, std::string_view declarations) {
    for (bool first = true; !selectors.empty(); first = false) {
      const std::size_t end = std::min(selectors.find(','), selectors.size());
      out.append(first ? "" : ",").append(prefix).append(" ").append(selectors.substr(0, end));
      selectors.remove_prefix(std::min(end + 1, selectors.size()));
    }
    out.append("{").append(declarations).append("}\n");
  });
  return out;
}

}  // namespace digd::picture
