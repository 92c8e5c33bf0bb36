#include "cli/files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>

#include "engine/quote.h"

namespace digd::cli {

namespace fs = std::filesystem;

namespace {

std::string reason() { return errno != 0 ? std::strerror(errno) : "it cannot be read or written"; }

std::string write_to(const fs::path& path, std::string_view text) {
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (!out) return reason();
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  return out ? std::string() : reason();
}

}  // namespace

std::string shown(const fs::path& path) {
  if (path == "-") return "standard input";
  const std::string& plain = path.native();
  const std::string quoted = digd::quoted(plain);
  const bool harmless = !plain.empty() && quoted.size() == plain.size() + 2 && quoted.compare(1, plain.size(), plain) == 0;
  return harmless ? plain : quoted;
}

std::optional<std::string> read_file(const fs::path& path, std::size_t most, std::string& why) {
  std::error_code none;
  if (path != "-" && fs::is_directory(path, none)) {
    why = "it is a folder";
    return {};
  }
  std::ifstream file;
  if (path != "-") {
    errno = 0;
    file.open(path, std::ios::binary);
    if (!file) {
      why = reason();
      return {};
    }
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::string text;
  for (char part[1 << 16]; in;) {
    in.read(part, sizeof part);
    text.append(part, static_cast<std::size_t>(in.gcount()));
    if (text.size() > most) {
      why = "it has more than " + std::to_string(most) + " bytes";
      return {};
    }
  }
  if (in.bad()) {
    why = reason();
    return {};
  }
  return text;
}

std::string write_file(const fs::path& path, std::string_view text) {
  if (path == "-") {
    std::cout.write(text.data(), static_cast<std::streamsize>(text.size()));
    std::cout.flush();
    return std::cout ? std::string() : std::string("standard output cannot be written to");
  }
  std::error_code none;
  const fs::file_status before = fs::status(path, none);
  if (fs::is_directory(before)) return "it is a folder";
  if (fs::exists(before) && !fs::is_regular_file(before)) return write_to(path, text);
  // Through a link to the file itself, which stays where it is.
  const fs::path target = fs::exists(before) ? fs::canonical(path, none) : path;
  fs::path beside = target;
  beside += ".part" + std::to_string(::getpid());
  if (std::string why = write_to(beside, text); !why.empty()) {
    fs::remove(beside, none);
    return why;
  }
  if (fs::is_regular_file(before)) fs::permissions(beside, before.permissions(), none);
  std::error_code failed;
  fs::rename(beside, target, failed);
  if (failed) {
    fs::remove(beside, none);
    return failed.message();
  }
  return {};
}

}  // namespace digd::cli
