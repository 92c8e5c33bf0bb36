#include "ingest/hooks/claude_log.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "ingest/hooks/dialect.h"
#include "ingest/hooks/session.h"
#include "ingest/hooks/transcript.h"
#include "model/message.h"

namespace digd::hooks {

namespace {

namespace json = boost::json;

constexpr bool takes_usage =
    std::find(message_type_names.begin(), message_type_names.end(), "usage") != message_type_names.end();

struct timed_call {
  std::int64_t ts;
  json::object hook;
};

// The number at these places of a time; -1: there is none.
int number_at(std::string_view text, std::size_t at, std::size_t digits) {
  int number = -1;
  if (at + digits > text.size()) return number;
  const char* const end = text.data() + at + digits;
  return std::from_chars(text.data() + at, end, number).ptr == end ? number : -1;
}

// "2026-11-23T00:52:33.615Z" in Unix milliseconds.
std::optional<std::int64_t> time_of(const json::object& line) {
  namespace chrono = std::chrono;
  const std::string text = text_of(line, "timestamp");
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

// Reads one log: its lines become hook calls.
class log_reader {
 public:
  log_reader(const std::string& session, const log_file& file, imported_session& counts, std::vector<timed_call>& calls)
      : session_(session), file_(file), counts_(counts), calls_(calls) {}

  void read();

 private:
  void take(const json::object& line);
  void take_user(const json::object& line, const json::object& message);
  void take_result(const json::object& line, const json::object& result);
  void take_assistant(const json::object& message);
  void stop(const std::string& text);
  void add(const char* hook, json::object fields);

  const std::string& session_;
  const log_file& file_;
  imported_session& counts_;
  std::vector<timed_call>& calls_;
  std::int64_t ts_ = 0;
  std::string folder_, branch_, prompt_id_;
  std::map<std::string, std::pair<std::string, json::object>> tools_;  // by tool use: name and input
  std::map<std::string, usage_totals> replies_;                        // by the reply's id
  bool acts_ = false;
};

void log_reader::read() {
  std::istringstream lines(file_.text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    json::error_code ec;
    const json::value value = json::parse(line, ec);
    if (ec || !value.is_object()) {
      ++counts_.skipped_lines;
      continue;
    }
    take(value.get_object());
  }
  // The log breaks off, or the agent came back without a text.
  if (acts_ && !file_.agent.empty()) stop({});
}

void log_reader::take(const json::object& line) {
  const std::string type = text_of(line, "type");
  const json::object* message = object_of(line, "message");
  const auto ts = time_of(line);
  if (message == nullptr || !ts || (type != "user" && type != "assistant")) return;
  ts_ = std::max(ts_, *ts);
  folder_ = text_of(line, "cwd");
  branch_ = text_of(line, "gitBranch");
  if (std::string id = text_of(line, "promptId"); !id.empty()) prompt_id_ = std::move(id);
  if (type == "assistant") return take_assistant(*message);
  if (!is_true(line, "isMeta") && !is_true(line, "isCompactSummary")) take_user(line, *message);
}

void log_reader::take_user(const json::object& line, const json::object& message) {
  const json::value* content = message.if_contains("content");
  if (content == nullptr) return;
  std::string text = text_of(message, "content");
  if (content->is_array()) {
    bool is_result = false;
    for (const json::value& block : content->get_array()) {
      const json::object* fields = block.if_object();
      if (fields == nullptr) continue;
      if (text_of(*fields, "type") == "tool_result") {
        is_result = true;
        take_result(line, *fields);
      } else if (text_of(*fields, "type") == "text") {
        text += text_of(*fields, "text");
      }
    }
    if (is_result) return;
  }
  acts_ = true;
  if (file_.agent.empty()) return add("UserPromptSubmit", {{"prompt", text}});
  add("SubagentStart", {{"digd", json::object{{"tool_use_id", file_.tool_use}}}});
}

void log_reader::take_result(const json::object& line, const json::object& result) {
  const auto tool = tools_.find(text_of(result, "tool_use_id"));
  if (tool == tools_.end()) return;
  json::object fields{
      {"tool_use_id", tool->first}, {"tool_name", tool->second.first}, {"tool_input", tool->second.second}};
  if (const json::object* response = object_of(line, "toolUseResult")) fields["tool_response"] = *response;
  if (!is_true(result, "is_error")) return add("PostToolUse", std::move(fields));
  fields["error"] = text_of(result, "content");
  add("PostToolUseFailure", std::move(fields));
}

void log_reader::take_assistant(const json::object& message) {
  if (const json::object* usage = object_of(message, "usage")) {
    replies_[text_of(message, "id")] = usage_of(*usage);
  }
  const json::value* content = message.if_contains("content");
  if (content == nullptr || !content->is_array()) return;
  std::string text;
  for (const json::value& block : content->get_array()) {
    const json::object* fields = block.if_object();
    if (fields == nullptr) continue;
    text += text_of(*fields, "text");
    const json::object* input = object_of(*fields, "input");
    if (text_of(*fields, "type") != "tool_use" || input == nullptr) continue;
    auto& tool = tools_[text_of(*fields, "id")];
    tool = {text_of(*fields, "name"), *input};
    add("PreToolUse",
        {{"tool_use_id", text_of(*fields, "id")}, {"tool_name", tool.first}, {"tool_input", tool.second}});
  }
  if (text_of(message, "stop_reason") == "end_turn") stop(text);
}

void log_reader::stop(const std::string& text) {
  acts_ = false;
  usage_totals total;
  for (const auto& [id, usage] : replies_) {
    total.input_tokens += usage.input_tokens;
    total.output_tokens += usage.output_tokens;
    ++total.model_calls;
  }
  json::object usage{
      {"input_tokens", total.input_tokens}, {"output_tokens", total.output_tokens}, {"model_calls", total.model_calls}};
  json::object fields{{"digd", json::object{{"usage", std::move(usage)}}}};
  if (!text.empty()) fields["last_assistant_message"] = text;
  add(file_.agent.empty() ? "Stop" : "SubagentStop", std::move(fields));
}

void log_reader::add(const char* hook, json::object fields) {
  fields["hook_event_name"] = hook;
  fields["session_id"] = session_;
  fields["prompt_id"] = prompt_id_;
  fields["cwd"] = folder_;
  if (!file_.agent.empty()) {
    fields["agent_id"] = file_.agent;
    fields["agent_type"] = file_.agent_type;
  }
  if (!branch_.empty()) {
    json::value& added = fields["digd"];
    if (!added.is_object()) added = json::object();
    added.get_object()["branch"] = branch_;
  }
  calls_.push_back({.ts = ts_, .hook = std::move(fields)});
}

void move_lines(session& from, std::vector<imported_run>& runs) {
  if (runs.empty()) return;
  for (std::string& line : from.lines()) runs.back().lines.push_back(std::move(line));
}

}  // namespace

imported_session import_claude_log(const std::string& id, const std::vector<log_file>& files) {
  imported_session result;
  std::vector<timed_call> calls;
  for (const log_file& file : files) log_reader(id, file, result, calls).read();
  std::stable_sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) { return a.ts < b.ts; });
  session_options options;
  options.mode = "observe";
  options.clock = "trace";
  session state(id, options);
  for (const timed_call& each : calls) {
    auto read = claude_code.read(each.hook);
    if (!read) continue;
    read->ts = each.ts;
    ++result.calls;
    if (state.needs_run(*read)) {
      state.end_run();
      move_lines(state, result.runs);
      std::string hello = state.begin_run(*read);
      result.runs.push_back({.run = state.run(), .lines = {std::move(hello)}});
      state.joined(0, takes_usage, false);
    }
    const auto taken = state.take(*read);
    if (taken.judged_seq != 0)
      static_cast<void>(state.answer(taken.judged_seq, {.action = "deliver", .recipients = {}, .inject = {}}));
    move_lines(state, result.runs);
  }
  state.end_run();
  move_lines(state, result.runs);
  return result;
}

}  // namespace digd::hooks
