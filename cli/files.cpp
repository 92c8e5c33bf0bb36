#include "cli/files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>

#include "base/quote.h"

namespace digd::cli {

namespace fs = std::filesystem;

namespace {

std::string reason() { return errno != 0 ? std::strerror(errno) : "it cannot be read or written"; }

// A pipe can be opened once only, so its reader keeps the file that this opens.
std::string open_for_reading(const fs::path& path, std::ifstream& into) {
  std::error_code none;
  if (fs::is_directory(path, none)) return "it is a folder";
  if (!fs::exists(path, none)) return "there is no such file";
  errno = 0;
  into.open(path, std::ios::binary);
  return into ? std::string() : reason();
}

}  // namespace

std::string shown(const fs::path& path) {
  if (path == "-") return "standard input";
  const std::string& plain = path.native();
  const std::string quoted = digd::quoted(plain);
  const bool harmless =
      !plain.empty() && quoted.size() == plain.size() + 2 && quoted.compare(1, plain.size(), plain) == 0;
  return harmless ? plain : quoted;
}

std::string output_problem(const fs::path& path, const std::string& problem) {
  return path == "-" ? problem : shown(path) + ": " + problem;
}

std::string unreadable_reason(const fs::path& path) {
  std::error_code none;
  const fs::file_status status = fs::status(path, none);
  const bool is_once_only = fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
  std::ifstream file;
  return path == "-" || is_once_only ? std::string() : open_for_reading(path, file);
}

void walk_files(const fs::path& folder, const std::function<void(const fs::directory_entry&)>& each,
                std::vector<std::string>& problems) {
  std::vector<fs::path> folders{folder};
  while (!folders.empty()) {
    const fs::path at = std::move(folders.back());
    folders.pop_back();
    std::error_code failed, none;
    for (fs::directory_iterator entry(at, failed), end; !failed && entry != end; entry.increment(failed)) {
      if (entry->is_directory(none) && !entry->is_symlink(none)) folders.push_back(entry->path());
      else if (entry->is_regular_file(none)) each(*entry);
    }
    if (failed) problems.push_back(shown(at) + ": " + failed.message());
  }
}

std::string no_folder_reason(const fs::path& path) {
  std::error_code none;
  if (fs::is_directory(path, none)) return {};
  return fs::exists(path, none) ? "it is not a folder" : "there is no such folder";
}

std::optional<std::string> read_file(const fs::path& path, std::size_t max_bytes, std::string& problem) {
  std::ifstream file;
  if (path != "-") {
    problem = open_for_reading(path, file);
    if (!problem.empty()) return {};
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::string text;
  for (char part[1 << 16]; in;) {
    in.read(part, sizeof part);
    text.append(part, static_cast<std::size_t>(in.gcount()));
    if (text.size() > max_bytes) {
      problem = "it has more than " + std::to_string(max_bytes) + " bytes";
      return {};
    }
  }
  if (in.bad()) {
    problem = reason();
    return {};
  }
  return text;
}

std::string write_file(const fs::path& path, std::string_view text) {
  file_writer out(path);
  if (std::string problem = out.write(text); !problem.empty()) return problem;
  return out.finish();
}

file_writer::~file_writer() {
  if (!open_ || beside_.empty()) return;
  std::error_code none;
  out_.close();
  fs::remove(beside_, none);
}

std::string file_writer::open() {
  open_ = true;
  std::error_code none;
  const fs::file_status before = fs::status(path_, none);
  if (fs::is_directory(before)) return "it is a folder";
  if (!fs::exists(before) || fs::is_regular_file(before)) {
    // Replaces the file that a symbolic link points to, not the link.
    target_ = fs::exists(before) ? fs::canonical(path_, none) : path_;
    beside_ = target_;
    beside_ += ".part" + std::to_string(::getpid());
  }
  errno = 0;
  out_.open(beside_.empty() ? path_ : beside_, std::ios::binary | std::ios::trunc);
  if (out_) {
    // Before the first byte: the text of a private file stays private.
    if (fs::is_regular_file(before)) fs::permissions(beside_, before.permissions(), none);
    return {};
  }
  std::string problem = reason();
  beside_.clear();
  return problem;
}

std::string file_writer::write(std::string_view piece) {
  if (path_ == "-") {
    std::cout.write(piece.data(), static_cast<std::streamsize>(piece.size()));
    return std::cout ? std::string() : std::string("standard output cannot be written to");
  }
  if (!open_) {
    if (std::string problem = open(); !problem.empty()) return problem;
  }
  errno = 0;
  out_.write(piece.data(), static_cast<std::streamsize>(piece.size()));
  return out_ ? std::string() : reason();
}

std::string file_writer::finish() {
  if (path_ == "-") {
    std::cout.flush();
    return std::cout ? std::string() : std::string("standard output cannot be written to");
  }
  if (std::string problem = write({}); !problem.empty()) return problem;
  errno = 0;
  out_.close();
  if (!out_) return reason();
  if (beside_.empty()) return {};
  std::error_code failed;
  fs::rename(beside_, target_, failed);
  if (failed) return failed.message();
  beside_.clear();
  return {};
}

}  // namespace digd::cli
