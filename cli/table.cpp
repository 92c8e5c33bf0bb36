#include "cli/table.h"

#include <algorithm>

#include "report/picture/text.h"

namespace digd::cli {

namespace {

constexpr std::size_t least_wrapped = 24;  // a narrower column would be hard to read

}  // namespace

std::string_view sgr(table::tone tone) {
  switch (tone) {
    case table::tone::plain: return "";
    case table::tone::good: return "\x1b[32m";
    case table::tone::warning: return "\x1b[33m";
    case table::tone::bad: return "\x1b[1;31m";
    case table::tone::quiet: return "\x1b[2m";
  }
  return "";
}

table::table(std::vector<std::string> head, look look) : look_(look) {
  for (std::string& title : head) head_.emplace_back(std::move(title), tone::quiet);
}

void table::measure() {
  widths_ = least_;
  widths_.resize(head_.size(), 0);
  const auto widen = [&](const row& cells) {
    for (std::size_t i = 0; i < cells.size() && i < widths_.size(); ++i) {
      widths_[i] = std::max(widths_[i], std::min(picture::width_of(cells[i].text), max_width));
    }
  };
  widen(head_);
  for (const row& cells : rows_) widen(cells);
}

void table::print_cell(std::ostream& out, const cell& cell) const {
  if (look_.color) out << sgr(cell.tone);
  out << cell.text;
  if (look_.color && cell.tone != tone::plain) out << "\x1b[0m";
}

void table::print_row(std::ostream& out, const row& cells, bool is_head) const {
  std::size_t before = 0;
  for (std::size_t i = 0; i + 1 < cells.size(); ++i) {
    const std::size_t is = picture::width_of(cells[i].text);
    print_cell(out, cells[i]);
    if (is > widths_[i] && look_.width != 0) {
      before += widths_[i] + 2;
      out << '\n' << std::string(before, ' ');
      continue;
    }
    const std::size_t taken = std::max(is, widths_[i]) + 2;
    out << std::string(taken - is, ' ');
    before += taken;
  }
  const cell& last = cells.back();
  std::vector<std::string> lines{last.text};
  // Wrapped text continues below its column or, if that is too narrow, below the row.
  const bool below = look_.width != 0 && before + least_wrapped > look_.width;
  const std::size_t indent = below ? 4 : before;
  if (look_.width != 0 && !is_head)
    lines = picture::wrapped(last.text, std::max(look_.width - std::min(look_.width, indent), least_wrapped));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0 || (below && !is_head)) out << '\n' << std::string(indent, ' ');
    print_cell(out, {lines[i], last.tone});
  }
  out << '\n';
}

void table::print(std::ostream& out) {
  if (!begun_) {
    measure();
    print_row(out, head_, true);
    begun_ = true;
  }
  for (const row& cells : rows_) print_row(out, cells, false);
  rows_.clear();
}

}  // namespace digd::cli
