// Reads the lines of a trace from a file, standard input, a daemon's run, or a run in an archive.
//
// Thread: one; calls block. Failure: an error sentence; empty on success. Bounds: one line is in memory at a time.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/run_source.h"

namespace digd::cli {

class trace_input {
 public:
  using each_line = std::function<bool(std::string_view line)>;  // false: no more

  // `text`: a file, - for standard input, or, where there is no such file, a run's id. Null, with `problem` set, if
  // there is no place to look for runs.
  static std::unique_ptr<trace_input> open(const std::string& text, const daemon_options& options,
                                           std::string& problem);
  // Null, after a message on standard error.
  static std::unique_ptr<trace_input> open(const std::string& command, const std::string& text,
                                           const daemon_options& options);

  // The run, even if there is a file of its name.
  static std::unique_ptr<trace_input> open_run(const std::string& run, const daemon_options& options,
                                               std::string& problem);
  static std::unique_ptr<trace_input> open_run(const std::string& command, const std::string& run,
                                               const daemon_options& options);

  std::string lines(const each_line& each);
  bool is_file() const { return !runs_; }  // standard input too
  // A plain file: it can be read again.
  bool is_plain_file() const;
  // Bytes of a plain file; 0: unknown.
  std::uint64_t size() const;

 private:
  std::string file_lines(const each_line& each);
  std::string run_lines(const each_line& each);

  std::string text_;
  std::unique_ptr<run_source> runs_;  // null: a file
  bool asked_daemon_ = false;
};

// A trace that can be read several times. Input that is not a file is kept in an unnamed temporary file of at most
// `max_bytes`.
class kept_trace {
 public:
  static constexpr std::size_t max_bytes = std::size_t{8} << 30;

  explicit kept_trace(std::unique_ptr<trace_input> from) : from_(std::move(from)) {}
  ~kept_trace();
  kept_trace(const kept_trace&) = delete;
  kept_trace& operator=(const kept_trace&) = delete;

  std::string lines(const trace_input::each_line& each);
  std::uint64_t size() const { return from_->size(); }  // as trace_input's
  // All of it; nothing if it has more than `max_bytes` bytes or cannot be read.
  std::optional<std::string> text(std::size_t max_bytes);

 private:
  std::string keep();

  std::unique_ptr<trace_input> from_;
  std::FILE* kept_ = nullptr;
};

}  // namespace digd::cli
