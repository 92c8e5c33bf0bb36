#include "analysis/causal/factors/factor_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "analysis/causal/factors/builtin.h"
#include "analysis/causal/factors/csv.h"
#include "analysis/causal/factors/expression.h"
#include "analysis/causal/factors/factor_lines.h"
#include "analysis/causal/factors/plain_name.h"
#include "analysis/causal/factors/run_reader.h"
#include "archive/reader.h"
#include "archive/trace_export.h"
#include "base/text.h"

namespace digd::causal {

namespace fs = std::filesystem;

namespace {

bool is_archive(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  char head[15] = {};
  in.read(head, sizeof head);
  return in && std::string_view(head, sizeof head) == "SQLite format 3";
}

void read_trace_into(run_reader& reader, const std::string& name, std::vector<std::string>& notes,
                     const std::function<void(run_facts&&)>& to) {
  if (!reader.problem().empty()) {
    notes.push_back(plain(name) + ": left out, " + reader.problem());
    return;
  }
  run_facts facts = reader.take();
  if (facts.run.empty()) notes.push_back(plain(name) + ": left out, because it has no run");
  else to(std::move(facts));
}

std::string read_archive(const fs::path& path, const run_window& window, std::vector<std::string>& notes,
                         const std::function<void(run_facts&&)>& to) {
  std::string problem;
  const auto opened = archive::reader::open(path.string(), {}, &problem);
  if (!opened) return plain(path.string()) + ": " + (problem.empty() ? opened.error().message() : problem);
  const auto runs = (*opened)->runs();
  if (!runs) return plain(path.string()) + ": " + runs.error().message();
  for (const archive::stored_run& run : *runs) {
    run_reader reader(window);
    bool going = true;
    archive::trace_export lines([&](std::string_view line) { going = going && reader.line(line); });
    const auto read = (*opened)->each_entry(run.number, [&](const archive::stored_entry& e) {
      lines.take(e);
      return going;
    });
    if (!read) return plain(path.string()) + ": " + read.error().message();
    if (going) lines.finish();
    read_trace_into(reader, run.run, notes, to);
  }
  return {};
}

std::string read_trace(const fs::path& path, const run_window& window, std::vector<std::string>& notes,
                       const std::function<void(run_facts&&)>& to) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return plain(path.string()) + " cannot be read";
  run_reader reader(window);
  std::string line;
  while (std::getline(in, line) && reader.line(line)) {
  }
  read_trace_into(reader, path.filename().string(), notes, to);
  return {};
}

}  // namespace

std::string each_run(const std::string& path, const run_window& window, std::vector<std::string>& notes,
                     const std::function<void(run_facts&&)>& to) {
  std::error_code failed;
  if (!fs::is_directory(path, failed)) {
    if (!fs::exists(path, failed)) return plain(path) + ": there is no such file or folder";
    return is_archive(path) ? read_archive(path, window, notes, to) : read_trace(path, window, notes, to);
  }
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed)) {
    const fs::path& p = at->path();
    if (at->is_regular_file(failed) && (p.extension() == ".jsonl" || p.extension() == ".sqlite")) files.push_back(p);
  }
  if (failed) return plain(path) + ": " + failed.message();
  if (files.empty()) return plain(path) + ": the folder has no *.jsonl and no *.sqlite";
  std::sort(files.begin(), files.end());
  for (const fs::path& f : files) {
    if (std::string problem = each_run(f.string(), window, notes, to); !problem.empty()) return problem;
  }
  return {};
}

namespace {

constexpr std::string_view no_label = "(none)";  // the category of runs without the label
constexpr std::size_t max_named_runs = 20;       // runs named in the notes; further ones are only counted

void shorten(std::vector<std::string>& notes) {
  if (notes.size() <= max_named_runs) return;
  const std::size_t more = notes.size() - max_named_runs;
  notes.resize(max_named_runs);
  notes.push_back("and " + std::to_string(more) + " more left out");
}

std::string label_of(const std::map<std::string, std::string>& of_run, const std::string& name) {
  const auto at = of_run.find(name);
  return at == of_run.end() || at->second.empty() ? std::string(no_label) : at->second;
}

std::optional<double> as_number(const std::string& text) {
  double x = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(x)) return {};
  return x;
}

struct user_factor {
  std::string name;
  std::shared_ptr<const digd::causal::expression> expression;
};

class builder {
 public:
  explicit builder(const factor_request& request) : request_(request) {}

  std::string prepare() {
    for (const auto& [name, text] : request_.user) {
      std::string problem = name_problem(name);
      if (!problem.empty()) return "factor " + plain(name) + ": " + problem;
      auto parsed = expression::parse(text, problem);
      if (!parsed) return "factor " + plain(name) + ": " + problem;
      user_.push_back({name, std::move(parsed)});
    }
    for (const builtin_factor& f : builtin_factors()) {
      builtin_names_.push_back(std::string(f.name) + (is_rate(f) ? "_per_activation" : ""));
    }
    builtin_.resize(builtin_factors().size());
    user_values_.resize(user_.size());
    return {};
  }

  // What the table needs of a run.
  run_factors factors_of(run_facts&& f) const {
    run_factors out{.run = f.run, .ended = f.ended, .success = f.outcome == run_outcome::success};
    if (!f.ended) return out;
    for (const user_factor& u : user_) {
      const std::optional<double> x = u.expression->value(u.name == request_.outcome ? f.in_full() : f);
      if (!x) {
        out.lacking = u.name;
        return out;
      }
      out.user.push_back(*x);
    }
    for (const builtin_factor& known : builtin_factors()) {
      double x = known.of(known.name == request_.outcome ? f.in_full() : f);
      if (is_rate(known)) x = f.activations.empty() ? 0 : x / static_cast<double>(f.activations.size());
      out.builtin.push_back(x);
    }
    out.labels = std::move(f.labels);
    out.metrics = std::move(f.metrics);
    return out;
  }

  // False if it has other factors than the request.
  bool add(run_factors&& f) {
    if (!f.ended) {
      ++not_ended_;
      return true;
    }
    if (!f.lacking.empty()) {
      ++lacking_[f.lacking];
      return true;
    }
    if (f.builtin.size() != builtin_.size() || f.user.size() != user_.size()) return false;
    for (std::size_t k = 0; k < user_.size(); ++k) user_values_[k].push_back(f.user[k]);
    for (std::size_t k = 0; k < builtin_.size(); ++k) builtin_[k].push_back(f.builtin[k]);
    out_.runs.push_back(std::move(f.run));
    out_.labels.push_back(std::move(f.labels));
    metrics_.push_back(std::move(f.metrics));
    success_.push_back(f.success);
    return true;
  }

  factor_rows build() {
    if (not_ended_ > 0) note(std::to_string(not_ended_) + " runs left out: they have not ended");
    for (const auto& [name, count] : lacking_) {
      note(std::to_string(count) + " runs left out: " + plain(name) + " names a label or metric that they lack");
    }
    out_.data = table(out_.runs.size());
    for (std::size_t k = 0; k < builtin_.size(); ++k) number(builtin_names_[k], builtin_[k], false);
    if (unchanging_ > 0) {
      note(std::to_string(unchanging_) + " of " + std::to_string(builtin_.size()) +
           " built-in factors: dropped, because they never change");
    }
    add_labels();
    for (std::size_t k = 0; k < user_.size(); ++k) number(user_[k].name, user_values_[k], true);
    add_metrics();
    if (std::set<int>(success_.begin(), success_.end()).size() > 1)
      out_.data.add_discrete("success", success_, {"no", "yes"});
    else note("success: dropped, because it never changes");
    return std::move(out_);
  }

 private:
  bool is_rate(const builtin_factor& f) const {
    return request_.rates && f.is_count && f.name != "activations" && f.name != request_.outcome;
  }

  // Why a user factor cannot have this name; empty if it can.
  std::string name_problem(const std::string& name) const {
    const bool is_own = name == "success" || name.starts_with("label.") || name.starts_with("metric.");
    constexpr std::string_view by = "_per_activation";
    const bool is_of_rate = name.ends_with(by) && find_builtin(name.substr(0, name.size() - by.size())) != nullptr;
    if (is_own || is_of_rate || find_builtin(name) != nullptr)
      return "there is a factor of that name already; choose another";
    for (const user_factor& u : user_) {
      if (u.name == name) return "it is given twice";
    }
    return {};
  }

  void note(std::string text) { out_.notes.push_back(std::move(text)); }

  void number(const std::string& name, std::vector<double> values, bool say) {
    const std::set<double> distinct(values.begin(), values.end());
    if (distinct.size() > 2) {
      out_.data.add_continuous(name, std::move(values));
    } else if (distinct.size() == 2) {
      std::vector<int> codes;
      codes.reserve(values.size());
      for (double x : values) codes.push_back(x == *distinct.rbegin());
      out_.data.add_discrete(name, codes, {number_text(*distinct.begin()), number_text(*distinct.rbegin())});
    } else if (say) {
      note(plain(name) + ": dropped, because it never changes");
    } else {
      ++unchanging_;
    }
  }

  void add_labels() {
    std::set<std::string> names;
    for (const auto& of_run : out_.labels) {
      for (const auto& [name, value] : of_run) names.insert(name);
    }
    for (const std::string& name : names) add_label(name);
  }

  void add_label(const std::string& name) {
    std::vector<std::string> values;
    std::vector<double> numbers;
    for (const auto& of_run : out_.labels) {
      values.push_back(label_of(of_run, name));
      if (const auto x = as_number(values.back())) numbers.push_back(*x);
    }
    const std::set<std::string> distinct(values.begin(), values.end());
    if (distinct.size() < 2) return;
    if (numbers.size() == values.size() && distinct.size() > 2)
      return number("label." + name, std::move(numbers), true);
    if (distinct.size() > column::max_levels || distinct.size() * 3 > values.size()) {
      return note(plain("label." + name) + ": not a factor, because it differs in nearly every run (" +
                  std::to_string(distinct.size()) + " values); use it to pair or cluster");
    }
    const std::vector<std::string> levels(distinct.begin(), distinct.end());
    std::vector<int> codes;
    codes.reserve(values.size());
    for (const std::string& v : values) {
      codes.push_back(static_cast<int>(std::lower_bound(levels.begin(), levels.end(), v) - levels.begin()));
    }
    out_.data.add_discrete("label." + name, codes, levels);
  }

  void add_metrics() {
    std::set<std::string> names;
    for (const std::string& asked : request_.metrics) {
      if (asked != "*") names.insert(asked);
      else
        for (const auto& of_run : metrics_)
          for (const auto& [name, value] : of_run) names.insert(name);
    }
    for (const std::string& name : names) {
      std::vector<double> values;
      for (const auto& of_run : metrics_) {
        if (const auto at = of_run.find(name); at != of_run.end()) values.push_back(at->second);
      }
      if (values.size() == metrics_.size()) number("metric." + name, std::move(values), true);
      else
        note(plain("metric." + name) + ": dropped, " + std::to_string(metrics_.size() - values.size()) +
             " runs lack it");
    }
  }

  const factor_request& request_;
  factor_rows out_;
  std::vector<user_factor> user_;
  std::vector<std::string> builtin_names_;
  std::vector<std::vector<double>> builtin_, user_values_;
  std::vector<std::map<std::string, double>> metrics_;
  std::vector<int> success_;
  std::size_t unchanging_ = 0;  // built-in factors with one value in all runs
  std::size_t not_ended_ = 0;
  std::map<std::string, std::size_t> lacking_;
};

factor_rows built(builder& from, std::vector<std::string>& notes) {
  factor_rows out = from.build();
  shorten(notes);
  out.notes.insert(out.notes.begin(), notes.begin(), notes.end());
  return out;
}

}  // namespace

factor_rows factor_table_of(const std::vector<std::string>& paths, const factor_request& request) {
  builder into(request);
  factor_rows failed;
  std::vector<std::string> notes;
  failed.problem = into.prepare();
  for (const std::string& path : paths) {
    if (!failed.problem.empty()) return failed;
    failed.problem =
        each_run(path, request.window, notes, [&](run_facts&& f) { into.add(into.factors_of(std::move(f))); });
  }
  return failed.problem.empty() ? built(into, notes) : failed;
}

std::string factor_lines_of(const std::vector<std::string>& paths, const factor_request& request, std::string& lines) {
  builder of(request);
  std::string problem = of.prepare();
  for (const std::string& path : paths) {
    if (!problem.empty()) return problem;
    std::vector<std::string> notes;
    problem =
        each_run(path, request.window, notes, [&](run_facts&& f) { lines += line_of(of.factors_of(std::move(f))); });
    for (std::string& note : notes) lines += line_of({.note = std::move(note)});
  }
  return problem;
}

factor_rows factor_table_of_lines(std::string_view lines, const factor_request& request) {
  builder into(request);
  factor_rows failed;
  std::vector<std::string> notes;
  failed.problem = into.prepare();
  for (std::size_t number = 1; failed.problem.empty() && !lines.empty(); ++number) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    run_factors read;
    if (!read_line(lines.substr(0, end), read))
      failed.problem =
          "line " + std::to_string(number) + ": expected the factors of a run, as factors --lines writes them";
    else if (!read.note.empty()) notes.push_back(std::move(read.note));
    else if (!into.add(std::move(read)))
      failed.problem = "line " + std::to_string(number) + ": the run has other factors than those that are asked for";
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return failed.problem.empty() ? built(into, notes) : failed;
}

namespace {

// The function that computes the column of this name from a run. Sets `problem` and returns none if there is no such
// column.
std::function<std::optional<double>(const run_facts&)> value_named(const std::string& name,
                                                                   const factor_request& request,
                                                                   std::string& problem) {
  if (name == "success")
    return [](const run_facts& f) { return std::optional<double>(f.outcome == run_outcome::success); };
  std::string text = name;
  for (const auto& [own, definition] : request.user) {
    if (own == name) text = definition;
  }
  const std::string_view by = "_per_activation";
  if (text == name && name.ends_with(by)) text = name.substr(0, name.size() - by.size()) + " / activations";
  for (const char* kind : {"label.", "metric."}) {
    if (text == name && name.starts_with(kind)) text = kind + ('"' + name.substr(std::string_view(kind).size()) + '"');
  }
  const auto parsed = expression::parse(text, problem);
  if (!parsed) return {};
  return [parsed](const run_facts& f) { return parsed->value(f); };
}

}  // namespace

paired_runs paired_runs_of(const std::string& path, const factor_request& request, const std::string& factor,
                           const std::string& outcome) {
  paired_runs out;
  const auto x = value_named(factor, request, out.problem);
  if (!x) return out;
  const auto y = value_named(outcome, request, out.problem);
  if (!y) return out;
  std::size_t lacking = 0;
  out.problem = each_run(path, request.window, out.notes, [&](run_facts&& f) {
    const auto a = x(f), b = y(f.in_full());
    if (!f.ended || !a || !b) {
      ++lacking;
      return;
    }
    out.factor.push_back(*a);
    out.outcome.push_back(*b);
    out.labels.push_back(std::move(f.labels));
  });
  shorten(out.notes);
  if (lacking > 0)
    out.notes.push_back(std::to_string(lacking) +
                        " runs left out: they have not ended, or lack the factor or the outcome");
  if (out.problem.empty() && out.labels.empty())
    out.problem = "no run that has ended and has both " + plain(factor) + " and " + plain(outcome);
  return out;
}

std::string read_user_factors(std::string_view text, std::vector<std::pair<std::string, std::string>>& out) {
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = trimmed(line);
    if (line.empty() || line.front() == '#') continue;
    const std::size_t sign = line.find('=');
    if (sign == std::string_view::npos || trimmed(line.substr(0, sign)).empty()) {
      return "line " + std::to_string(number) + ": expected NAME = EXPRESSION";
    }
    out.emplace_back(trimmed(line.substr(0, sign)), trimmed(line.substr(sign + 1)));
  }
  return {};
}

std::string factor_csv(const factor_rows& rows) {
  std::vector<text_column> before{{"run", rows.runs}};
  std::set<std::string> names;
  for (const auto& of_run : rows.labels) {
    for (const auto& [name, value] : of_run) names.insert(name);
  }
  for (const std::string& name : names) {
    if (rows.data.find("label." + name)) continue;
    text_column c{"label." + name, {}};
    for (const auto& of_run : rows.labels) c.cells.push_back(label_of(of_run, name));
    if (std::set<std::string>(c.cells.begin(), c.cells.end()).size() > 1) before.push_back(std::move(c));
  }
  return write_csv(rows.data, before);
}

namespace {

std::string label_named(const std::string& name) { return name.starts_with("label.") ? name.substr(6) : name; }

}  // namespace

std::vector<std::uint32_t> clusters_by(const factor_rows& rows, const std::vector<std::string>& asked,
                                       std::string& problem) {
  std::vector<std::uint32_t> out;
  if (asked.empty()) return out;
  std::vector<std::string> labels;
  for (const std::string& name : asked) {
    labels.push_back(label_named(name));
    const auto has = [&](const auto& of_run) { return of_run.contains(labels.back()); };
    if (std::none_of(rows.labels.begin(), rows.labels.end(), has))
      problem = "no run has a label " + plain(labels.back());
  }
  if (!problem.empty()) return out;
  std::map<std::vector<std::string>, std::uint32_t> number;
  for (const auto& of_run : rows.labels) {
    std::vector<std::string> key;
    key.reserve(labels.size());
    for (const std::string& l : labels) key.push_back(of_run.contains(l) ? of_run.at(l) : std::string());
    out.push_back(number.emplace(std::move(key), static_cast<std::uint32_t>(number.size())).first->second);
  }
  return out;
}

}  // namespace digd::causal
