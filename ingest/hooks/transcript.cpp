#include "ingest/hooks/transcript.h"

#include <unordered_map>

#include "base/deep_json.h"
#include "ingest/hooks/dialect.h"

namespace digd::hooks {

namespace json = boost::json;

namespace {

// A line of Codex: {"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{…}}}}, after each
// reply of its model, or {"type":"turn_context","payload":{"model":…}}.
void read_codex_line(const json::object& entry, transcript_facts& into) {
  const json::object* payload = object_of(entry, "payload");
  if (payload == nullptr) return;
  if (text_of(entry, "type") == "turn_context") into.model = text_of(*payload, "model");
  const json::object* info = object_of(*payload, "info");
  const json::object* totals = info == nullptr ? nullptr : object_of(*info, "total_token_usage");
  if (totals == nullptr || text_of(*payload, "type") != "token_count") return;
  into.usage = {.input_tokens = count_of(*totals, "input_tokens"),
                .output_tokens = count_of(*totals, "output_tokens"),
                .model_calls = into.usage.model_calls + 1};
}

}  // namespace

usage_totals usage_of(const json::object& usage) {
  return {.input_tokens = count_of(usage, "input_tokens") + count_of(usage, "cache_creation_input_tokens") +
                          count_of(usage, "cache_read_input_tokens"),
          .output_tokens = count_of(usage, "output_tokens"),
          .model_calls = 1};
}

std::string model_of(const json::object& reply) {
  std::string model = text_of(reply, "model");
  return model == "<synthetic>" ? std::string() : model;
}

bool is_long_transcript_read(std::string_view hook_name) { return hook_name != "PreToolUse"; }

std::string subagent_file(const json::object& hook, std::string_view suffix) {
  std::string session = text_of(hook, "transcript_path");
  const std::string agent = text_of(hook, "agent_id");
  if (session.empty() || agent.empty() || agent.find('/') != std::string::npos) return {};
  constexpr std::string_view extension = ".jsonl";
  if (session.ends_with(extension)) session.resize(session.size() - extension.size());
  return session + "/subagents/agent-" + agent + std::string(suffix);
}

std::string transcript_for(std::string_view program, const json::object& hook) {
  const std::string name = text_of(hook, "hook_event_name");
  if (name == "UserPromptSubmit" || name == "Stop") return text_of(hook, "transcript_path");
  if (name == "SubagentStop") return text_of(hook, "agent_transcript_path");
  if (name != "PreToolUse") return {};
  // A subagent of Codex names its own transcript, one of Claude Code that of its session.
  const bool is_own = program == codex.name || text_of(hook, "agent_id").empty();
  return is_own ? text_of(hook, "transcript_path") : subagent_file(hook, ".jsonl");
}

transcript_facts read_transcript(std::string_view lines) {
  transcript_facts facts;
  std::unordered_map<std::string, usage_totals> replies;  // by the reply's id: the last line has its final usage
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    const bool is_codex = line.find("\"token_count\"") != std::string_view::npos ||
                          line.find("\"turn_context\"") != std::string_view::npos;
    if (!is_codex && line.find("\"usage\"") == std::string_view::npos) continue;
    json::error_code ec;
    const json::value value = parse_json(line, ec);
    const json::object* entry = ec ? nullptr : value.if_object();
    if (entry != nullptr && entry->contains("payload")) {
      read_codex_line(*entry, facts);
      continue;
    }
    const json::object* reply = entry == nullptr ? nullptr : object_of(*entry, "message");
    const json::object* usage = reply == nullptr ? nullptr : object_of(*reply, "usage");
    if (usage == nullptr || text_of(*reply, "role") != "assistant") continue;
    replies[text_of(*reply, "id")] = usage_of(*usage);
    if (std::string model = model_of(*reply); !model.empty()) facts.model = std::move(model);
  }
  for (const auto& [id, usage] : replies) {
    facts.usage.input_tokens += usage.input_tokens;
    facts.usage.output_tokens += usage.output_tokens;
    facts.usage.model_calls += 1;
  }
  return facts;
}

}  // namespace digd::hooks
