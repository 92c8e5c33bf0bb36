#include "cli/trace_input.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "cli/files.h"

namespace digd::cli {

namespace {

namespace fs = std::filesystem;

// Splits text into lines; pieces of the text may end anywhere.
class line_splitter {
 public:
  explicit line_splitter(const trace_input::each_line& to) : to_(to) {}
  bool take(std::string_view piece) {
    for (std::size_t end; going_ && (end = piece.find('\n')) != std::string_view::npos; piece.remove_prefix(end + 1)) {
      going_ = rest_.empty() ? to_(piece.substr(0, end)) : to_(rest_ += piece.substr(0, end));
      rest_.clear();
    }
    rest_ += piece;
    return going_;
  }
  void finish() {
    if (going_ && !rest_.empty()) to_(rest_);
  }

 private:
  const trace_input::each_line& to_;
  std::string rest_;
  bool going_ = true;
};

}  // namespace

std::unique_ptr<trace_input> trace_input::open(const std::string& text, const daemon_options& options,
                                               std::string& problem) {
  std::error_code none;
  const bool is_daemon = options.data_dir.empty() && effective_fleet(options.fleet).urls.empty();
  if (is_daemon && (text == "-" || fs::exists(text, none))) {
    auto made = std::make_unique<trace_input>();
    made->text_ = text;
    return made;
  }
  auto made = open_run(text, options, problem);
  if (made) made->asked_daemon_ = is_daemon;
  return made;
}

std::unique_ptr<trace_input> trace_input::open_run(const std::string& run, const daemon_options& options,
                                                   std::string& problem) {
  auto made = std::make_unique<trace_input>();
  made->text_ = run;
  made->runs_ = open_source(options, {.run = run}, problem);
  return made->runs_ ? std::move(made) : nullptr;
}

std::unique_ptr<trace_input> trace_input::open(const std::string& command, const std::string& text,
                                               const daemon_options& options) {
  std::string problem;
  auto made = open(text, options, problem);
  if (!made) complain(command, problem);
  return made;
}

std::unique_ptr<trace_input> trace_input::open_run(const std::string& command, const std::string& run,
                                                   const daemon_options& options) {
  std::string problem;
  auto made = open_run(run, options, problem);
  if (!made) complain(command, problem);
  return made;
}

bool trace_input::is_plain_file() const {
  std::error_code none;
  return !runs_ && text_ != "-" && fs::is_regular_file(text_, none);
}

std::uint64_t trace_input::size() const {
  std::error_code ec;
  const std::uintmax_t size = is_plain_file() ? fs::file_size(text_, ec) : 0;
  return ec ? 0 : size;
}

std::string trace_input::lines(const each_line& each) { return runs_ ? run_lines(each) : file_lines(each); }

std::string trace_input::file_lines(const each_line& each) {
  if (std::string problem = unreadable_reason(text_); !problem.empty()) return problem;
  std::ifstream file;
  if (text_ != "-") file.open(text_, std::ios::binary);
  if (text_ != "-" && !file) return "it cannot be read";
  std::istream& in = text_ == "-" ? std::cin : file;
  std::string line;
  bool any = false;
  while (std::getline(in, line)) {
    any = any || line.find_first_not_of(" \t\r") != std::string::npos;
    if (!each(line)) break;
  }
  return any ? std::string() : "not a trace: the file is empty";
}

std::string trace_input::run_lines(const each_line& each) {
  line_splitter lines(each);
  std::string problem = runs_->trace(text_, [&](std::string_view piece) { return lines.take(piece); });
  if (problem.empty()) lines.finish();
  else if (asked_daemon_) problem = "there is no such file, nor such a run: " + problem;
  return problem;
}

kept_trace::~kept_trace() {
  if (kept_ != nullptr) std::fclose(kept_);
}

std::string kept_trace::keep() {
  kept_ = std::tmpfile();
  if (kept_ == nullptr) return std::string("no temporary file: ") + std::strerror(errno);
  std::size_t bytes = 0;
  std::string unwritten;
  std::string problem = from_->lines([&](std::string_view line) {
    bytes += line.size() + 1;
    if (bytes > max_bytes) unwritten = "the trace has more than " + std::to_string(max_bytes >> 30) + " GiB";
    else if (std::fwrite(line.data(), 1, line.size(), kept_) != line.size() || std::fputc('\n', kept_) == EOF)
      unwritten = std::strerror(errno);
    return unwritten.empty();
  });
  return problem.empty() ? unwritten : problem;
}

std::string kept_trace::lines(const trace_input::each_line& each) {
  if (from_->is_plain_file()) return from_->lines(each);
  if (kept_ == nullptr) {
    if (std::string problem = keep(); !problem.empty()) return problem;
  }
  std::rewind(kept_);
  char* line = nullptr;
  std::size_t room = 0;
  for (ssize_t n; (n = ::getline(&line, &room, kept_)) > 0;) {
    if (!each({line, static_cast<std::size_t>(n) - (line[n - 1] == '\n')})) break;
  }
  std::free(line);
  return std::ferror(kept_) ? "the temporary file cannot be read" : std::string();
}

std::optional<std::string> kept_trace::text(std::size_t max_bytes) {
  std::string text;
  bool fits = true;
  const std::string problem = lines([&](std::string_view line) {
    fits = text.size() + line.size() < max_bytes;
    if (fits) (text += line) += '\n';
    return fits;
  });
  if (!fits || !problem.empty()) return std::nullopt;
  return text;
}

}  // namespace digd::cli
