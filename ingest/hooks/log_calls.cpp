#include "ingest/hooks/log_calls.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/deep_json.h"
#include "ingest/hooks/session.h"

namespace digd::hooks {

namespace {

namespace json = boost::json;

// The number at these places of a time; -1: there is none.
int number_at(std::string_view text, std::size_t at, std::size_t digits) {
  int number = -1;
  if (at + digits > text.size()) return number;
  const char* const end = text.data() + at + digits;
  return std::from_chars(text.data() + at, end, number).ptr == end ? number : -1;
}

int order_of(call_kind kind) {
  switch (kind) {
    case call_kind::prompt:
    case call_kind::notification:
    case call_kind::tool_wanted: return 0;
    case call_kind::agent_started: return 1;
    case call_kind::other:
    case call_kind::unused:
    case call_kind::session_started:
    case call_kind::model_done: return 2;
    case call_kind::agent_stopped: return 3;
    case call_kind::tool_done:
    case call_kind::tool_failed: return 4;
    case call_kind::stopped:
    case call_kind::turn_ended:
    case call_kind::turn_failed: return 5;
    case call_kind::session_ended: break;
  }
  return 6;
}

// Removes the earliest call of the logs. Each log keeps its order.
std::optional<call> take_next(const std::vector<std::vector<call>>& logs, std::vector<std::size_t>& next) {
  std::optional<std::size_t> first;
  std::pair<std::int64_t, int> key;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (next[i] >= logs[i].size()) continue;
    const call& head = logs[i][next[i]];
    const std::pair<std::int64_t, int> of_head{head.ts.value_or(0), order_of(head.kind)};
    if (first && key <= of_head) continue;
    first = i;
    key = of_head;
  }
  if (!first) return std::nullopt;
  return logs[*first][next[*first]++];
}

void move_lines(session& from, std::vector<imported_run>& runs) {
  if (runs.empty()) return;
  for (std::string& line : from.lines()) runs.back().lines.push_back(std::move(line));
}

}  // namespace

std::optional<std::int64_t> time_of(std::string_view text) {
  namespace chrono = std::chrono;
  const int month = number_at(text, 5, 2), day = number_at(text, 8, 2);
  const int hour = number_at(text, 11, 2), minute = number_at(text, 14, 2), second = number_at(text, 17, 2);
  if (month < 0 || day < 0 || hour < 0 || minute < 0 || second < 0) return std::nullopt;
  const chrono::year_month_day date{chrono::year(number_at(text, 0, 4)), chrono::month(static_cast<unsigned>(month)),
                                    chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  const auto since_1970 = chrono::sys_days(date).time_since_epoch() + chrono::hours(hour) + chrono::minutes(minute) +
                          chrono::seconds(second) + chrono::milliseconds(std::max(number_at(text, 20, 3), 0));
  return chrono::duration_cast<chrono::milliseconds>(since_1970).count();
}

void note_damage(imported_session& into, const log_file& file, std::size_t line, std::string reason) {
  ++into.damaged_lines;
  if (into.damaged.size() >= imported_session::max_damaged) return;
  into.damaged.push_back({.file = file.name, .line = line, .reason = std::move(reason)});
}

void read_lines(const log_file& file, imported_session& into, const std::function<void(const json::object&)>& take) {
  std::string_view rest = file.text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    json::error_code ec;
    const json::value value = parse_json(line, ec);
    if (ec) {
      note_damage(into, file, number, "no JSON: " + ec.message());
    } else if (!value.is_object()) {
      note_damage(into, file, number, "expected a JSON object");
    } else {
      take(value.get_object());
    }
  }
}

call* log_calls::add(const json::object& hook) {
  auto made = as_.read(hook);
  if (!made) return nullptr;
  add(std::move(*made));
  return &calls_.back();
}

void log_calls::add(call made) {
  made.ts = ts_;
  calls_.push_back(std::move(made));
}

void play_calls(const dialect& as, const std::string& id, const std::vector<std::vector<call>>& logs,
                const log_options& options, imported_session& into) {
  session_options settings;
  settings.program = as.name;
  settings.mode = "observe";
  settings.clock = "trace";
  settings.stop_is_answer = as.stop_is_answer;
  settings.max_repeats = options.max_repeats;
  settings.max_outputs = options.max_outputs;
  session state(id, settings);
  std::vector<std::size_t> next(logs.size());
  while (const auto each = take_next(logs, next)) {
    ++into.calls;
    if (state.needs_run(*each)) {
      state.end_run();
      move_lines(state, into.runs);
      std::string hello = state.begin_run(*each);
      into.runs.push_back({.run = state.run(), .lines = {std::move(hello)}});
      state.joined(0, true, true);
    }
    const auto taken = state.take(*each);
    if (taken.judged_seq != 0)
      static_cast<void>(state.answer(taken.judged_seq, {.action = "deliver", .recipients = {}, .inject = {}}));
    move_lines(state, into.runs);
  }
  state.end_run();
  move_lines(state, into.runs);
}

}  // namespace digd::hooks
