// Files as the commands read and write them, and their names as people see them.
#pragma once

#include <cstddef>
#include <filesystem>
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

}  // namespace digd::cli
