// Codex CLI: the rollouts of a session and of its subagents, tried with version 0.169.0. A rollout's first line names
// its thread, and of a subagent's the parent. Inferred: that the main agent read results that no `wait_agent` brought,
// and the end of a subagent whose rollout breaks off.
#include <map>
#include <utility>

#include "base/deep_json.h"
#include "ingest/hooks/log_calls.h"

namespace digd::hooks {

// Readers of logs have alike names; a unity build compiles several files as one.
namespace codex_log {

namespace {

namespace json = boost::json;

json::value parsed(const std::string& text) {
  json::error_code ec;
  json::value value = parse_json(text, ec);
  return ec ? json::value() : value;
}

// Reads one rollout: its lines become hook calls.
class rollout_reader {
 public:
  rollout_reader(const std::string& session, const log_file& file, imported_session& counts)
      : session_(session), file_(file), counts_(counts) {}

  std::vector<call> read();
  // By agent: the tool call that started it.
  const std::map<std::string, std::string>& spawns() const { return spawns_; }

 private:
  void take(const json::object& line);
  void take_thread(const json::object& meta);
  void take_event(const json::object& event);
  void take_prompt(const std::string& text);
  void take_usage(const json::object& totals);
  void take_item(const json::object& item);
  void take_output(const json::object& item);
  void begin_turn(const json::object& event);
  void stop(const std::string& text);
  call* add(const char* hook, json::object fields);

  const std::string& session_;
  const log_file& file_;
  imported_session& counts_;
  log_calls calls_{codex};
  std::string agent_, type_, folder_, branch_, model_, turn_, root_turn_;
  std::map<std::string, std::pair<std::string, json::object>> tools_;  // by call: name and input
  std::map<std::string, std::string> spawns_;
  usage_totals used_;
  bool is_known_ = false;     // the thread's own first line was read; a copy of its parent's may follow
  bool has_records_ = false;  // of usage, one a model call
  bool acts_ = false;
};

std::vector<call> rollout_reader::read() {
  read_lines(file_, counts_, [this](const json::object& line) { take(line); });
  if (acts_ && !agent_.empty()) {
    stop({});
    if (!calls_.empty()) calls_.last().is_inferred = true;
  }
  return calls_.take();
}

void rollout_reader::take(const json::object& line) {
  const json::object* payload = object_of(line, "payload");
  const auto ts = time_of(text_of(line, "timestamp"));
  if (payload == nullptr || !ts) return;
  calls_.set_time(*ts);
  const std::string type = text_of(line, "type");
  if (type == "session_meta") return take_thread(*payload);
  if (type == "event_msg") return take_event(*payload);
  if (type == "response_item") return take_item(*payload);
  if (type == "turn_context") {
    if (std::string model = text_of(*payload, "model"); !model.empty()) model_ = std::move(model);
  } else if (type == "token_usage_record") {
    has_records_ = true;
    ++used_.model_calls;
    if (const json::object* totals = object_of(*payload, "thread_token_usage")) take_usage(*totals);
  }
}

void rollout_reader::take_thread(const json::object& meta) {
  if (std::exchange(is_known_, true)) return;
  folder_ = text_of(meta, "cwd");
  if (const json::object* git = object_of(meta, "git")) branch_ = text_of(*git, "branch");
  const json::object* source = object_of(meta, "source");
  const json::object* subagent = source == nullptr ? nullptr : object_of(*source, "subagent");
  const json::object* spawn = subagent == nullptr ? nullptr : object_of(*subagent, "thread_spawn");
  if (spawn == nullptr) return;
  agent_ = text_of(meta, "id");
  type_ = text_of(*spawn, "agent_role");
  if (type_.empty()) type_ = "default";
}

void rollout_reader::take_event(const json::object& event) {
  const std::string type = text_of(event, "type");
  if (type == "task_started") return begin_turn(event);
  if (type == "user_message") return take_prompt(text_of(event, "message"));
  if (type == "task_complete") return stop(text_of(event, "last_agent_message"));
  if (type == "turn_aborted") {
    if (!agent_.empty()) return stop({});
    acts_ = false;
    add("SessionEnd", {});
    return;
  }
  if (type == "token_count" && !has_records_) {
    const json::object* info = object_of(event, "info");
    const json::object* totals = info == nullptr ? nullptr : object_of(*info, "total_token_usage");
    if (totals == nullptr) return;
    const usage_totals before = used_;
    take_usage(*totals);
    if (used_ != before) ++used_.model_calls;
    return;
  }
  const json::object* item = type == "item_completed" ? object_of(event, "item") : nullptr;
  if (item == nullptr || text_of(*item, "type") != "UserMessage") return;
  std::string text;
  if (const json::value* content = item->if_contains("content"); content != nullptr && content->is_array()) {
    for (const json::value& block : content->get_array()) {
      if (block.is_object()) text += text_of(block.get_object(), "text");
    }
  }
  take_prompt(text);
}

void rollout_reader::begin_turn(const json::object& event) {
  turn_ = text_of(event, "turn_id");
  root_turn_ = text_of(event, "root_turn_id");
  if (root_turn_.empty()) root_turn_ = turn_;
  acts_ = true;
  if (!agent_.empty()) add("SubagentStart", {});
}

void rollout_reader::take_prompt(const std::string& text) {
  if (agent_.empty()) add("UserPromptSubmit", {{"prompt", text}});
}

void rollout_reader::take_usage(const json::object& totals) {
  used_.input_tokens = count_of(totals, "input_tokens");
  used_.output_tokens = count_of(totals, "output_tokens");
}

void rollout_reader::take_item(const json::object& item) {
  const std::string type = text_of(item, "type");
  if (type == "function_call_output" || type == "custom_tool_call_output") return take_output(item);
  if (type != "function_call" && type != "custom_tool_call") return;
  // A subagent may begin with a copy of its parent's conversation.
  const json::object* about = object_of(item, "internal_chat_message_metadata_passthrough");
  const std::string turn = about == nullptr ? std::string() : text_of(*about, "turn_id");
  if (!acts_ || (!turn.empty() && turn != turn_)) return;
  json::value input = type == "function_call" ? parsed(text_of(item, "arguments"))
                                              : json::value(json::object{{"input", text_of(item, "input")}});
  auto& tool = tools_[text_of(item, "call_id")];
  tool = {text_of(item, "name"), input.is_object() ? std::move(input.get_object()) : json::object()};
  add("PreToolUse",
      {{"tool_use_id", text_of(item, "call_id")}, {"tool_name", tool.first}, {"tool_input", tool.second}});
}

void rollout_reader::take_output(const json::object& item) {
  const auto tool = tools_.find(text_of(item, "call_id"));
  if (tool == tools_.end()) return;
  json::object fields{
      {"tool_use_id", tool->first}, {"tool_name", tool->second.first}, {"tool_input", tool->second.second}};
  if (const json::value* output = item.if_contains("output")) fields["tool_response"] = *output;
  if (tool->second.first.ends_with("spawn_agent")) {
    const json::value response = parsed(text_of(item, "output"));
    const std::string id = response.is_object() ? text_of(response.get_object(), "agent_id") : std::string();
    if (id.empty()) return;  // refused: there is no agent
    spawns_[id] = tool->first;
  }
  add("PostToolUse", std::move(fields));
}

void rollout_reader::stop(const std::string& text) {
  acts_ = false;
  json::object fields;
  if (!text.empty()) fields["last_assistant_message"] = text;
  add(agent_.empty() ? "Stop" : "SubagentStop", std::move(fields));
}

call* rollout_reader::add(const char* hook, json::object fields) {
  fields["hook_event_name"] = hook;
  fields["session_id"] = session_;
  fields["turn_id"] = root_turn_;
  fields["cwd"] = folder_;
  fields["model"] = model_;
  if (!agent_.empty()) {
    fields["agent_id"] = agent_;
    fields["agent_type"] = type_;
  }
  call* made = calls_.add(fields);
  if (made == nullptr) return nullptr;
  made->branch = cut(branch_, call::max_id_bytes);
  made->usage = used_;
  return made;
}

}  // namespace

}  // namespace codex_log

imported_session import_codex_log(const std::string& id, const std::vector<log_file>& files,
                                  const log_options& options) {
  imported_session result;
  std::vector<std::vector<call>> logs;
  logs.reserve(files.size());
  std::map<std::string, std::string> spawns;
  for (const log_file& file : files) {
    codex_log::rollout_reader reader(id, file, result);
    logs.push_back(reader.read());
    for (const auto& [agent, tool_use] : reader.spawns()) spawns[agent] = tool_use;
  }
  for (std::vector<call>& log : logs) {
    for (call& each : log) {
      if (each.kind != call_kind::agent_started) continue;
      if (const auto spawn = spawns.find(each.agent); spawn != spawns.end()) each.tool_use = spawn->second;
    }
  }
  play_calls(codex, id, logs, options, result);
  return result;
}

}  // namespace digd::hooks
