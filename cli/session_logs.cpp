#include "cli/session_logs.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/deep_json.h"
#include "cli/files.h"
#include "ingest/hooks/dialect.h"

namespace digd::cli {

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t max_meta_bytes = 64u << 10;
constexpr std::size_t max_first_line_bytes = 4u << 20;
constexpr std::size_t max_parents = 64;  // of a nested subagent

using wanted_file = std::function<bool(const fs::path&)>;

// The files below the paths that are wanted, sorted. A path that names a file is wanted as it is.
std::vector<fs::path> find_files(const std::vector<std::string>& paths, const wanted_file& is_wanted,
                                 std::vector<std::string>& problems) {
  std::vector<fs::path> files;
  bool is_cut = false;
  for (const std::string& path : paths) {
    std::error_code ec;
    if (fs::is_regular_file(path, ec)) {
      files.emplace_back(path);
      continue;
    }
    if (!fs::is_directory(path, ec)) {
      problems.push_back(shown(path) +
                         (fs::exists(path, ec) ? ": neither a log nor a folder" : ": there is no such file"));
      continue;
    }
    const auto add = [&](const fs::directory_entry& each) {
      std::error_code none;
      if (each.is_symlink(none) || !is_wanted(each.path())) return;
      is_cut = is_cut || files.size() >= max_sessions;
      if (!is_cut) files.push_back(each.path());
    };
    walk_files(path, add, problems);
  }
  if (is_cut) problems.push_back("more than " + std::to_string(max_sessions) + " logs; the rest is left out");
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

// ---- Claude Code: SESSION.jsonl, and SESSION/subagents/agent-ID.jsonl with agent-ID.meta.json beside it

bool is_claude_log(const fs::path& path) {
  return path.extension() == ".jsonl" && path.parent_path().filename() != "subagents";
}

session_files claude_session(const fs::path& log) {
  session_files made{.id = log.stem().string(), .files = {log}};
  for (fs::path& each : files_in(fs::path(log).replace_extension() / "subagents", ".jsonl")) {
    made.files.push_back(std::move(each));
  }
  return made;
}

void describe_subagent(const fs::path& path, hooks::log_file& file) {
  constexpr std::string_view prefix = "agent-";
  file.agent = path.stem().string();
  file.agent_type = "subagent";
  if (file.agent.starts_with(prefix)) file.agent.erase(0, prefix.size());
  std::string none;
  const auto meta = read_file(fs::path(path).replace_extension(".meta.json"), max_meta_bytes, none);
  json::error_code ec;
  const json::value value = meta ? json::parse(*meta, ec) : json::value();
  if (ec || !value.is_object()) return;
  if (std::string type = hooks::text_of(value.get_object(), "agentType"); !type.empty()) file.agent_type = type;
  file.tool_use = hooks::text_of(value.get_object(), "toolUseId");
}

// ---- Codex CLI: rollout-TIME-THREAD.jsonl; its first line names the thread, its session and its parent

bool is_rollout(const fs::path& path) {
  return path.extension() == ".jsonl" && path.filename().string().starts_with("rollout-");
}

json::object first_line(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string line;
  for (char c = 0; line.size() < max_first_line_bytes && in.get(c) && c != '\n';) line += c;
  json::error_code ec;
  json::value value = parse_json(line, ec);
  return !ec && value.is_object() ? std::move(value.get_object()) : json::object();
}

struct rollout {
  fs::path path;
  std::string thread, session, parent;
};

rollout rollout_of(const fs::path& path) {
  rollout made{.path = path, .thread = path.stem().string(), .session = {}, .parent = {}};
  const json::object line = first_line(path);
  const json::object* meta = hooks::object_of(line, "payload");
  if (meta == nullptr || hooks::text_of(line, "type") != "session_meta") return made;
  if (std::string id = hooks::text_of(*meta, "id"); !id.empty()) made.thread = std::move(id);
  made.session = hooks::text_of(*meta, "session_id");
  made.parent = hooks::text_of(*meta, "parent_thread_id");
  return made;
}

std::vector<session_files> codex_sessions(const std::vector<fs::path>& logs) {
  std::vector<rollout> rollouts;
  std::map<std::string, std::string> parents;
  for (const fs::path& log : logs) {
    rollouts.push_back(rollout_of(log));
    parents[rollouts.back().thread] = rollouts.back().parent;
  }
  std::map<std::string, session_files> sessions;
  for (const rollout& each : rollouts) {
    std::string root = each.session;
    if (root.empty()) {  // older versions name only the parent
      root = each.thread;
      for (std::size_t i = 0; i < max_parents; ++i) {
        const auto parent = parents.find(root);
        if (parent == parents.end() || parent->second.empty()) break;
        root = parent->second;
      }
    }
    session_files& of = sessions[root];
    of.id = root;
    of.files.insert(each.thread == root ? of.files.begin() : of.files.end(), each.path);
  }
  std::vector<session_files> made;
  made.reserve(sessions.size());
  for (auto& [id, session] : sessions) made.push_back(std::move(session));
  return made;
}

// ---- Gemini CLI: chats/session-TIME-ID.jsonl, and chats/SESSION/ID.jsonl of its subagents

bool is_chat(const fs::path& path) {
  const bool is_log = path.extension() == ".jsonl" || path.extension() == ".json";
  return is_log && path.filename().string().starts_with("session-");
}

session_files gemini_session(const fs::path& log) {
  session_files made{.id = hooks::text_of(first_line(log), "sessionId"), .files = {log}};
  if (made.id.empty()) made.id = log.stem().string();
  const bool is_name = made.id.find('/') == std::string::npos && !made.id.starts_with('.');
  if (!is_name) return made;
  for (fs::path& each : files_in(log.parent_path() / made.id, ".jsonl")) made.files.push_back(std::move(each));
  return made;
}

// The project's folder, as a file beside `chats` names it.
std::string project_of(const fs::path& chat) {
  std::string none;
  auto text = read_file(chat.parent_path().parent_path() / ".project_root", max_meta_bytes, none);
  return text ? std::move(*text) : std::string();
}

// ---- opencode

bool is_database(const fs::path& path) { return path.filename() == "opencode.db"; }

}  // namespace

std::vector<fs::path> files_in(const fs::path& folder, std::string_view ending) {
  std::vector<fs::path> files;
  std::error_code ec;
  if (fs::is_symlink(folder, ec)) return files;
  for (fs::directory_iterator each(folder, ec), end; !ec && each != end; each.increment(ec)) {
    std::error_code failed;
    if (each->path().extension() == ending && !each->is_symlink(failed)) files.push_back(each->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

found_sessions find_sessions(std::string_view program, const std::vector<std::string>& paths) {
  found_sessions found;
  const auto files = [&](const wanted_file& is_wanted) { return find_files(paths, is_wanted, found.problems); };
  if (program == "claude-code") {
    for (const fs::path& log : files(is_claude_log)) found.sessions.push_back(claude_session(log));
  } else if (program == "codex") {
    found.sessions = codex_sessions(files(is_rollout));
  } else if (program == "gemini") {
    for (const fs::path& log : files(is_chat)) found.sessions.push_back(gemini_session(log));
  } else {
    std::vector<fs::path> older;
    for (fs::path& each : files([](const fs::path& path) { return is_database(path) || is_opencode_session(path); })) {
      if (is_opencode_session(each)) {
        older.push_back(std::move(each));
        continue;
      }
      const std::string problem = find_opencode_sessions(each, found.sessions);
      if (!problem.empty()) found.problems.push_back(shown(each) + ": " + problem);
    }
    find_opencode_files(older, found);
  }
  return found;
}

std::vector<hooks::log_file> load_session(std::string_view program, const session_files& session,
                                          std::string& problem) {
  std::vector<hooks::log_file> logs;
  if (program == "opencode" && is_opencode_session(session.files.front())) return read_opencode_files(session, problem);
  if (program == "opencode") {
    logs.push_back(read_opencode_session(session, problem));
    return problem.empty() ? logs : std::vector<hooks::log_file>();
  }
  std::size_t left = max_log_bytes;
  for (const fs::path& path : session.files) {
    auto text = read_file(path, left, problem);
    if (!text) {
      problem.insert(0, shown(path) + ": ");
      return {};
    }
    left -= text->size();
    hooks::log_file file;
    file.name = shown(path);
    file.text = std::move(*text);
    if (program == "claude-code" && !logs.empty()) describe_subagent(path, file);
    if (program == "gemini") file.folder = project_of(session.files.front());
    logs.push_back(std::move(file));
  }
  return logs;
}

}  // namespace digd::cli
