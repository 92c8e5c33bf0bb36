#include "cli/settings_file.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string_view>

#include "base/indented_json.h"

namespace digd::cli {

namespace {

namespace json = boost::json;

bool contains(const json::object& handler, std::string_view member, std::string_view text) {
  const json::value* value = handler.if_contains(member);
  if (value == nullptr || !value->is_string()) return false;
  return std::string_view(value->get_string()).find(text) != std::string_view::npos;
}

bool is_ours(const json::value& handler, const hooked_program& program) {
  const json::object* fields = handler.if_object();
  const std::string name(program.name);
  return fields != nullptr &&
         (contains(*fields, "url", "/v1/hooks/" + name) || contains(*fields, "command", "digctl hook " + name));
}

std::size_t remove_from(json::array& entries, const hooked_program& program) {
  std::size_t removed = 0;
  for (auto entry = entries.begin(); entry != entries.end();) {
    json::object* fields = entry->if_object();
    json::value* handlers = fields == nullptr ? nullptr : fields->if_contains("hooks");
    if (handlers == nullptr || !handlers->is_array()) {
      ++entry;
      continue;
    }
    json::array& list = handlers->get_array();
    const std::size_t before = list.size();
    for (auto handler = list.begin(); handler != list.end();) {
      handler = is_ours(*handler, program) ? list.erase(handler) : handler + 1;
    }
    removed += before - list.size();
    entry = before > 0 && list.empty() ? entries.erase(entry) : entry + 1;
  }
  return removed;
}

// boost::json writes 0.7 as 7E-1.
std::string decimal(double number) {
  std::string out = fmt::format("{}", number);
  return out.find_first_not_of("-0123456789") == std::string::npos ? out + ".0" : out;
}

std::optional<std::string> one_line(const json::value& value) {
  if (value.is_double()) return decimal(value.get_double());
  return value.is_structured() ? std::nullopt : std::optional(json::serialize(value));
}

}  // namespace

const hooked_program& claude_code_settings() {
  static const hooked_program program = {
      .name = "claude-code",
      .title = "Claude Code",
      .hooks = {"UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionDenied",
                "SubagentStart", "SubagentStop", "Stop", "StopFailure", "SessionEnd", "PostModelSwitch",
                "SessionStart"}};
  return program;
}

const hooked_program& codex_settings() {
  static const hooked_program program = {.name = "codex",
                                         .title = "Codex",
                                         .hooks = {"UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart",
                                                   "SubagentStop", "Stop", "Interrupt", "SessionEnd"}};
  return program;
}

const hooked_program& gemini_settings() {
  static const hooked_program program = {
      .name = "gemini",
      .title = "Gemini CLI",
      .hooks = {"BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"}};
  return program;
}

std::size_t remove_hooks(json::object& settings, const hooked_program& program) {
  json::value* found = settings.if_contains("hooks");
  json::object* hooks = found == nullptr ? nullptr : found->if_object();
  if (hooks == nullptr) return 0;
  std::size_t removed = 0;
  std::vector<std::string> empty;
  for (auto& [name, entries] : *hooks) {
    if (!entries.is_array()) continue;
    const std::size_t from_here = remove_from(entries.get_array(), program);
    removed += from_here;
    if (from_here > 0 && entries.get_array().empty()) empty.emplace_back(name);
  }
  for (const std::string& name : empty) hooks->erase(name);
  if (removed > 0 && hooks->empty()) settings.erase("hooks");
  return removed;
}

void add_hook(json::object& settings, std::string_view hook, const json::object& handler) {
  json::value& found = settings["hooks"];
  if (!found.is_object()) found = json::object();
  json::value& entries = found.get_object()[hook];
  if (!entries.is_array()) entries = json::array();
  entries.get_array().push_back(json::object{{"hooks", json::array{handler}}});
}

std::string indented(const json::value& value) {
  std::string out;
  append_indented(out, value, one_line);
  return out + '\n';
}

}  // namespace digd::cli
