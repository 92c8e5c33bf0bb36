// The files in which versions of opencode before its database keep sessions. They are only read.
//
//   storage/session/PROJECT/SESSION.json    a session; `parentID` names that of the agent that started it
//   storage/message/SESSION/MESSAGE.json
//   storage/part/MESSAGE/PART.json
#include <algorithm>
#include <map>
#include <set>

#include "base/deep_json.h"
#include "base/json_writer.h"
#include "cli/files.h"
#include "cli/session_logs.h"
#include "ingest/hooks/dialect.h"

namespace digd::cli {

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t max_session_bytes = 1u << 20;  // of the file that describes a session
constexpr std::size_t max_opencode_parents = 64;     // of a nested subagent

struct stored_session {
  fs::path file;
  std::string parent;
};

json::object read_session(const fs::path& file, std::string& problem) {
  const auto text = read_file(file, max_session_bytes, problem);
  if (!text) return {};
  json::error_code ec;
  json::value value = parse_json(*text, ec);
  if (!ec && value.is_object()) return std::move(value.get_object());
  problem = ec ? "no JSON: " + ec.message() : "expected a JSON object";
  return {};
}

std::string root_of(std::string id, const std::map<std::string, stored_session>& sessions) {
  for (std::size_t i = 0; i < max_opencode_parents; ++i) {
    const auto parent = sessions.find(sessions.at(id).parent);
    if (parent == sessions.end()) break;
    id = parent->first;
  }
  return id;
}

// The lines of one session. Each file of the storage is a log of its own, so that a damaged one is named.
class storage_reader {
 public:
  explicit storage_reader(const fs::path& root) : root_(root) {}

  std::string take_session(const fs::path& file) {
    std::string problem;
    const json::object session = read_session(file, problem);
    if (!problem.empty()) return shown(file) + ": " + problem;
    const std::string id = file.stem().string();
    std::string line;
    json_writer made(line);
    made.open_object().key("session").open_object();
    made.key("id").text(id);
    made.key("parent_id").text(hooks::text_of(session, "parentID"));
    made.key("directory").text(hooks::text_of(session, "directory"));
    made.close_object().close_object();
    if (problem = add(file, std::move(line)); !problem.empty()) return problem;
    for (const fs::path& message : files_in(root_ / "message" / id, ".json")) {
      if (problem = take(message, "message", "session_id", id); !problem.empty()) return problem;
      const std::string name = message.stem().string();
      for (const fs::path& part : files_in(root_ / "part" / name, ".json")) {
        if (problem = take(part, "part", "message_id", name); !problem.empty()) return problem;
      }
    }
    return {};
  }

  std::vector<hooks::log_file> logs() && { return std::move(logs_); }

 private:
  std::string take(const fs::path& file, std::string_view kind, std::string_view owner, std::string_view owner_id) {
    std::string problem;
    auto text = read_file(file, left_, problem);
    if (!text) return shown(file) + ": " + problem;
    std::erase(*text, '\n');  // between the members; JSON has none in a text
    std::string line;
    json_writer made(line);
    made.open_object().key(kind).open_object();
    made.key("id").text(file.stem().string()).key(owner).text(owner_id).key("data").raw(*text);
    made.close_object().close_object();
    return add(file, std::move(line));
  }

  std::string add(const fs::path& file, std::string line) {
    hooks::log_file log;
    log.name = shown(file);
    log.text = std::move(line);
    const std::size_t size = log.name.size() + log.text.size() + sizeof log;
    if (size > left_) return shown(file) + ": the session has more than 512 MiB";
    left_ -= size;
    logs_.push_back(std::move(log));
    return {};
  }

  const fs::path root_;
  std::size_t left_ = max_log_bytes;
  std::vector<hooks::log_file> logs_;
};

}  // namespace

bool is_opencode_session(const fs::path& path) {
  const fs::path project = path.parent_path();
  const bool is_first_format = project.filename() == "info";  // PROJECT/storage/session/info/SESSION.json
  return path.extension() == ".json" && project.parent_path().filename() == "session" && !is_first_format;
}

void find_opencode_files(const std::vector<fs::path>& files, found_sessions& into) {
  std::set<std::string> known;  // opencode moves its files into the database, and does not remove them
  for (const session_files& each : into.sessions) known.insert(each.id);
  std::map<fs::path, std::map<std::string, stored_session>> storages;
  for (const fs::path& file : files) {
    std::string problem;
    const json::object session = read_session(file, problem);
    if (!problem.empty()) {
      into.problems.push_back(shown(file) + ": " + problem);
      continue;
    }
    const fs::path storage = file.parent_path().parent_path().parent_path();
    storages[storage].emplace(file.stem().string(), stored_session{file, hooks::text_of(session, "parentID")});
  }
  for (const auto& [storage, sessions] : storages) {
    std::map<std::string, session_files> found;
    for (const auto& [id, session] : sessions) {
      const std::string root = root_of(id, sessions);
      session_files& of = found[root];
      of.id = root;
      of.files.insert(id == root ? of.files.begin() : of.files.end(), session.file);
    }
    for (auto& [root, session] : found) {
      if (known.insert(root).second) into.sessions.push_back(std::move(session));
    }
  }
}

std::vector<hooks::log_file> read_opencode_files(const session_files& session, std::string& problem) {
  storage_reader reader(session.files.front().parent_path().parent_path().parent_path());
  for (const fs::path& file : session.files) {
    if (problem = reader.take_session(file); !problem.empty()) return {};
  }
  return std::move(reader).logs();
}

}  // namespace digd::cli
