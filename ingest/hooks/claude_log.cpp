// Claude Code: the transcripts of a session and of its subagents. Inferred: an agent stops with the last text of a
// reply that ended its turn.
#include <algorithm>
#include <boost/json/array.hpp>
#include <map>
#include <utility>

#include "ingest/hooks/log_calls.h"
#include "ingest/hooks/transcript.h"

namespace digd::hooks {

// Readers of logs have alike names; a unity build compiles several files as one.
namespace claude_log {

namespace {

namespace json = boost::json;

// The text of a tool's result: a string, or blocks.
std::string text_in(const json::object& result) {
  const json::value* content = result.if_contains("content");
  if (content == nullptr || !content->is_array()) return text_of(result, "content");
  std::string text;
  for (const json::value& block : content->get_array()) {
    if (const json::object* fields = block.if_object()) text += text_of(*fields, "text");
  }
  return text;
}

// Reads one log: its lines become hook calls.
//
// Three things are in a log but reach no hook: commands that the program runs itself ("/compact"); replies without a
// text, which the program asks for again; and, without their status, results of subagents that a subagent called.
class log_reader {
 public:
  log_reader(const std::string& session, const log_file& file, imported_session& counts)
      : session_(session), file_(file), counts_(counts) {}

  std::vector<call> read();

 private:
  void take(const json::object& line);
  void take_user(const json::object& line, const json::object& message);
  void take_result(const json::object& line, const json::object& result);
  void drop_command();
  void take_assistant(const json::object& message);
  void count_reply(const std::string& id, const usage_totals& usage);
  // False: the dialect refuses the call.
  bool stop(const std::string& text);
  bool add(const char* hook, json::object fields);

  const std::string& session_;
  const log_file& file_;
  imported_session& counts_;
  log_calls calls_{claude_code};
  std::string folder_, branch_, prompt_id_;
  std::size_t prompt_ = std::string::npos;                             // the latest prompt's place among the calls
  std::map<std::string, std::pair<std::string, json::object>> tools_;  // by tool use: name and input
  std::map<std::string, usage_totals> replies_;                        // by the reply's id
  usage_totals total_;                                                 // of `replies_`
  std::map<std::size_t, std::string> models_;                          // by the prompt's place among the calls
  bool acts_ = false;
  bool stopped_without_text_ = false;  // and the stop is the last call
};

constexpr std::string_view command_mark = "<command-name>";
constexpr std::string_view command_output_mark = "<local-command-std";

// The program's answer to a call that started a subagent in the background.
constexpr std::string_view launch_mark = "Async agent launched";

std::vector<call> log_reader::read() {
  read_lines(file_, counts_, [this](const json::object& line) { take(line); });
  // The log breaks off, or the agent came back without a text.
  if (acts_ && !file_.agent.empty()) stop({});
  std::vector<call> calls = calls_.take();
  for (auto& [prompt, model] : models_) calls[prompt].model = std::move(model);
  return calls;
}

void log_reader::take(const json::object& line) {
  const std::string type = text_of(line, "type");
  const json::object* message = object_of(line, "message");
  const auto ts = time_of(text_of(line, "timestamp"));
  if (message == nullptr || !ts || (type != "user" && type != "assistant")) return;
  calls_.set_time(*ts);
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
  if (text.starts_with(command_output_mark)) return drop_command();
  acts_ = true;
  if (file_.agent.empty()) {
    prompt_ = calls_.size();
    add("UserPromptSubmit", {{"prompt", text}});
    return;
  }
  add("SubagentStart", {{"digd", json::object{{"tool_use_id", file_.tool_use}}}});
}

// The program ran the command itself: no agent was asked.
void log_reader::drop_command() {
  if (calls_.empty() || prompt_ != calls_.size() - 1 || !calls_.last().text.starts_with(command_mark)) return;
  calls_.remove_last();
  models_.erase(calls_.size());
  prompt_ = std::string::npos;
}

void log_reader::take_result(const json::object& line, const json::object& result) {
  const auto tool = tools_.find(text_of(result, "tool_use_id"));
  if (tool == tools_.end()) return;
  json::object fields{
      {"tool_use_id", tool->first}, {"tool_name", tool->second.first}, {"tool_input", tool->second.second}};
  if (const json::object* response = object_of(line, "toolUseResult")) {
    fields["tool_response"] = *response;
  } else if (text_in(result).find(launch_mark) == std::string::npos) {
    fields["tool_response"] = json::object{{"status", "completed"}};
  }
  if (!is_true(result, "is_error")) {
    add("PostToolUse", std::move(fields));
    return;
  }
  fields["error"] = text_of(result, "content");
  add("PostToolUseFailure", std::move(fields));
}

void log_reader::take_assistant(const json::object& message) {
  if (std::exchange(stopped_without_text_, false)) calls_.remove_last();
  if (const json::object* usage = object_of(message, "usage")) {
    count_reply(text_of(message, "id"), usage_of(*usage));
  }
  // The first reply to a prompt names the model.
  if (std::string model = model_of(message); prompt_ < calls_.size() && !model.empty()) {
    models_.emplace(prompt_, cut(std::move(model), call::max_id_bytes));
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
  if (text_of(message, "stop_reason") != "end_turn") return;
  stopped_without_text_ = stop(text) && text.empty();
}

// The lines of one reply repeat its usage; the last is complete.
void log_reader::count_reply(const std::string& id, const usage_totals& usage) {
  const auto [reply, is_new] = replies_.try_emplace(id);
  if (is_new) ++total_.model_calls;
  total_.input_tokens += usage.input_tokens - reply->second.input_tokens;
  total_.output_tokens += usage.output_tokens - reply->second.output_tokens;
  reply->second = usage;
}

bool log_reader::stop(const std::string& text) {
  acts_ = false;
  json::object usage{{"input_tokens", total_.input_tokens},
                     {"output_tokens", total_.output_tokens},
                     {"model_calls", total_.model_calls}};
  json::object fields{{"digd", json::object{{"usage", std::move(usage)}}}};
  if (!text.empty()) fields["last_assistant_message"] = text;
  return add(file_.agent.empty() ? "Stop" : "SubagentStop", std::move(fields));
}

bool log_reader::add(const char* hook, json::object fields) {
  stopped_without_text_ = false;
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
  call* made = calls_.add(fields);
  if (made != nullptr) made->is_inferred = made->kind == call_kind::stopped || made->kind == call_kind::agent_stopped;
  return made != nullptr;
}

}  // namespace

}  // namespace claude_log

imported_session import_claude_log(const std::string& id, const std::vector<log_file>& files,
                                   const log_options& options) {
  imported_session result;
  std::vector<std::vector<call>> logs;
  logs.reserve(files.size());
  for (const log_file& file : files) logs.push_back(claude_log::log_reader(id, file, result).read());
  play_calls(claude_code, id, logs, options, result);
  return result;
}

}  // namespace digd::hooks
