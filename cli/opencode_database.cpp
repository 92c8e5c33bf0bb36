// Reads the database of opencode: the tables session, message and part, whose columns `data` hold JSON.
#include <array>

#include "archive/sqlite.h"
#include "base/json_writer.h"
#include "cli/files.h"
#include "cli/session_logs.h"

namespace digd::cli {

namespace {

namespace fs = std::filesystem;

constexpr int busy_ms = 5'000;  // opencode may be writing to the database
constexpr std::string_view no_database = "no database of opencode";

// The beginning of a query: `thread` holds the session ?1 and all sessions below it.
constexpr std::string_view threads =
    "WITH RECURSIVE thread(id) AS (SELECT ?1 UNION SELECT session.id FROM session JOIN thread ON parent_id = "
    "thread.id) ";

std::string open_database(archive::connection& database, const fs::path& path) {
  if (const auto problem = database.open(path.string(), archive::open_mode::read_only, {})) return problem.words;
  database.set_busy_timeout(busy_ms);
  return {};
}

// Makes a line {"NAME":{"COLUMN":"…",…,"data":{…}}} of each row. Each column is a string of the line, except `data`,
// which is JSON already.
struct row_query {
  std::string_view name;
  std::string_view sql;
  std::array<std::string_view, 4> columns;
};

constexpr row_query session_rows{
    "session",
    "SELECT id, parent_id, directory, agent FROM session WHERE id IN thread ORDER BY time_created, id",
    {"id", "parent_id", "directory", "agent"}};
// For older databases, in which only messages name the agent.
constexpr row_query nameless_session_rows{
    "session",
    "SELECT id, parent_id, directory FROM session WHERE id IN thread ORDER BY time_created, id",
    {"id", "parent_id", "directory", ""}};
constexpr row_query message_rows{
    "message",
    "SELECT id, session_id, data FROM message WHERE session_id IN thread ORDER BY time_created, id",
    {"id", "session_id", "data", ""}};
constexpr row_query part_rows{"part",
                              "SELECT id, message_id, data FROM part WHERE session_id IN thread ORDER BY id",
                              {"id", "message_id", "data", ""}};

bool sessions_name_agents(archive::connection& database) {
  archive::statement columns;
  archive::failure failed;
  return !database.prepare("SELECT 1 FROM pragma_table_info('session') WHERE name = 'agent'", columns) &&
         columns.step(failed);
}

std::string read_rows(archive::connection& database, const row_query& query, const std::string& session,
                      std::string& text) {
  archive::statement rows;
  if (const auto failed = database.prepare(std::string(threads) + std::string(query.sql), rows)) return failed.words;
  rows.bind(1, std::string_view(session));
  archive::failure failed;
  while (rows.step(failed)) {
    std::string line;
    json_writer made(line);
    made.open_object().key(query.name).open_object();
    std::string data;
    for (std::size_t i = 0; i < query.columns.size() && !query.columns[i].empty(); ++i) {
      if (query.columns[i] == "data") {
        data = rows.text(static_cast<int>(i));
      } else {
        made.key(query.columns[i]).text(rows.text(static_cast<int>(i)));
      }
    }
    std::erase(data, '\n');  // a row must become one line; strings in JSON contain no newline
    if (!data.empty()) made.key("data").raw(data);
    made.close_object().close_object();
    if (text.size() + line.size() > max_log_bytes) return "the session has more than 512 MiB";
    (text += line) += '\n';
  }
  return failed ? failed.words : std::string();
}

}  // namespace

std::string find_opencode_sessions(const fs::path& path, std::vector<session_files>& into) {
  archive::connection database;
  if (std::string failed = open_database(database, path); !failed.empty()) return failed;
  archive::statement rows;
  const std::string sql =
      "SELECT id FROM session WHERE parent_id IS NULL OR parent_id NOT IN (SELECT id FROM session) ORDER BY id LIMIT " +
      std::to_string(max_sessions);
  if (const auto failed = database.prepare(sql, rows)) return std::string(no_database) + " (" + failed.words + ")";
  archive::failure failed;
  while (rows.step(failed)) into.push_back({.id = rows.text(0), .files = {path}});
  return failed ? failed.words : std::string();
}

hooks::log_file read_opencode_session(const session_files& session, std::string& problem) {
  hooks::log_file file;
  const fs::path& path = session.files.front();
  file.name = shown(path) + " (" + session.id + ")";
  archive::connection database;
  problem = open_database(database, path);
  if (!problem.empty()) {
    problem = file.name + ": " + problem;
    return file;
  }
  const row_query& sessions = sessions_name_agents(database) ? session_rows : nameless_session_rows;
  for (const row_query* query : {&sessions, &message_rows, &part_rows}) {
    if (problem.empty()) problem = read_rows(database, *query, session.id, file.text);
  }
  if (!problem.empty()) problem = file.name + ": " + problem;
  return file;
}

}  // namespace digd::cli
