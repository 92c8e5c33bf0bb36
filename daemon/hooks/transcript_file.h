// Opens files that a caller names: only below configured folders, and never through links.
//
// Thread: any; pure but for the file system. Bounds: `max_bytes`. Failure: nullopt.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace digd::daemon {

// The text of a regular file below one of the folders. Refused: a path with `..`, a symbolic link at any step below the
// folder, a file with several names (hard links), and more than `max_bytes`.
std::optional<std::string> read_file_below(std::span<const std::string> roots, std::string_view path,
                                           std::size_t max_bytes);

}  // namespace digd::daemon
