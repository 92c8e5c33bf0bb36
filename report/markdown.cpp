#include "report/text.h"

#include "report/picture/text.h"
#include "report/words.h"

namespace digd::report {

namespace {

// Every character that Markdown or HTML could take for markup is escaped; one line.
std::string md(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '\n':
      case '\r': out += ' '; break;
      case '`':
        if (const std::string_view command = command_at(text, i); !command.empty()) {
          out.append("`").append(command) += '`';
          i += command.size() + 1;
        } else {
          out += "\\`";
        }
        break;
      case '\\':
      case '*':
      case '_':
      case '{':
      case '}':
      case '[':
      case ']':
      case '#':
      case '!':
      case '|':
      case '~': out.append("\\") += c; break;
      case '-':
      case '+':
      case '=':  // of a list or of a heading
        if (out.empty()) out += '\\';
        out += c;
        break;
      case ':':  // of a URL
        out += text.substr(i + 1).starts_with("//") ? "\\:" : ":";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20) out += c;
    }
  }
  return out;
}

// Writes out characters that reorder lines or control a terminal; leaves quotes and backslashes.
std::string harmless(std::string_view text) { return without_escapes(picture::safe(text)); }

// A quotation, a line for each of its lines.
std::string quotation(std::string_view text) {
  std::string out = "> ";
  for (std::size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
    out += md(harmless(text.substr(0, end))) + "  \n> ";
  return out + md(harmless(text)) + "\n";
}

void write(std::string& out, const table& t) {
  out += "\n**" + md(t.caption) + "**\n\n|";
  for (const column& c : t.columns) out += " " + md(c.name) + " |";
  out += "\n|";
  for (const column& c : t.columns) out += c.number ? "---:|" : "---|";
  out += '\n';
  for (const std::vector<std::string>& row : t.rows) {
    out += '|';
    for (std::size_t i = 0; i < row.size() && i < t.columns.size(); ++i)
      out += " " + (row[i].empty() ? "–" : md(row[i])) + " |";
    out += '\n';
  }
  if (!t.left_out.empty()) out += "\n" + md(t.left_out) + "\n";
}

void write(std::string& out, const block& b) {
  switch (b.kind) {
    case block::kind::text: out += "\n" + md(b.text) + "\n"; return;
    case block::kind::note: out += "\n> " + md(b.text) + "\n"; return;
    case block::kind::command: {  // unescaped, so that it can be copied, unless a name in it could count as markup
      const bool plain = b.text.find_first_of("<&`") == std::string::npos;
      out += plain ? "\n    " + harmless(b.text) + "\n" : "\n" + md(harmless(b.text)) + "\n";
      return;
    }
    case block::kind::list:
      out += "\n" + md(b.text) + "\n\n";
      if (b.items.size() == 1) {
        out += quotation(b.items.front());
        return;
      }
      for (const std::string& item : b.items) out += "- " + md(item) + "\n";
      return;
    case block::kind::picture:
      out += "\n*Picture, in the HTML report: " + md(b.figure.title) + ".* " + md(b.figure.caption) + "\n";
      return;
    case block::kind::table: return write(out, b.table);
    case block::kind::details:
      out += "\n### " + (b.badge.empty() ? "" : md(b.badge) + " ") + md(b.text) + "\n";
      for (const block& block : b.inside) write(out, block);
  }
}

}  // namespace

std::string to_markdown(const document& of) {
  std::string out = "# " + md(of.title) + "\n";
  for (const answer_line& line : of.answers) out += "\n**" + md(line.question) + "** " + md(line.text) + "\n";
  table facts{.caption = "The run", .columns = {{"what"}, {"value"}}, .rows = {}, .left_out = {}};
  for (const fact& f : of.facts) facts.rows.push_back({f.name, f.value});
  write(out, facts);
  for (const section& s : of.sections) {
    out += "\n## " + md(s.title) + "\n";
    for (const block& b : s.blocks) write(out, b);
  }
  return out;
}

}  // namespace digd::report
