// Finds and reads the session logs of coding agents, for `digctl import claude-code` and the like.
//
// Thread: `find_sessions` and `load_session` may run on any thread; they share nothing. Links are not followed.
// Failure: a sentence for people. Bounds: `max_log_bytes` a session, `max_sessions` sessions.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/hooks/session_log.h"

namespace digd::cli {

constexpr std::size_t max_log_bytes = 512u << 20;
constexpr std::size_t max_sessions = 1'000'000;

struct session_files {
  std::string id;
  std::vector<std::filesystem::path> files;  // the main agent's first; opencode: its database, or sessions
};

struct found_sessions {
  std::vector<session_files> sessions;  // sorted
  std::vector<std::string> problems;    // what cannot be read, with the reason
};

found_sessions find_sessions(std::string_view program, const std::vector<std::string>& paths);

// Empty, with `problem` set: a log cannot be read.
std::vector<hooks::log_file> load_session(std::string_view program, const session_files& session, std::string& problem);

// The files of a folder with this ending, sorted; none if there is no such folder, or if it is a link.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder, std::string_view ending);

// ---- opencode_database.cpp: ~/.local/share/opencode/opencode.db

// Adds the sessions without a parent. Returns an error sentence; empty on success.
std::string find_opencode_sessions(const std::filesystem::path& database, std::vector<session_files>& into);
// The rows of a session and of its subagents' sessions, one a line.
hooks::log_file read_opencode_session(const session_files& session, std::string& problem);

// ---- opencode_files.cpp: ~/.local/share/opencode/storage, of versions before the database

bool is_opencode_session(const std::filesystem::path& path);
// Adds the sessions without a parent, except those that were found already.
void find_opencode_files(const std::vector<std::filesystem::path>& files, found_sessions& into);
// The same lines as those of a database, each as a log of its own.
std::vector<hooks::log_file> read_opencode_files(const session_files& session, std::string& problem);

}  // namespace digd::cli
