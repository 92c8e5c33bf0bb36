// Reads and writes the files of commands, and shows their names.
//
// Thread: one; calls block. Failure: sentences. Bounds: `max_bytes` of a file that is read; a `file_writer` keeps
// nothing.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace digd::cli {

// A path for a message: unchanged if that is harmless, else quoted and escaped.
std::string shown(const std::filesystem::path& path);

// The problem of an output, after its path. "-" is standard output, which the problem names itself.
std::string output_problem(const std::filesystem::path& path, const std::string& problem);

// Why a file cannot be opened for reading: "it is a folder", "there is no such file" …; empty: it can. "-" can. A pipe
// or a device counts as readable: it is not opened, because a pipe can be opened only once.
std::string unreadable_reason(const std::filesystem::path& path);

// Why a path is not a folder: "there is no such folder", "it is not a folder"; empty: it is one.
std::string no_folder_reason(const std::filesystem::path& path);

// Calls `each` for the files below a folder, in no order. Does not follow links. Adds a sentence to `problems` for each
// folder that cannot be read, and continues.
void walk_files(const std::filesystem::path& folder,
                const std::function<void(const std::filesystem::directory_entry&)>& each,
                std::vector<std::string>& problems);

// Reads a whole file; "-" is standard input. nullopt, with `problem` set: it cannot be read, is a folder, or has more
// than `max_bytes` bytes.
std::optional<std::string> read_file(const std::filesystem::path& path, std::size_t max_bytes, std::string& problem);

// Writes a temporary file beside the target and renames it, so the target is replaced completely or not at all. A pipe
// or device (/dev/stdout) is written directly. "-" is standard output. Returns an error sentence; empty on success.
std::string write_file(const std::filesystem::path& path, std::string_view text);

// The same for text in pieces: the temporary file replaces the target at `finish`. Without `finish` nothing changes.
class file_writer {
 public:
  explicit file_writer(std::filesystem::path path) : path_(std::move(path)) {}
  ~file_writer();
  file_writer(const file_writer&) = delete;
  file_writer& operator=(const file_writer&) = delete;

  // Each returns an error sentence; empty on success.
  std::string write(std::string_view piece);
  std::string finish();

 private:
  std::string open();

  const std::filesystem::path path_;
  std::filesystem::path target_, beside_;  // empty: written to as it is
  std::ofstream out_;
  bool open_ = false;
};

}  // namespace digd::cli
