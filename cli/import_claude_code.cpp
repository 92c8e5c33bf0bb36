// digctl import claude-code: session logs of Claude Code into traces (docs/coding-agents.md).
//
// PATH is a session's log (SESSION.jsonl; its subagents' logs are in SESSION/subagents), or a folder: then every
// session in it. The sessions are read on several threads.
#include <algorithm>
#include <atomic>
#include <boost/json/parse.hpp>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>

#include "cli/commands.h"
#include "cli/files.h"
#include "ingest/hooks/claude_log.h"
#include "ingest/hooks/dialect.h"

namespace digd::cli {

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t max_log_bytes = 512u << 20;
constexpr std::size_t max_meta_bytes = 64u << 10;
constexpr unsigned max_threads = 8;

struct claude_options {
  std::vector<std::string> paths;
  std::string out;
  bool quiet = false;
};

bool is_log(const fs::path& path) {
  return path.extension() == ".jsonl" && path.parent_path().filename() != "subagents";
}

// The sessions' logs below the paths, sorted; links are not followed.
std::vector<fs::path> find_logs(const std::vector<std::string>& paths, std::string& why) {
  std::vector<fs::path> logs;
  std::error_code ec;
  for (const std::string& path : paths) {
    if (fs::is_regular_file(path, ec)) {
      logs.emplace_back(path);
      continue;
    }
    if (!fs::is_directory(path, ec)) {
      why = shown(path) + " is neither a log nor a folder";
      return {};
    }
    for (fs::recursive_directory_iterator each(path, ec), end; !ec && each != end; each.increment(ec)) {
      if (each->is_regular_file(ec) && !each->is_symlink(ec) && is_log(each->path())) logs.push_back(each->path());
    }
  }
  std::sort(logs.begin(), logs.end());
  return logs;
}

// "agent-ID.jsonl" with "agent-ID.meta.json" beside it.
std::optional<hooks::log_file> read_subagent(const fs::path& path, std::string& why) {
  constexpr std::string_view prefix = "agent-";
  auto text = read_file(path, max_log_bytes, why);
  if (!text) return std::nullopt;
  hooks::log_file file{
      .text = std::move(*text), .agent = path.stem().string(), .agent_type = "subagent", .tool_use = {}};
  if (file.agent.starts_with(prefix)) file.agent.erase(0, prefix.size());
  std::string none;
  const auto meta = read_file(fs::path(path).replace_extension(".meta.json"), max_meta_bytes, none);
  json::error_code ec;
  const json::value value = meta ? json::parse(*meta, ec) : json::value();
  if (ec || !value.is_object()) return file;
  if (std::string type = hooks::text_of(value.get_object(), "agentType"); !type.empty()) file.agent_type = type;
  file.tool_use = hooks::text_of(value.get_object(), "toolUseId");
  return file;
}

std::vector<hooks::log_file> read_session(const fs::path& log, std::string& why) {
  std::vector<hooks::log_file> files;
  auto text = read_file(log, max_log_bytes, why);
  if (!text) return {};
  files.push_back({.text = std::move(*text), .agent = {}, .agent_type = {}, .tool_use = {}});
  std::vector<fs::path> subagents;
  std::error_code ec;
  for (fs::directory_iterator each(fs::path(log).replace_extension() / "subagents", ec), end; !ec && each != end;
       each.increment(ec)) {
    if (each->path().extension() == ".jsonl" && !each->is_symlink(ec)) subagents.push_back(each->path());
  }
  std::sort(subagents.begin(), subagents.end());
  for (const fs::path& path : subagents) {
    auto file = read_subagent(path, why);
    if (!file) return {};
    files.push_back(std::move(*file));
  }
  return files;
}

class claude_import {
 public:
  explicit claude_import(const claude_options& options) : options_(options) {}

  int run() {
    std::string why;
    logs_ = find_logs(options_.paths, why);
    if (logs_.empty()) return complain(why.empty() ? "there are no session logs" : why);
    std::error_code ec;
    fs::create_directories(options_.out, ec);
    if (!fs::is_directory(options_.out, ec)) return complain(shown(options_.out) + " is no folder");
    std::vector<std::thread> threads;
    const std::size_t wanted =
        std::min<std::size_t>(std::clamp(std::thread::hardware_concurrency(), 1u, max_threads), logs_.size());
    for (std::size_t i = 0; i < wanted; ++i) threads.emplace_back([this] { import_some(); });
    for (std::thread& thread : threads) thread.join();
    if (!options_.quiet) {
      std::cerr << sessions_ << " of " << logs_.size() << " sessions imported: " << runs_ << " runs, " << calls_
                << " hook calls";
      if (skipped_ > 0) std::cerr << "; " << skipped_ << " lines are no JSON";
      std::cerr << '\n';
    }
    return failed_ ? wrong_use : done;
  }

 private:
  int complain(const std::string& why) {
    const std::lock_guard lock(mutex_);
    std::cerr << "digctl import claude-code: " << why << '\n';
    failed_ = true;
    return wrong_use;
  }

  void import_some() {
    for (std::size_t i = next_++; i < logs_.size(); i = next_++) import(logs_[i]);
  }

  void import(const fs::path& log) {
    std::string why;
    const std::vector<hooks::log_file> files = read_session(log, why);
    if (!why.empty()) {
      complain(shown(log) + ": " + why);
      return;
    }
    const hooks::imported_session session = hooks::import_claude_log(log.stem().string(), files);
    for (const hooks::imported_run& run : session.runs) {
      std::string name = run.run, text;
      std::replace(name.begin(), name.end(), '/', '.');
      for (const std::string& line : run.lines) (text += line) += '\n';
      why = write_file(fs::path(options_.out) / (name + ".jsonl"), text);
      if (!why.empty()) {
        complain(why);
        return;
      }
    }
    const std::lock_guard lock(mutex_);
    ++sessions_;
    runs_ += session.runs.size();
    calls_ += session.calls;
    skipped_ += session.skipped_lines;
    if (!options_.quiet) std::cerr << shown(log) << ": " << session.runs.size() << " runs\n";
  }

  const claude_options& options_;
  std::vector<fs::path> logs_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;  // of standard error and the counts
  std::size_t sessions_ = 0, runs_ = 0, calls_ = 0, skipped_ = 0;
  bool failed_ = false;
};

}  // namespace

void add_import_claude_code(CLI::App& import, int& status) {
  auto options = std::make_shared<claude_options>();
  CLI::App* sub = import.add_subcommand("claude-code", "session logs of Claude Code, with their subagents'");
  sub->add_option("PATH", options->paths, "logs, or folders of them such as ~/.claude/projects")->required();
  sub->add_option("-o,--output", options->out, "the folder for the traces, one a run")->required();
  sub->add_flag("-q,--quiet", options->quiet, "no report on standard error, only what failed");
  sub->callback([options, &status] { status = claude_import(*options).run(); });
}

}  // namespace digd::cli
