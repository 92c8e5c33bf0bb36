#include "analysis/causal/eval.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>

#include "analysis/causal/analyse.h"
#include "analysis/causal/factors/csv.h"
#include "analysis/causal/pc.h"
#include "analysis/causal/random.h"

namespace digd::causal {

namespace fs = std::filesystem;

namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::optional<pdag> read_truth(const fs::path& path) {
  std::istringstream in(text_of(path));
  std::vector<int> marks;
  for (int mark = 0; in >> mark;) marks.push_back(mark);
  const auto n = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(marks.size()))));
  if (n == 0 || n * n != marks.size()) return {};
  pdag out(n);
  for (variable i = 0; i < n; ++i) {
    for (variable j = 0; j < n; ++j) {
      if (marks[i * n + j] != 0) out.direct(i, j);
    }
  }
  return out;
}

struct slice {
  fs::path file;
  std::size_t rows = 0, number = 0;
};

struct data_set {
  pdag truth;
  bool mixed = false;
  std::vector<slice> slices;
};

// Splits the stem NAME_ROWS_SLICE of a file's name. False if it has another form.
bool split_name(const std::string& stem, std::string& name, slice& s) {
  const std::size_t b = stem.rfind('_');
  const std::size_t a = b == std::string::npos || b == 0 ? std::string::npos : stem.rfind('_', b - 1);
  if (a == std::string::npos) return false;
  const auto number = [](std::string_view text, std::size_t& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size();
  };
  name = stem.substr(0, a);
  return number(std::string_view(stem).substr(a + 1, b - a - 1), s.rows) &&
         number(std::string_view(stem).substr(b + 1), s.number);
}

double f1(const variables& found, const variables& truth) {
  if (found.empty() && truth.empty()) return 1;
  double both = 0;
  for (variable v : found) both += std::count(truth.begin(), truth.end(), v) > 0;
  return 2 * both / static_cast<double>(found.size() + truth.size());
}

template <class learn>
double mean_f1(const pdag& truth, learn&& boundary) {
  double sum = 0;
  for (variable v = 0; v < truth.size(); ++v) sum += f1(boundary(v), markov_boundary(truth, v));
  return sum / static_cast<double>(truth.size());
}

class evaluator {
 public:
  evaluator(const fs::path& folder, const eval_options& options) : folder_(folder), options_(options) {}

  evaluation run() {
    if (!collect()) return std::move(out_);
    for (const auto& [name, set] : sets_) {
      for (const slice& s : set.slices) measure(name, set, s);
      if (!out_.problem.empty()) return std::move(out_);
    }
    summarise();
    return std::move(out_);
  }

 private:
  bool collect() {
    std::error_code failed;
    std::vector<fs::path> files;
    for (fs::directory_iterator at(folder_, failed), end; !failed && at != end; at.increment(failed))
      files.push_back(at->path());
    if (failed) return fail(failed.message());
    std::sort(files.begin(), files.end());
    for (const fs::path& f : files) {
      if (f.extension() != ".adj") continue;
      std::optional<pdag> truth = read_truth(f);
      if (!truth || !is_acyclic(*truth)) return fail(f.filename().string() + ": not the matrix of a DAG");
      sets_[f.stem().string()].truth = *truth;
    }
    for (const fs::path& f : files) {
      std::string name;
      slice s;
      s.file = f;
      const bool mixed = f.extension() == ".csv";
      if ((!mixed && f.extension() != ".txt") || !split_name(f.stem().string(), name, s) || !sets_.contains(name))
        continue;
      sets_[name].mixed = mixed;
      sets_[name].slices.push_back(s);
    }
    for (auto& [name, set] : sets_) {
      std::sort(set.slices.begin(), set.slices.end(), [](const slice& a, const slice& b) {
        return std::pair(a.rows, a.number) < std::pair(b.rows, b.number);
      });
    }
    return sets_.empty() ? fail("no NAME.adj here") : true;
  }

  bool fail(std::string problem) {
    out_.problem = std::move(problem);
    return false;
  }

  std::vector<std::string> discrete_columns(const std::string& name) const {
    if (name == "agentrun")
      return {"topology", "model_tier", "prompt_var", "success"};  // according to the README of the data
    std::istringstream in(text_of(folder_ / (name + ".discrete")));
    std::vector<std::string> out;
    for (std::string line; std::getline(in, line);) {
      if (!line.empty()) out.push_back(line);
    }
    return out;
  }

  void measure(const std::string& name, const data_set& set, const slice& s) {
    const std::string text = text_of(s.file);
    csv_result read = set.mixed ? read_csv(text, discrete_columns(name)) : read_codes(text);
    if (read.problem.empty() && read.data.size() != set.truth.size())
      read.problem = "its columns are not those of the true graph";
    if (!read.problem.empty()) {
      fail(s.file.filename().string() + ": " + read.problem);
      return;
    }
    structure_options options;
    options.sampler.seed = options_.seed;
    const clock::time_point start = clock::now();
    const graph_average found = average_graphs(read.data, options);
    slice_figure slice_figure{name, s.rows, s.number, 0, 0, seconds_since(start)};
    slice_figure.mb_f1 = mean_f1(set.truth, [&](variable v) { return found.boundary(v, options.membership); });
    const pdag truth = completed(set.truth);
    slice_figure.shd = static_cast<double>(structural_hamming_distance(found.graph(), truth));
    out_.slices.push_back(slice_figure);
    const std::string group = set.mixed ? name : "networks";
    note(group, "mean MB-F1", s.rows, name, slice_figure.mb_f1);
    note(group, "mean SHD", s.rows, name, slice_figure.shd);
    if (name == "alarm") time_pc(read.data, s.rows);
    if (s.rows <= 1000) permute(read.data, set.mixed, s);
    if (options_.compare) compare(group, name, set.truth, read.data, s.rows, found);
  }

  void note(const std::string& group, const std::string& metric, std::size_t rows, const std::string& name,
            double value) {
    found_[{group, metric, rows}][name].push_back(value);
  }

  void time_pc(const table& data, std::size_t rows) {
    std::vector<double> times;
    for (std::size_t k = 0; k < std::max<std::size_t>(1, options_.timing_repeats); ++k) {
      const clock::time_point start = clock::now();
      const std::unique_ptr<ci_test> test = make_discrete_test(data, discrete_statistic::g_squared);
      pc_stable(*test, {});
      times.push_back(seconds_since(start));
    }
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    note("alarm", "PC, seconds", rows, "alarm", times[times.size() / 2]);
  }

  // The outcome is `success` if there is such a column, else the last one. Counts analyses that name a lever although
  // the outcome is shuffled.
  void permute(const table& data, bool mixed, const slice& s) {
    const variable target = mixed ? data.find("success").value_or(data.size() - 1) : data.size() - 1;
    for (std::size_t k = 0; k < options_.permuted; ++k) {
      splitmix_stream chance(options_.seed + 77 * s.number + s.rows, 90'000 + k);
      std::vector<std::size_t> order(data.rows());
      std::iota(order.begin(), order.end(), 0);
      chance.shuffle(order);
      const table shuffled = data.take(order);
      table mixed_up(data.rows());
      for (variable v = 0; v < data.size(); ++v) mixed_up.add(v == target ? shuffled[v] : data[v]);
      analysis_options options;
      options.gate.seed = options_.seed + k;
      options.gate.permutations = 499;
      const analysis a = analyse(mixed_up, target, options);
      ++permuted_;
      false_levers_ += !a.levers.empty();
    }
  }

  void compare(const std::string& group, const std::string& name, const pdag& truth, const table& data,
               std::size_t rows, const graph_average& found) {
    const std::unique_ptr<ci_test> test = make_default_test(data);
    const boundary_options options;
    note(group, "MB-F1, tabu alone", rows, name,
         mean_f1(truth, [&](variable v) { return markov_boundary(found.best(), v); }));
    const structure_options ours;
    const double averaged = mean_f1(truth, [&](variable v) { return found.boundary(v, ours.membership); });
    // Measures the effect of the prior's observed shares of rare values: the same without them.
    structure_options equal;
    equal.sampler.seed = options_.seed;
    equal.score.rare_share = 0;
    const graph_average by_equal = average_graphs(data, equal);
    const double equal_f1 = mean_f1(truth, [&](variable v) { return by_equal.boundary(v, ours.membership); });
    note(group, "MB-F1 less equal shares'", rows, name, averaged - equal_f1);
    const pdag true_graph = completed(truth);
    const auto distance = [&](const graph_average& g) {
      return static_cast<double>(structural_hamming_distance(g.graph(), true_graph));
    };
    note(group, "SHD less equal shares'", rows, name, distance(found) - distance(by_equal));
    const double by_iamb = mean_f1(truth, [&](variable v) { return iamb(*test, v, options); });
    note(group, "MB-F1, IAMB", rows, name, by_iamb);
    note(group, "MB-F1 less IAMB's", rows, name, averaged - by_iamb);
    note(group, "MB-F1, HITON-MB", rows, name, mean_f1(truth, [&](variable v) { return hiton_mb(*test, v, options); }));
    const pdag best = completed(found.best()), true_class = completed(truth);
    note(group, "SHD, tabu alone", rows, name, static_cast<double>(structural_hamming_distance(best, true_class)));
    const pdag by_pc = pc_stable(*test, {}).graph;
    pdag pc_dag;
    extend(by_pc, pc_dag);
    const double pc_f1 = mean_f1(truth, [&](variable v) { return markov_boundary(pc_dag, v); });
    note(group, "MB-F1, PC-stable", rows, name, pc_f1);
    note(group, "MB-F1 less PC-stable's", rows, name, averaged - pc_f1);
    note(group, "SHD, PC-stable", rows, name, static_cast<double>(structural_hamming_distance(by_pc, true_class)));
  }

  static double mean(const std::vector<double>& x) {
    return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  }

  // Averages over the slices of each data set, then over data sets, so that each set weighs the same.
  void summarise() {
    for (const auto& [key, by_name] : found_) {
      const auto& [group, metric, rows] = key;
      std::vector<double> means;
      figure f;
      for (const auto& [name, values] : by_name) {
        means.push_back(mean(values));
        f.slices += values.size();
      }
      f.data = group;
      f.metric = metric;
      f.rows = rows;
      f.value = mean(means);
      if (metric.find(" less ") != std::string::npos) set_interval(f, by_name);
      set_aim(f);
      out_.figures.push_back(f);
    }
    for (const auto& [name, set] : sets_) {
      if (set.mixed) continue;
      pc_options options;
      options.max_given = set.truth.size();
      const std::unique_ptr<ci_test> truth = make_oracle(set.truth);
      const std::size_t distance = structural_hamming_distance(pc_stable(*truth, options).graph, completed(set.truth));
      out_.figures.push_back(
          {name, "SHD, oracle instead of data", 0, static_cast<double>(distance), 0, true, false, true, 1});
    }
    if (permuted_ > 0) {
      const double rate = static_cast<double>(false_levers_) / static_cast<double>(permuted_);
      out_.figures.push_back(
          {"all, outcome permuted", "share that names a lever", 0, rate, 0.05, true, false, true, permuted_});
    }
    std::stable_sort(out_.figures.begin(), out_.figures.end(),
                     [](const figure& a, const figure& b) { return a.has_aim > b.has_aim; });
  }

  // The interval of the mean over data sets; each slice of one set is a sample of its difference.
  static void set_interval(figure& f, const std::map<std::string, std::vector<double>>& by_name) {
    double variance = 0;
    for (const auto& [name, values] : by_name) {
      if (values.size() < 2) return;
      double squares = 0;
      for (double x : values) squares += (x - mean(values)) * (x - mean(values));
      const auto n = static_cast<double>(values.size());
      variance += squares / (n - 1) / n;
    }
    const double half = 1.96 * std::sqrt(variance) / static_cast<double>(by_name.size());
    f.has_interval = true;
    f.low = f.value - half;
    f.high = f.value + half;
  }

  // Targets: the best values measured for causal-learn, bnlearn, CausalFS and pcalg on these data (docs/causal.md).
  static void set_aim(figure& f) {
    static const std::map<std::tuple<std::string, std::string, std::size_t>, double> wanted{
        {{"networks", "mean MB-F1", 200}, .68},   {{"networks", "mean MB-F1", 1000}, .83},
        {{"networks", "mean MB-F1", 10000}, .89}, {{"networks", "mean SHD", 200}, 25.6},
        {{"networks", "mean SHD", 1000}, 18.5},   {{"networks", "mean SHD", 10000}, 12.3},
        {{"agentrun", "mean MB-F1", 100}, .80},   {{"agentrun", "mean MB-F1", 200}, .89},
        {{"agentrun", "mean MB-F1", 500}, .91},   {{"agentrun", "mean MB-F1", 1000}, .93},
        {{"alarm", "PC, seconds", 200}, .11},     {{"alarm", "PC, seconds", 1000}, .15},
        {{"alarm", "PC, seconds", 10000}, .30}};
    const auto known = wanted.find({f.data, f.metric, f.rows});
    f.has_aim = known != wanted.end();
    if (f.has_aim) f.wanted = known->second;
    f.is_aim = f.metric == "PC, seconds";
    f.at_most = f.is_aim || f.metric.starts_with("mean SHD") || f.metric.starts_with("SHD");
  }

  fs::path folder_;
  const eval_options& options_;
  evaluation out_;
  std::map<std::string, data_set> sets_;
  std::map<std::tuple<std::string, std::string, std::size_t>, std::map<std::string, std::vector<double>>> found_;
  std::size_t permuted_ = 0, false_levers_ = 0;
};

}  // namespace

evaluation evaluate(const std::string& folder, const eval_options& options) { return evaluator(folder, options).run(); }

}  // namespace digd::causal
