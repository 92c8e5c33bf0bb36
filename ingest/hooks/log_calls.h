// For the readers of session logs: lines into hook calls, and hook calls into traces.
//
// Thread: any. Failure: none; a hook that the dialect refuses is left out. A `log_calls` belongs to one thread at a
// time, refers to its dialect, and grows with the log.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/hooks/call.h"
#include "ingest/hooks/dialect.h"
#include "ingest/hooks/session_log.h"

namespace digd::hooks {

// "2026-11-23T00:52:33.615Z" in Unix milliseconds.
std::optional<std::int64_t> time_of(std::string_view text);

void note_damage(imported_session& into, const log_file& file, std::size_t line, std::string reason);

// Hands each line's object to `take`.
void read_lines(const log_file& file, imported_session& into,
                const std::function<void(const boost::json::object&)>& take);

// The calls of one log. Their times never fall.
class log_calls {
 public:
  explicit log_calls(const dialect& as) : as_(as) {}

  // Times beyond the year 9999 are ignored.
  void set_time(std::int64_t ts) {
    if (ts > ts_ && ts < max_ts) ts_ = ts;
  }
  std::int64_t time() const { return ts_; }
  // Null: the dialect refuses it. Valid until the next one.
  call* add(const boost::json::object& hook);
  void add(call made);
  bool empty() const { return calls_.empty(); }
  std::size_t size() const { return calls_.size(); }
  call& last() { return calls_.back(); }
  void remove_last() { calls_.pop_back(); }
  std::vector<call> take() { return std::move(calls_); }

 private:
  static constexpr std::int64_t max_ts = 253'402'300'800'000;

  const dialect& as_;
  std::int64_t ts_ = 0;
  std::vector<call> calls_;
};

// Plays the calls of a session's logs by time. Of calls at the same time, those that begin something come first.
void play_calls(const dialect& as, const std::string& session, const std::vector<std::vector<call>>& logs,
                const log_options& options, imported_session& into);

}  // namespace digd::hooks
