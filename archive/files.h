// An archive as files: SQLite's file with its log and the log's index.
//
// Thread: any, while nothing has the archive open.
#pragma once

#include <string>
#include <system_error>

namespace digd::archive {

// Renames the file together with its log. The log goes first: otherwise SQLite would take it for the log of a new file
// with the old name.
std::error_code rename_archive_file(const std::string& path, const std::string& to);

// Also if it does not exist. Errors are ignored.
void remove_archive_file(const std::string& path);

// Returns when the content, or the folder's list of names, is on the disk.
std::error_code sync_file(const std::string& path);
std::error_code sync_folder_of(const std::string& path);

}  // namespace digd::archive
