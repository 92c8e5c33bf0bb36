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

// Removes the file with its log. Parts that do not exist are skipped; errors are ignored.
void remove_archive_file(const std::string& path);

// Creates a missing file that only its owner may read and write, whatever the umask. SQLite gives the parts that it
// adds the same permissions.
void create_private_file(const std::string& path);
// Leaves only the owner's permissions on the file and its parts. Permissions that this user cannot change stay as they
// are.
void make_private(const std::string& path);

// `sync_file` returns when the file's content is on the disk, `sync_folder_of` when the names in its folder are.
std::error_code sync_file(const std::string& path);
std::error_code sync_folder_of(const std::string& path);

}  // namespace digd::archive
