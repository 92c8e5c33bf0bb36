#include "analysis/causal/factors/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "analysis/causal/factors/plain_name.h"

namespace digd::causal {

namespace {

bool to_number(std::string_view text, double& out) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(out);
}

bool is_missing(const std::string& cell) { return cell.empty() || cell == "NA" || cell == "nan" || cell == "NaN"; }

struct raw_column {
  std::string name;
  bool asked_discrete = false;
  std::vector<std::string> cells;
};

// Levels are sorted as numbers if all are numbers, else as text.
void add_categories(table& into, const raw_column& raw) {
  bool numbers = true;
  double x = 0;
  for (const std::string& cell : raw.cells) numbers = numbers && to_number(cell, x);
  std::vector<std::string> labels;
  {
    const std::set<std::string> distinct(raw.cells.begin(), raw.cells.end());
    labels.assign(distinct.begin(), distinct.end());
  }
  if (numbers) {
    std::stable_sort(labels.begin(), labels.end(), [](const std::string& a, const std::string& b) {
      double x = 0, y = 0;
      to_number(a, x);
      to_number(b, y);
      return x < y;
    });
  }
  std::map<std::string, int> code;
  for (std::size_t i = 0; i < labels.size(); ++i) code[labels[i]] = static_cast<int>(i);
  std::vector<int> codes;
  codes.reserve(raw.cells.size());
  for (const std::string& cell : raw.cells) codes.push_back(code[cell]);
  into.add_discrete(raw.name, codes, labels);
}

void add_column(csv_result& into, const raw_column& raw) {
  const std::set<std::string> distinct(raw.cells.begin(), raw.cells.end());
  if (distinct.size() < 2) {
    into.notes.push_back(plain(raw.name) + ": dropped, because it never changes");
    return;
  }
  std::vector<double> numbers(raw.cells.size());
  bool complete = true;
  for (std::size_t i = 0; i < numbers.size() && complete; ++i) complete = to_number(raw.cells[i], numbers[i]);
  if (complete && !raw.asked_discrete && distinct.size() > 2)
    return into.data.add_continuous(raw.name, std::move(numbers));
  const bool tells_rows_apart =
      !complete && !raw.asked_discrete && distinct.size() > 2 && distinct.size() * 3 > raw.cells.size();
  if (tells_rows_apart) {
    into.notes.push_back(plain(raw.name) + ": not a factor, because it differs in nearly every row (" +
                         std::to_string(distinct.size()) + " values); use it to pair or cluster");
    return;
  }
  if (distinct.size() > column::max_levels) {
    into.notes.push_back(plain(raw.name) + ": dropped, " + std::to_string(distinct.size()) + " categories (at most " +
                         std::to_string(column::max_levels) + ")");
    return;
  }
  add_categories(into.data, raw);
}

}  // namespace

std::vector<std::vector<std::string>> csv_cells(std::string_view text, std::string& problem) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
  std::string cell;
  bool quoted = false, any = false;
  const auto end_row = [&] {
    if (any || !cell.empty() || !row.empty()) {
      row.push_back(std::move(cell));
      rows.push_back(std::move(row));
    }
    row.clear();
    cell.clear();
    any = false;
  };
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"') cell += c;
      else if (i + 1 < text.size() && text[i + 1] == '"') cell += text[++i];
      else quoted = false;
    } else if (c == '"' && cell.empty()) {
      quoted = any = true;
    } else if (c == ',') {
      row.push_back(std::move(cell));
      cell.clear();
      any = true;
    } else if (c == '\n') {
      end_row();
    } else if (c != '\r') {
      cell += c;
    }
  }
  if (quoted) problem = "a quote is never closed";
  end_row();
  if (!problem.empty()) rows.clear();
  return rows;
}

csv_result read_csv(std::string_view text, const std::vector<std::string>& discrete) {
  csv_result out;
  const auto rows = csv_cells(text, out.problem);
  if (!out.problem.empty()) return out;
  if (rows.size() < 2) {
    out.problem = "no rows below the header";
    return out;
  }
  std::vector<raw_column> raw(rows[0].size());
  for (std::size_t c = 0; c < raw.size(); ++c) {
    std::string name = rows[0][c];
    const std::string suffix = ":discrete";
    if (name.ends_with(suffix)) {
      name.resize(name.size() - suffix.size());
      raw[c].asked_discrete = true;
    }
    raw[c].asked_discrete |= std::find(discrete.begin(), discrete.end(), name) != discrete.end();
    raw[c].name = name;
    out.names.push_back(std::move(name));
    if (raw[c].name.empty()) out.problem = "column " + std::to_string(c + 1) + " has no name";
    for (std::size_t before = 0; before < c; ++before) {
      if (raw[before].name == raw[c].name) out.problem = "two columns are called " + plain(raw[c].name);
    }
    if (!out.problem.empty()) return out;
  }
  for (std::size_t r = 1; r < rows.size(); ++r) {
    if (rows[r].size() != raw.size()) {
      out.problem = "row " + std::to_string(r + 1) + " has " + std::to_string(rows[r].size()) + " cells, the header " +
                    std::to_string(raw.size());
      return out;
    }
    if (std::any_of(rows[r].begin(), rows[r].end(), is_missing)) continue;
    out.kept.push_back(r - 1);
    for (std::size_t c = 0; c < raw.size(); ++c) raw[c].cells.push_back(rows[r][c]);
  }
  const std::size_t lost = rows.size() - 1 - out.kept.size();
  if (lost > 0) out.notes.push_back(std::to_string(lost) + " rows dropped: a value is missing");
  out.data = table(out.kept.size());
  for (const raw_column& raw_column : raw) add_column(out, raw_column);
  return out;
}

csv_result read_codes(std::string_view text) {
  csv_result out;
  std::vector<std::vector<int>> columns;
  std::size_t at = 0, line = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const char* p = text.data() + at;
    const char* const stop = text.data() + end;
    ++line;
    std::size_t c = 0;
    while (true) {
      while (p < stop && (*p == ' ' || *p == '\r' || *p == '\t')) ++p;
      if (p == stop) break;
      int code = 0;
      const auto [next, error] = std::from_chars(p, stop, code);
      const bool fits = line == 1 || c < columns.size();
      if (error != std::errc() || !fits) {
        out.problem = "line " + std::to_string(line) + (fits ? ": not an integer" : ": too many columns");
        return out;
      }
      if (line == 1) columns.emplace_back();
      columns[c++].push_back(code);
      p = next;
    }
    if (c != 0 && c != columns.size()) {
      out.problem = "line " + std::to_string(line) + ": too few columns";
      return out;
    }
    at = end + 1;
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (std::set<int>(columns[c].begin(), columns[c].end()).size() > column::max_levels) {
      out.problem = "column " + std::to_string(c + 1) + " has more than " + std::to_string(column::max_levels) +
                    " different codes";
      return out;
    }
    out.data.add_discrete("v" + std::to_string(c), columns[c]);
  }
  if (columns.empty()) out.problem = "empty";
  return out;
}

std::string number_text(double x) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, x).ptr};
}

std::string csv_cell(std::string_view text) {
  const bool formula = !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos;
  double x = 0;
  std::string plain = formula && !to_number(text, x) ? "'" + std::string(text) : std::string(text);
  if (plain.find_first_of(",\"\r\n") == std::string::npos) return plain;
  std::string out = "\"";
  for (char c : plain) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

std::string write_csv(const table& t, const std::vector<text_column>& before) {
  std::string out;
  for (const text_column& c : before) out += (out.empty() ? "" : ",") + csv_cell(c.name);
  for (variable v = 0; v < t.size(); ++v) {
    const column& c = t[v];
    out += (out.empty() ? "" : ",") + csv_cell(c.name + (c.discrete && c.levels > 2 ? ":discrete" : ""));
  }
  out += '\n';
  for (std::size_t r = 0; r < t.rows(); ++r) {
    for (std::size_t k = 0; k < before.size(); ++k) out += (k > 0 ? "," : "") + csv_cell(before[k].cells[r]);
    for (variable v = 0; v < t.size(); ++v) {
      const column& c = t[v];
      if (v > 0 || !before.empty()) out += ',';
      out += c.discrete ? csv_cell(c.labels[c.codes[r]]) : number_text(c.values[r]);
    }
    out += '\n';
  }
  return out;
}

}  // namespace digd::causal
