// opencode: the rows of its database, tried with version 1.18.33, or the files of versions before that, tried with
// 1.1.65. A subagent has a session of its own; the `task` call that runs it names that session.
#include <algorithm>
#include <map>
#include <utility>

#include "ingest/hooks/log_calls.h"

namespace digd::hooks {

// Readers of logs have alike names; a unity build compiles several files as one.
namespace opencode_log {

namespace {

namespace json = boost::json;

struct message {
  std::string id;
  std::int64_t created = 0;
  json::object data;
  std::vector<json::object> parts;
};

struct thread {
  std::string id, parent, folder, type;
  std::vector<message> messages;
};

// Tool calls that ran a subagent, by the subagent's session.
using spawn_map = std::map<std::string, std::string>;

const json::object* state_of(const json::object& part) {
  return text_of(part, "type") == "tool" ? object_of(part, "state") : nullptr;
}

std::string task_session_of(const json::object& state) {
  const json::object* metadata = object_of(state, "metadata");
  return metadata == nullptr ? std::string() : text_of(*metadata, "sessionId");
}

std::int64_t time_of(const json::object& from, std::string_view member, std::int64_t otherwise) {
  const json::object* time = object_of(from, "time");
  const std::int64_t found = time == nullptr ? 0 : count_of(*time, member);
  return found > 0 ? found : otherwise;
}

// Reads the rows of a session and of its subagents.
class row_reader {
 public:
  explicit row_reader(std::map<std::string, thread>& threads) : threads_(threads) {}

  void take(const json::object& line) {
    if (const json::object* row = object_of(line, "session")) return take_session(*row);
    if (const json::object* row = object_of(line, "message")) return take_message(*row);
    if (const json::object* row = object_of(line, "part")) take_part(*row);
  }

 private:
  void take_session(const json::object& row) {
    thread& made = threads_[text_of(row, "id")];
    made.id = text_of(row, "id");
    made.parent = text_of(row, "parent_id");
    made.folder = text_of(row, "directory");
    made.type = text_of(row, "agent");
  }

  void take_message(const json::object& row) {
    const auto of = threads_.find(text_of(row, "session_id"));
    const json::object* data = object_of(row, "data");
    if (of == threads_.end() || data == nullptr) return;
    // Before the database, only messages named the agent.
    if (of->second.type.empty()) of->second.type = text_of(*data, "agent");
    const auto [place, is_new] = places_.emplace(text_of(row, "id"), std::pair{of->first, of->second.messages.size()});
    if (!is_new) return;
    of->second.messages.push_back(
        {.id = text_of(row, "id"), .created = time_of(*data, "created", 0), .data = *data, .parts = {}});
  }

  void take_part(const json::object& row) {
    const auto place = places_.find(text_of(row, "message_id"));
    const json::object* data = object_of(row, "data");
    if (place == places_.end() || data == nullptr) return;
    const auto& [of, at] = place->second;
    threads_[of].messages[at].parts.push_back(*data);
  }

  std::map<std::string, thread>& threads_;
  std::map<std::string, std::pair<std::string, std::size_t>> places_;  // of messages: session and index
};

// Turns the messages of one session into hook calls.
class thread_reader {
 public:
  thread_reader(const std::string& session, const thread& from, const spawn_map& spawns)
      : session_(session), from_(from), spawns_(spawns) {}

  std::vector<call> read() {
    for (const message& each : from_.messages) {
      calls_.set_time(each.created);
      if (text_of(each.data, "role") == "user") {
        read_prompt(each);
      } else {
        read_reply(each);
      }
    }
    return calls_.take();
  }

 private:
  bool is_subagent() const { return from_.id != session_; }

  void read_prompt(const message& of) {
    std::string text;
    bool is_written = false;
    for (const json::object& part : of.parts) {
      if (text_of(part, "type") != "text") continue;
      text += text_of(part, "text");
      is_written = is_written || !is_true(part, "synthetic");
    }
    if (!is_written) return;  // the program's own
    if (const json::object* model = object_of(of.data, "model")) model_ = text_of(*model, "modelID");
    prompt_ = of.id;
    call* made = add("chat.message", {{"text", text}});
    if (made == nullptr || !is_subagent()) return;
    if (const auto spawn = spawns_.find(from_.id); spawn != spawns_.end()) {
      made->tool_use = cut(spawn->second, call::max_id_bytes);
    }
  }

  void read_reply(const message& of) {
    // Calls of tools run side by side: what began and what ended, by time.
    std::vector<std::pair<std::int64_t, std::pair<const json::object*, bool>>> steps;
    std::string text;
    for (const json::object& part : of.parts) {
      if (text_of(part, "type") == "text") text = text_of(part, "text");
      if (text_of(part, "type") == "step-finish") count(part);
      const json::object* state = state_of(part);
      if (state == nullptr) continue;
      const std::int64_t begin = time_of(*state, "start", of.created);
      steps.push_back({begin, {&part, false}});
      const std::string status = text_of(*state, "status");
      if (status == "completed" || status == "error") steps.push_back({time_of(*state, "end", begin), {&part, true}});
    }
    std::stable_sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [ts, step] : steps) {
      calls_.set_time(ts);
      read_tool(*step.first, step.second);
    }
    calls_.set_time(time_of(of.data, "completed", of.created));
    const std::string finish = text_of(of.data, "finish");
    const bool is_last = !finish.empty() && finish != "tool-calls" && finish != "unknown";
    if (is_last) add("session.idle", {{"text", text}});
  }

  void read_tool(const json::object& part, bool is_done) {
    const json::object& state = *state_of(part);
    json::object fields{{"tool_name", text_of(part, "tool")}, {"tool_use_id", text_of(part, "callID")}};
    if (const json::object* input = object_of(state, "input")) fields["tool_input"] = *input;
    if (!is_done) {
      add("tool.execute.before", std::move(fields));
    } else if (text_of(state, "status") == "error") {
      fields["error"] = text_of(state, "error");
      add("tool.error", std::move(fields));
    } else {
      fields["output"] = text_of(state, "output");
      fields["task_session_id"] = task_session_of(state);
      add("tool.execute.after", std::move(fields));
    }
  }

  void count(const json::object& part) {
    const json::object* tokens = object_of(part, "tokens");
    if (tokens == nullptr) return;
    used_.input_tokens += count_of(*tokens, "input");
    used_.output_tokens += count_of(*tokens, "output") + count_of(*tokens, "reasoning");
    if (const json::object* cache = object_of(*tokens, "cache")) {
      used_.input_tokens += count_of(*cache, "read") + count_of(*cache, "write");
    }
    ++used_.model_calls;
  }

  call* add(const char* hook, json::object fields) {
    fields["hook_event_name"] = hook;
    fields["session_id"] = session_;
    fields["prompt_id"] = prompt_;
    fields["cwd"] = from_.folder;
    fields["model"] = model_;
    if (is_subagent()) {
      fields["agent_id"] = from_.id;
      fields["agent_type"] = from_.type;
    }
    call* made = calls_.add(fields);
    if (made != nullptr) made->usage = used_;
    return made;
  }

  const std::string& session_;
  const thread& from_;
  const spawn_map& spawns_;
  log_calls calls_{opencode};
  std::string prompt_, model_;
  usage_totals used_;
};

}  // namespace

}  // namespace opencode_log

imported_session import_opencode_log(const std::string& id, const std::vector<log_file>& files,
                                     const log_options& options) {
  imported_session result;
  std::map<std::string, opencode_log::thread> threads;
  opencode_log::row_reader rows(threads);
  for (const log_file& file : files) {
    read_lines(file, result, [&](const boost::json::object& line) { rows.take(line); });
  }
  opencode_log::spawn_map spawns;
  for (auto& [name, thread] : threads) {
    // Files are read by their names, which a wrapping clock begins.
    std::stable_sort(thread.messages.begin(), thread.messages.end(),
                     [](const auto& a, const auto& b) { return a.created < b.created; });
    for (const auto& message : thread.messages) {
      for (const auto& part : message.parts) {
        const boost::json::object* state = opencode_log::state_of(part);
        if (state == nullptr) continue;
        if (const std::string child = opencode_log::task_session_of(*state); !child.empty()) {
          spawns[child] = text_of(part, "callID");
        }
      }
    }
  }
  std::vector<std::vector<call>> logs;
  logs.reserve(threads.size());
  for (const auto& [name, thread] : threads) {
    logs.push_back(opencode_log::thread_reader(id, thread, spawns).read());
  }
  play_calls(opencode, id, logs, options, result);
  return result;
}

}  // namespace digd::hooks
