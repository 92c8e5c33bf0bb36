// Files as the commands read and write them, and their names as people see them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace digd::cli {

// A path as it stands in a message: as it is if that is harmless, else quoted and escaped.
std::string shown(const std::filesystem::path& path);

// The whole of a file; "-" is standard input. Nothing, with `why` set, if it cannot be read, is a folder, or has more
// than `most` bytes.
std::optional<std::string> read_file(const std::filesystem::path& path, std::size_t most, std::string& why);

// Writes beside the file first and renames, so that what was there is replaced as a whole or not at all; something that
// is no file (/dev/stdout, a pipe) is written to as it is. "-" is standard output. Empty if done, else why not.
std::string write_file(const std::filesystem::path& path, std::string_view text);

// The same for text that comes in pieces: kept beside the file until `finish`; without it nothing is changed.
class file_writer {
 public:
  explicit file_writer(std::filesystem::path path) : path_(std::move(path)) {}
  ~file_writer();
  file_writer(const file_writer&) = delete;
  file_writer& operator=(const file_writer&) = delete;

  // Each: empty if done, else why not.
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
