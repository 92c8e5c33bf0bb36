// Gemini CLI: the recorded chats of a session and of its subagents, tried with version 0.61.0. A message is written
// again when it changes, so the last version counts. Inferred: a reply without tool calls ends the turn.
#include <algorithm>
#include <boost/json/array.hpp>
#include <map>
#include <utility>

#include "base/deep_json.h"
#include "ingest/hooks/log_calls.h"

namespace digd::hooks {

// Readers of logs have alike names; a unity build compiles several files as one.
namespace gemini_log {

namespace {

namespace json = boost::json;

const json::array* array_of(const json::object& from, std::string_view member) {
  const json::value* value = from.if_contains(member);
  return value == nullptr ? nullptr : value->if_array();
}

// The texts of a content: a text, or a list of parts.
std::string content_of(const json::object& message) {
  std::string text = text_of(message, "content");
  if (const json::array* parts = array_of(message, "content")) {
    for (const json::value& part : *parts) {
      if (part.is_object()) text += text_of(part.get_object(), "text");
    }
  }
  return text;
}

// What the tool answered; the result's name says whether it failed.
json::object response_of(const json::object& tool) {
  const json::array* result = array_of(tool, "result");
  if (result == nullptr || result->empty() || !result->front().is_object()) return {};
  const json::object* function = object_of(result->front().get_object(), "functionResponse");
  const json::object* response = function == nullptr ? nullptr : object_of(*function, "response");
  return response == nullptr ? json::object() : *response;
}

bool is_programs_own(std::string_view text) {
  return text.starts_with("<session_context>") || text.starts_with("System: Potential loop detected.");
}

struct spawn {
  std::string type, tool_use;
};

// Reads one chat into messages, and messages into hook calls.
class chat_reader {
 public:
  chat_reader(const std::string& session, const log_file& file, imported_session& counts)
      : session_(session), file_(file) {
    read_messages(counts);
  }

  bool is_subagent() const { return is_subagent_; }
  const std::string& thread() const { return thread_; }
  // Adds the subagents that this chat's calls ran, by their chats' ids.
  void find_spawns(std::map<std::string, spawn>& into) const;
  std::vector<call> read(const std::map<std::string, spawn>& spawns);

 private:
  void read_messages(imported_session& counts);
  void take(const json::object& line);
  void take_message(const json::object& message);
  void read_reply(const json::object& reply, bool is_last);
  void read_call(const json::object& tool);
  void count(const json::object& reply);
  call* add(const char* hook, json::object fields);

  const std::string& session_;
  const log_file& file_;
  std::string thread_, folder_;
  bool is_subagent_ = false;
  std::vector<json::object> messages_;
  std::map<std::string, std::size_t> places_;  // of messages, by id
  log_calls calls_{gemini};
  std::string model_;
  usage_totals used_;
};

void chat_reader::read_messages(imported_session& counts) {
  json::error_code ec;
  folder_ = file_.folder;
  // Older versions write one object, over many lines.
  const std::size_t end = file_.text.find('\n');
  const bool is_object = file_.text.substr(0, end).find_first_not_of("{ \r\t") == std::string::npos;
  const json::value whole = is_object ? parse_json(file_.text, ec) : json::value();
  if (whole.is_object() && !ec) return take(whole.get_object());
  read_lines(file_, counts, [this](const json::object& line) { take(line); });
}

void chat_reader::take(const json::object& line) {
  if (std::string id = text_of(line, "sessionId"); !id.empty() && thread_.empty()) {
    thread_ = std::move(id);
    is_subagent_ = text_of(line, "kind") == "subagent";
  }
  const json::object* set = object_of(line, "$set");
  if (const json::array* messages = array_of(set == nullptr ? line : *set, "messages")) {
    for (const json::value& message : *messages) {
      if (message.is_object()) take_message(message.get_object());
    }
  }
  if (line.contains("type")) take_message(line);
}

void chat_reader::take_message(const json::object& message) {
  const std::string id = text_of(message, "id");
  if (id.empty()) return;
  const auto [place, is_new] = places_.emplace(id, messages_.size());
  if (model_.empty()) model_ = text_of(message, "model");
  if (is_new) return messages_.push_back(message);
  messages_[place->second] = message;
}

void chat_reader::find_spawns(std::map<std::string, spawn>& into) const {
  for (const json::object& message : messages_) {
    const json::array* tools = array_of(message, "toolCalls");
    if (tools == nullptr) continue;
    for (const json::value& tool : *tools) {
      const json::object* fields = tool.if_object();
      if (fields == nullptr || text_of(*fields, "agentId").empty()) continue;
      const json::object* input = object_of(*fields, "args");
      into[text_of(*fields, "agentId")] = {.type = input == nullptr ? std::string() : text_of(*input, "agent_name"),
                                           .tool_use = text_of(*fields, "id")};
    }
  }
}

std::vector<call> chat_reader::read(const std::map<std::string, spawn>& spawns) {
  const auto started = spawns.find(thread_);
  bool begins = is_subagent_;
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    const json::object& message = messages_[i];
    if (const auto ts = time_of(text_of(message, "timestamp"))) calls_.set_time(*ts);
    if (std::exchange(begins, false) && started != spawns.end()) {
      call made;
      made.kind = call_kind::agent_started;
      made.session = session_;
      made.agent = cut(thread_, call::max_id_bytes);
      made.agent_type = cut(started->second.type, call::max_id_bytes);
      made.tool_use = cut(started->second.tool_use, call::max_id_bytes);
      calls_.add(std::move(made));
    }
    const std::string type = text_of(message, "type");
    if (type == "gemini") {
      const bool is_last = i + 1 == messages_.size() || text_of(messages_[i + 1], "type") != "gemini";
      read_reply(message, is_last);
    } else if (type == "user" && !is_subagent_) {
      const std::string text = content_of(message);
      if (text.empty() || is_programs_own(text)) continue;
      add("BeforeAgent", {{"prompt", text}, {"timestamp", text_of(message, "timestamp")}});
    }
  }
  if (is_subagent_) add("SubagentUsage", {});  // no hook of the program: it only carries the usage of the last reply
  return calls_.take();
}

void chat_reader::count(const json::object& reply) {
  if (std::string model = text_of(reply, "model"); !model.empty()) model_ = std::move(model);
  const json::object* tokens = object_of(reply, "tokens");
  if (tokens == nullptr) return;
  used_.input_tokens += count_of(*tokens, "input");
  used_.output_tokens += count_of(*tokens, "output") + count_of(*tokens, "thoughts");
  ++used_.model_calls;
}

void chat_reader::read_reply(const json::object& reply, bool is_last) {
  count(reply);
  const json::array* tools = array_of(reply, "toolCalls");
  if (tools == nullptr || tools->empty()) {
    if (is_subagent_ || !is_last) return;
    call* made = add("AfterAgent", {{"prompt_response", content_of(reply)}});
    if (made != nullptr) made->is_inferred = true;
    return;
  }
  std::vector<std::pair<std::int64_t, const json::object*>> ended;
  // Reads spawns last: a call without an agent's id would count as that of a subagent that has no id yet.
  for (const bool is_spawn : {false, true}) {
    for (const json::value& tool : *tools) {
      const json::object* fields = tool.if_object();
      if (fields != nullptr && (text_of(*fields, "name") == "invoke_agent") == is_spawn) read_call(*fields);
    }
  }
  for (const json::value& tool : *tools) {
    const json::object* fields = tool.if_object();
    if (fields == nullptr) continue;
    if (const auto ts = time_of(text_of(*fields, "timestamp"))) ended.emplace_back(*ts, fields);
  }
  std::stable_sort(ended.begin(), ended.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [ts, tool] : ended) {
    calls_.set_time(ts);
    json::object response = response_of(*tool);
    if (const json::value* output = response.if_contains("output")) response["llmContent"] = *output;
    if (text_of(*tool, "status") != "success" && !response.contains("error")) response["error"] = "it did not succeed";
    if (const json::object* display = object_of(*tool, "resultDisplay")) response["returnDisplay"] = *display;
    json::object fields{{"tool_name", text_of(*tool, "name")}, {"tool_response", std::move(response)}};
    if (const json::object* input = object_of(*tool, "args")) fields["tool_input"] = *input;
    call* made = add("AfterTool", std::move(fields));
    if (made == nullptr) continue;
    made->tool_use = cut(text_of(*tool, "id"), call::max_id_bytes);
    made->bound_agent = cut(text_of(*tool, "agentId"), call::max_id_bytes);
  }
}

void chat_reader::read_call(const json::object& tool) {
  json::object fields{{"tool_name", text_of(tool, "name")}};
  if (const json::object* input = object_of(tool, "args")) fields["tool_input"] = *input;
  call* made = add("BeforeTool", std::move(fields));
  if (made != nullptr) made->tool_use = cut(text_of(tool, "id"), call::max_id_bytes);
}

call* chat_reader::add(const char* hook, json::object fields) {
  fields["hook_event_name"] = hook;
  fields["session_id"] = session_;
  fields["cwd"] = folder_;
  call* made = calls_.add(fields);
  if (made == nullptr) return nullptr;
  if (is_subagent_) made->agent = cut(thread_, call::max_id_bytes);
  made->model = cut(model_, call::max_id_bytes);
  made->usage = used_;
  return made;
}

}  // namespace

}  // namespace gemini_log

imported_session import_gemini_log(const std::string& id, const std::vector<log_file>& files,
                                   const log_options& options) {
  imported_session result;
  std::vector<gemini_log::chat_reader> chats;
  std::map<std::string, gemini_log::spawn> spawns;
  chats.reserve(files.size());
  for (const log_file& file : files) {
    chats.emplace_back(id, file, result);
    chats.back().find_spawns(spawns);
  }
  std::vector<std::vector<call>> logs;
  logs.reserve(chats.size());
  for (gemini_log::chat_reader& chat : chats) {
    // Without the call that ran it, a subagent's chat has no place in the session.
    if (chat.is_subagent() && !spawns.contains(chat.thread())) continue;
    logs.push_back(chat.read(spawns));
  }
  play_calls(gemini, id, logs, options, result);
  return result;
}

}  // namespace digd::hooks
