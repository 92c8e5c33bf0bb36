// digctl import: converts logs of other tools into trace files (docs/importers.md).
//
// Each file is imported on its own. If one fails, it is named, and the others continue.
#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <set>

#include "cli/commands.h"
#include "cli/files.h"
#include "cli/progress.h"
#include "ingest/importers/dig_graph.h"
#include "ingest/importers/trajectory.h"
#include "ingest/importers/whowhen.h"

namespace digd::cli {

namespace {

namespace fs = std::filesystem;
using importers::import_outcome;

struct import_options {
  std::vector<std::string> files;
  std::string out = "-";
  bool quiet = false;
  importers::whowhen_options whowhen;
  importers::dig_graph_options dig_graph;
  importers::trajectory_options trajectory;
};

struct format {
  std::size_t max_bytes;
  std::function<import_outcome(std::string_view)> read;
};

// One log, and its output path below a folder.
struct source {
  fs::path file;
  fs::path name;
};

// The line for one log of several; the totals follow at the end.
std::string in_brief(const importers::import_counts& counts) {
  const auto links = counts.links();
  return std::to_string(counts.messages) + " messages, " + std::to_string(counts.agents) +
         " agents; links: " + std::to_string(links.stated) + " stated, " + std::to_string(links.inferred) + " inferred";
}

// A folder stands for all *.json files below it, ordered by name. Returns error sentences.
std::vector<std::string> collect(const std::string& given, std::vector<source>& into) {
  std::error_code failed;
  if (given == "-" || !fs::is_directory(given, failed)) {
    const fs::path name = given == "-" ? fs::path("trace") : fs::path(given).filename();
    into.push_back({given, fs::path(name).replace_extension(".jsonl")});
    return {};
  }
  std::vector<source> found;
  std::vector<std::string> problems;
  const auto add = [&](const fs::directory_entry& each) {
    if (each.path().extension() == ".json")
      found.push_back({each.path(), each.path().lexically_relative(given).replace_extension(".jsonl")});
  };
  walk_files(given, add, problems);
  if (problems.empty() && found.empty()) problems.push_back(shown(given) + ": the folder has no *.json");
  std::sort(found.begin(), found.end(), [](const source& a, const source& b) { return a.file < b.file; });
  into.insert(into.end(), found.begin(), found.end());
  return problems;
}

class import_run {
 public:
  import_run(std::string command, const import_options& options, format from)
      : command_(std::move(command)),
        options_(options),
        from_(std::move(from)),
        progress_(options.quiet),
        named_(!options.whowhen.run.empty() || !options.dig_graph.run.empty() || !options.trajectory.run.empty()) {}

  int run() {
    std::vector<source> sources;
    bool several = options_.files.size() > 1;
    for (const std::string& given : options_.files) {
      std::error_code none;
      several = several || fs::is_directory(given, none);
      for (const std::string& problem : collect(given, sources)) complain(problem);
    }
    if (sources.empty()) return wrong_use;
    if (several && named_) return complain_of_use("--run names one run, and several logs make several runs");
    std::error_code none;
    const bool into_folder = fs::is_directory(options_.out, none) || options_.out.ends_with('/');
    if (several && !into_folder) {
      if (options_.out == "-")
        return complain_of_use("several logs make several traces: name a folder for them with -o FOLDER");
      fs::create_directories(options_.out, none);
      if (!fs::is_directory(options_.out, none)) {
        return complain_of_use(shown(options_.out) + " is not a folder; several logs make several traces");
      }
    }
    progress_.begin({.name = "importing", .total = sources.size() > 1 ? sources.size() : 0, .unit = "logs"});
    for (const source& source : sources) {
      import(source, several || into_folder, sources.size() == 1);
      if (sources.size() > 1) progress_.add();
    }
    if (sources.size() > 1 && !options_.quiet) {
      const auto held = progress_.pause();
      std::cerr << done_ << " of " << sources.size() << " imported. " << importers::describe(total_) << '\n';
    }
    return failed_ ? wrong_use : done;
  }

 private:
  void complain(std::string_view problem) {
    const auto held = progress_.pause();
    std::cerr << "digctl import " << command_ << ": " << problem << '\n';
    failed_ = true;
  }

  void complain(const fs::path& file, const std::string& reason) { complain(shown(file) + ": " + reason); }

  int complain_of_use(std::string_view reason) {
    std::cerr << "digctl import " << command_ << ": " << reason << '\n';
    return wrong_use;
  }

  void import(const source& source, bool into_folder, bool alone) {
    std::string reason;
    const std::optional<std::string> text = read_file(source.file, from_.max_bytes, reason);
    if (!text) return complain(source.file, reason);
    const import_outcome result = from_.read(*text);
    if (!result) return complain(source.file, result.error().message);
    const fs::path to = into_folder ? fs::path(options_.out) / source.name : fs::path(options_.out);
    if (into_folder && !written_.insert(to).second) {
      return complain(source.file, "its trace would overwrite " + shown(to) + ", the trace of an earlier log");
    }
    std::error_code none;
    if (into_folder) fs::create_directories(to.parent_path(), none);
    std::string lines;
    for (const std::string& line : result->lines) (lines += line) += '\n';
    if (const std::string problem = write(to, lines); !problem.empty()) {
      return complain(source.file, to == "-" ? problem : "its trace " + shown(to) + " cannot be written: " + problem);
    }
    ++done_;
    total_ += result->counts;
    if (options_.quiet) return;
    const auto held = progress_.pause();
    std::cerr << shown(source.file) << (to == "-" ? "" : " -> " + shown(to)) << ": "
              << (alone ? importers::describe(result->counts) : in_brief(result->counts)) << '\n';
  }

  std::string write(const fs::path& to, const std::string& lines) {
    const auto held = progress_.pause_for_output();
    return write_file(to, lines);
  }

  const std::string command_;
  const import_options& options_;
  const format from_;
  progress progress_;
  const bool named_;
  std::set<fs::path> written_;
  importers::import_counts total_;
  std::size_t done_ = 0;
  bool failed_ = false;
};

void add_common(CLI::App& app, import_options& options) {
  app.add_option("FILE", options.files, "logs, or folders of them (*.json); - for standard input")->required();
  app.add_option("-o,--output", options.out,
                 "the trace file, or a folder for the traces of several logs; - for standard output")
      ->capture_default_str();
  app.add_flag("-q,--quiet", options.quiet, "no report on standard error except failures");
}

}  // namespace

void add_import(CLI::App& app, int& status) {
  auto options = std::make_shared<import_options>();
  CLI::App* sub = app.add_subcommand("import", "Turns logs of other tools into traces");
  sub->require_subcommand(1);
  sub->footer(
      "What the log states and what the importer inferred is counted on standard error and marked in the trace.");

  CLI::App* whowhen = sub->add_subcommand("whowhen", "Reads Who&When failure logs, both subsets");
  add_common(*whowhen, *options);
  whowhen->add_option("--run", options->whowhen.run, "the run's id; default: made from the log's id");
  whowhen->add_option("--step-ms", options->whowhen.step_ms, "the duration of a step, because the logs have no times")
      ->check(CLI::Range(1, 60'000))
      ->capture_default_str();
  whowhen
      ->add_option("--quiet-ms", options->whowhen.quiet_ms, "the silence added after a log without an answer; 0: none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  whowhen->callback([options, &status] {
    status =
        import_run("whowhen", *options,
                   {options->whowhen.max_bytes,
                    [options](std::string_view text) { return importers::import_whowhen(text, options->whowhen); }})
            .run();
  });

  CLI::App* graph = sub->add_subcommand("dig-graph", "Reads graphs of the paper's Python library (dig.graph.v2)");
  add_common(*graph, *options);
  graph->add_option("--run", options->dig_graph.run, "the run's id; default: made from the graph's id");
  graph->callback([options, &status] {
    status =
        import_run("dig-graph", *options,
                   {options->dig_graph.max_bytes,
                    [options](std::string_view text) { return importers::import_dig_graph(text, options->dig_graph); }})
            .run();
  });

  for (std::size_t i = 0; i < importers::framework_names.size(); ++i) {
    const std::string_view name = importers::framework_names[i];
    const auto from = static_cast<importers::framework>(i);
    CLI::App* trajectory = sub->add_subcommand(std::string(name), "Reads trajectories of this framework");
    add_common(*trajectory, *options);
    trajectory->add_option("--run", options->trajectory.run,
                           "the run's id; default: made from the framework's name and the file's text");
    trajectory
        ->add_option("--step-ms", options->trajectory.step_ms, "the duration of one turn, because no times are read")
        ->check(CLI::Range(1, 60'000))
        ->capture_default_str();
    trajectory
        ->add_option("--quiet-ms", options->trajectory.quiet_ms,
                     "the silence added after a run without an answer; 0: none")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    trajectory->callback([options, &status, from, name] {
      status = import_run(std::string(name), *options,
                          {options->trajectory.max_bytes,
                           [options, from](std::string_view text) {
                             return importers::import_trajectory(from, text, options->trajectory);
                           }})
                   .run();
    });
  }

  add_import_logs(*sub, status);
  add_import_otlp(*sub, status);
}

}  // namespace digd::cli
