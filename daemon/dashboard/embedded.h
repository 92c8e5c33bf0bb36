// The dashboard's files, which the build puts into the binary (embed.cmake). Constant; any thread.
#pragma once

#include <span>
#include <string_view>

namespace digd::daemon {

struct embedded_file {
  std::string_view path;  // "index.html", "assets/index-….js"
  std::string_view content_type;
  std::string_view digest;      // of the contents, in hex
  std::string_view body, gzip;  // the same, plain and compressed
  bool never_changes;           // its name is of its contents
};

// Empty if digd was built without the dashboard.
std::span<const embedded_file> embedded_files();

}  // namespace digd::daemon
