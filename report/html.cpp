#include "report/html.h"

#include "report/page_style.h"
#include "report/picture/chart.h"
#include "report/picture/palette.h"
#include "report/picture/svg_style.h"
#include "report/picture/xml.h"
#include "report/words.h"

namespace digd::report {

namespace {

using picture::xml;

class page {
 public:
  std::string run(const document& of) {
    head(of);
    header(of);
    contents(of);
    add("<main id=\"main\" tabindex=\"-1\">\n");
    for (const section& s : of.sections) write(s);
    add("</main>\n<footer><p>Written by digd from what it recorded; nothing on this page was fetched from "
        "elsewhere.</p></footer>\n<script>");
    add(page_script);
    add("</script>\n</body>\n</html>\n");
    return std::move(out_);
  }

 private:
  void add(std::string_view text) { out_ += text; }
  void tag(std::string_view open, std::string_view text, std::string_view close) {
    add(open);
    add(xml(text));
    add(close);
  }
  // Text with commands as code.
  void prose(std::string_view open, std::string_view text, std::string_view close) {
    add(open);
    while (true) {
      const std::size_t at = text.find("`digctl ");
      tag("", text.substr(0, at), "");
      if (at == std::string_view::npos) break;
      text.remove_prefix(at);
      const std::string_view command = command_at(text, 0);
      if (command.empty()) add("`");
      else tag("<code>", command, "</code>");
      text.remove_prefix(command.empty() ? 1 : command.size() + 2);
    }
    add(close);
  }
  std::string new_id() { return "i" + std::to_string(++ids_); }

  void head(const document& of) {
    add("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"");
    add(content_security_policy());
    add("\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n");
    tag("<title>", of.title, "</title>\n<style>\n");
    add(picture::palette_variables());
    add(page_style);
    add(picture::scoped(picture::svg_style, "svg.run"));
    add(picture::scoped(picture::chart_style, "svg.chart"));
    add("</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the report</a>\n");
  }

  void header(const document& of) {
    add("<header>\n<p class=\"brand\">digd · report of a run</p>\n");
    tag("<h1>", of.title, "</h1>\n");
    add(of.failed ? "<div class=\"verdict bad\">\n" : "<div class=\"verdict\">\n");
    bool first = true;
    for (const answer_line& line : of.answers) {
      add("<p>");
      if (first)
        add(of.failed ? "<span class=\"mark\" aria-hidden=\"true\">⚠ </span>"
                      : "<span class=\"mark\" aria-hidden=\"true\">✓ </span>");
      tag("<strong>", line.question, "</strong> ");
      prose("", line.text, "</p>\n");
      first = false;
    }
    add("</div>\n<dl class=\"facts\">\n");
    for (const fact& f : of.facts) {
      tag("<div><dt>", f.name, "</dt>");
      tag("<dd>", f.value, "</dd></div>\n");
    }
    add("</dl>\n");
  }

  void contents(const document& of) {
    if (of.sections.empty()) return add("</header>\n");
    add("<nav aria-label=\"Contents\"><ol>\n");
    bool folded = false;
    for (const section& s : of.sections) {
      tag("<li><a href=\"#" + s.id + "\">", s.title, "</a></li>\n");
      for (const block& b : s.blocks) folded = folded || b.kind == block::kind::details;
    }
    add("</ol></nav>\n");
    if (folded) add("<p><button type=\"button\" id=\"open-all\" hidden>Open all</button></p>\n");
    add("</header>\n");
  }

  void write(const section& s) {
    tag("<section id=\"" + s.id + "\" aria-labelledby=\"" + s.id + "-title\">\n<h2 id=\"" + s.id + "-title\">", s.title,
        "</h2>\n");
    for (const block& b : s.blocks) write(b);
    add("</section>\n");
  }

  void write(const block& b) {
    switch (b.kind) {
      case block::kind::text: return prose("<p>", b.text, "</p>\n");
      case block::kind::note: return prose("<p class=\"remark\">", b.text, "</p>\n");
      case block::kind::command: return tag("<pre tabindex=\"0\"><code>", b.text, "</code></pre>\n");
      case block::kind::list: return list(b);
      case block::kind::picture: return picture(b.figure);
      case block::kind::table: return write(b.table);
      case block::kind::details: return details(b);
    }
  }

  void list(const block& b) {
    tag("<p>", b.text, "</p>\n");
    if (b.items.size() == 1) {
      add("<div class=\"single-item\">");
      lines(b.items.front());
      return add("</div>\n");
    }
    add("<ul>\n");
    for (const std::string& item : b.items) tag("<li>", item, "</li>\n");
    add("</ul>\n");
  }

  void lines(std::string_view text) {
    for (std::size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
      tag("", text.substr(0, end), "<br>");
    tag("", text, "");
  }

  void picture(const figure& f) {
    tag("<figure>\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"",
        "Figure " + std::to_string(++figures_) + ": " + f.title, "\">\n");
    add(f.svg);
    tag("</div>\n<figcaption><strong>", "Figure " + std::to_string(figures_) + ": " + f.title, ".</strong> ");
    tag("", f.caption, "</figcaption>\n</figure>\n");
  }

  void write(const table& t) {
    const std::string id = new_id();
    tag("<div class=\"tables\"><div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-labelledby=\"" + id +
            "\">\n<table>\n<caption id=\"" + id + "\">",
        t.caption, "</caption>\n<thead><tr>");
    for (const column& c : t.columns)
      tag(c.number ? "<th scope=\"col\" class=\"number\">" : "<th scope=\"col\">", c.name, "</th>");
    add("</tr></thead>\n<tbody>\n");
    for (const std::vector<std::string>& row : t.rows) {
      add("<tr>");
      for (std::size_t i = 0; i < row.size() && i < t.columns.size(); ++i) {
        const std::string name = i == 0 ? "th" : "td";
        tag("<" + name + (i == 0 ? " scope=\"row\"" : "") + (t.columns[i].number ? " class=\"number\">" : ">"),
            row[i].empty() ? "–" : row[i], "</" + name + ">");
      }
      add("</tr>\n");
    }
    add("</tbody>\n</table>\n</div>\n");
    if (!t.left_out.empty()) prose("<p class=\"left-out\">", t.left_out, "</p>\n");
    add("</div>\n");
  }

  void details(const block& b) {
    add("<details>\n<summary>");
    if (!b.badge.empty()) tag(b.grave ? "<span class=\"badge grave\">" : "<span class=\"badge\">", b.badge, "</span>");
    tag("", b.text, "</summary>\n");
    for (const block& block : b.inside) write(block);
    add("</details>\n");
  }

  std::string out_;
  std::size_t ids_ = 0, figures_ = 0;
};

}  // namespace

std::string content_security_policy() {
  return "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + std::string(page_script_sha256) +
         "'; base-uri 'none'; form-action 'none'";
}

std::string to_html(const document& of) { return page().run(of); }

}  // namespace digd::report
