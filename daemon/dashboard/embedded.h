// The files of the dashboard. The build embeds them into the binary (embed.cmake). Constant; any thread.
#pragma once

#include <span>
#include <string_view>

namespace digd::daemon {

struct embedded_file {
  std::string_view path;  // "index.html", "assets/index-….js"
  std::string_view content_type;
  std::string_view digest;      // SHA-256 of the contents, the first 32 hex digits
  std::string_view body, gzip;  // the contents, plain and compressed
  bool never_changes;           // its name contains a digest of its contents
};

// Empty if digd was built without the dashboard.
std::span<const embedded_file> embedded_files();

}  // namespace digd::daemon
