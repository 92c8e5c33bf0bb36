#include "ingest/importers/trajectory_readers.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <vector>

#include "base/text.h"

namespace digd::importers {
namespace json = boost::json;

namespace {

constexpr std::string_view environment = "environment";

const json::value* member(const json::object& o, std::string_view key) {
  const auto* found = o.if_contains(key);
  return found != nullptr && !found->is_null() ? found : nullptr;
}

std::string_view text_of(const json::object& o, std::string_view key) {
  const auto* found = member(o, key);
  return found != nullptr && found->is_string() ? std::string_view(found->get_string()) : std::string_view();
}

const json::object* object_of(const json::object& o, std::string_view key) {
  const auto* found = member(o, key);
  return found != nullptr ? found->if_object() : nullptr;
}

// The text of a content: a string, a list of parts with `text` or `content`, or any other JSON.
std::string flat(const json::value& v) {
  if (v.is_null()) return {};
  if (v.is_string()) return std::string(v.get_string());
  std::string out;
  if (const auto* parts = v.if_array()) {
    for (const auto& part : *parts) {
      const auto* o = part.if_object();
      std::string text;
      if (o != nullptr && member(*o, "text") != nullptr) text = flat(*member(*o, "text"));
      else if (o != nullptr && member(*o, "name") == nullptr && member(*o, "content") != nullptr)
        text = flat(*member(*o, "content"));
      else text = part.is_string() ? std::string(part.get_string()) : json::serialize(part);
      out += (out.empty() ? "" : "\n") + text;
    }
    return out;
  }
  return json::serialize(v);
}

std::string flat(const json::object& o, std::string_view key) {
  const auto* found = member(o, key);
  return found != nullptr ? flat(*found) : std::string();
}

// `metagpt.roles.engineer.Engineer` is the role `Engineer`.
std::string_view last_part(std::string_view name) {
  const auto dot = name.rfind('.');
  return dot == std::string_view::npos || dot + 1 == name.size() ? name : name.substr(dot + 1);
}

bool is_user(std::string_view name) { return name.empty() || name == "user" || name == "Human" || name == "human"; }

class trajectory_reader {
 public:
  trajectory_reader(json_reader& reader, name_table& names, std::size_t max_items, trajectory& into)
      : reader_(reader), names_(names), max_items_(max_items), into_(into) {}

  void read(framework from, const json::object& top) {
    read_grade(top);
    switch (from) {
      case framework::metagpt: return read_metagpt(top);
      case framework::ag2: return read_messages(top, false);
      case framework::magentic_one: return read_messages(top, true);
      case framework::hyperagent: return read_hyperagent(top);
      case framework::openhands: return read_openhands(top);
      case framework::swe_agent: return read_swe_agent(top);
    }
  }

 private:
  void read_grade(const json::object& top) {
    for (const std::string_view key : {"is_correct", "is_corrected", "correct"}) {
      const auto* found = member(top, key);
      if (found != nullptr && found->is_bool()) into_.log.correct = found->get_bool();
    }
  }

  // The first of these members that is a list.
  const json::array* list(const json::object& top, std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) {
      const auto* found = member(top, key);
      if (found == nullptr || !found->is_array()) continue;
      if (found->get_array().size() > max_items_) {
        reader_.fail(import_errc::too_large, key,
                     "has " + std::to_string(found->get_array().size()) + " entries, the limit is " +
                         std::to_string(max_items_));
        return nullptr;
      }
      return &found->get_array();
    }
    std::string wanted;
    for (const std::string_view key : keys) wanted += (wanted.empty() ? "" : ", ") + std::string(key);
    reader_.fail(import_errc::wrong_shape, {}, "expected a list in one of the members " + wanted);
    return nullptr;
  }

  const json::object* entry(const json::array& list, std::size_t i) {
    const auto* o = list[i].if_object();
    if (o == nullptr) reader_.fail(import_errc::wrong_shape, "[" + std::to_string(i) + ']', "expected an object");
    return o;
  }

  turn& add(std::string_view agent, std::string text, std::string_view role = {}) {
    turn& t = into_.log.turns.emplace_back();
    t.agent = names_.safe(agent);
    t.role = role.empty() ? t.agent : role;
    t.text = into_.texts.emplace_back(std::move(text));
    return t;
  }

  void add_human(std::string text) { add("human", std::move(text)).form = step_form::human; }

  // ---- MetaGPT: the messages of an environment's history, or of a role's memory
  void read_metagpt(const json::object& top) {
    const json::object* holder = &top;
    for (const std::string_view key : {"env", "history"}) {
      if (const auto* inner = object_of(*holder, key)) holder = inner;
    }
    const auto* messages = list(*holder, {"storage", "history", "messages", "events"});
    for (std::size_t i = 0; messages != nullptr && i < messages->size(); ++i) {
      const auto* m = entry(*messages, i);
      if (m == nullptr) return;
      std::string_view from = last_part(text_of(*m, "sent_from"));
      const bool asks = last_part(text_of(*m, "cause_by")) == "UserRequirement";
      if (from.empty() && !is_user(text_of(*m, "role"))) from = text_of(*m, "role");
      if (asks || is_user(from)) {
        add_human(flat(*m, "content"));
        continue;
      }
      turn& t = add(from, flat(*m, "content"), text_of(*m, "role"));
      const auto* to = member(*m, "send_to");
      if (to == nullptr || !to->is_array()) continue;
      for (const auto& each : to->get_array()) {
        if (!each.is_string()) continue;
        const std::string_view name = last_part(each.get_string());
        if (name == "<all>" || name == "<none>") continue;
        if (is_user(name)) t.final = true;
        else t.addressees.push_back(names_.safe(name));
      }
    }
  }

  // ---- AG2 (`name`) and AutoGen 0.4 with Magentic-One (`source`)
  void read_messages(const json::object& top, bool orchestrated) {
    const auto* messages = list(top, {"messages", "chat_history", "trajectory", "history", "events"});
    for (std::size_t i = 0; messages != nullptr && i < messages->size(); ++i) {
      const auto* m = entry(*messages, i);
      if (m == nullptr) return;
      std::string text = flat(*m, "content");
      for (const std::string_view key : {"tool_calls", "function_call"}) {
        if (const auto* calls = member(*m, key)) text += (text.empty() ? "" : "\n") + json::serialize(*calls);
      }
      std::string_view from = text_of(*m, orchestrated ? "source" : "name");
      if (from.empty()) from = text_of(*m, orchestrated ? "name" : "source");
      if (from.empty()) from = text_of(*m, "role");
      // A conversation of AG2 begins with the task. The agent that states it stands for the user.
      if ((orchestrated && is_user(from)) || i == 0) {
        add_human(std::move(text));
        continue;
      }
      const role_parts parts = parse_role(from);
      turn& t = add(parts.agent.empty() ? from : parts.agent, std::move(text), from);
      if (!parts.addressee.empty()) t.addressees = {names_.safe(parts.addressee)};
      if (parts.form == step_form::thought || parts.form == step_form::termination) t.form = parts.form;
      t.final = text_of(*m, "type") == "StopMessage" || (orchestrated && answers_user(top, *messages, i, from));
    }
    into_.log.addresses_in_text = !orchestrated;
  }

  // The orchestrator's last message, of a team that stopped because it had an answer, is for the user.
  static bool answers_user(const json::object& top, const json::array& messages, std::size_t i, std::string_view from) {
    const std::string_view reason = text_of(top, "stop_reason");
    return i + 1 == messages.size() && from.find("Orchestrator") != std::string_view::npos && !reason.empty() &&
           reason.find("aximum") == std::string_view::npos;
  }

  // ---- HyperAgent: the lines of a log. A line without a speaker belongs to the turn before.
  void read_hyperagent(const json::object& top) {
    const auto* lines = list(top, {"trajectory", "events"});
    if (lines == nullptr) return;
    if (const auto* problem = member(top, "problem_statement")) add_human(flat(*problem));
    std::string speaker, to, text;
    const auto flush = [&] {
      if (speaker.empty()) return;
      const bool final = trimmed(text).starts_with("Final Answer") || text.find("\nFinal Answer") != std::string::npos;
      turn& t = add(speaker, std::move(text));
      if (!to.empty()) t.addressees = {names_.safe(to)};
      t.final = final;
      speaker.clear();
      to.clear();
      text.clear();
    };
    for (std::size_t i = 0; i < lines->size(); ++i) {
      const auto* s = (*lines)[i].if_string();
      if (s == nullptr) {
        return reader_.fail(import_errc::wrong_shape, "trajectory[" + std::to_string(i) + ']', "expected a string");
      }
      std::string_view line = *s;
      if (const auto info = line.find(" - INFO - "); info != std::string_view::npos) {
        flush();
        line.remove_prefix(info + std::string_view(" - INFO - ").size());
      }
      constexpr std::string_view response = "'s Response: ";
      const auto newline = std::min(line.find('\n'), line.size());
      const auto says = line.substr(0, newline).find(response);
      const auto arrow = line.substr(0, newline).find("->Planner:");
      if (says != std::string_view::npos) {
        flush();
        speaker = line.substr(0, says);
        line.remove_prefix(says + response.size());
      } else if (arrow != std::string_view::npos) {
        flush();
        speaker = line.substr(0, arrow);
        to = "Planner";
        line.remove_prefix(arrow + std::string_view("->Planner:").size());
      }
      constexpr std::string_view intern = "Intern Name:";
      const auto named = line.find(intern);
      if (speaker == "Planner" && named != std::string_view::npos && (named == 0 || line[named - 1] == '\n')) {
        const auto rest = line.substr(named + intern.size());
        to = trimmed(rest.substr(0, std::min(rest.find('\n'), rest.size())));
      }
      if (!speaker.empty()) (text += text.empty() ? "" : "\n") += trimmed(line);
    }
    flush();
  }

  // ---- OpenHands: events with `action` or `observation`; the SDK's with `kind`
  void read_openhands(const json::object& top) {
    const auto* events = list(top, {"history", "trajectory", "events"});
    std::vector<std::string> working{"agent"};  // the agent, and those that it delegated to
    for (std::size_t i = 0; events != nullptr && i < events->size() && !reader_.failed(); ++i) {
      if (const auto* pair = (*events)[i].if_array()) {  // older files: an action with its observation
        for (std::size_t k = 0; k < pair->size(); ++k) {
          if (const auto* e = entry(*pair, k)) read_event(*e, working);
        }
      } else if (const auto* e = entry(*events, i)) {
        read_event(*e, working);
      }
    }
  }

  void read_event(const json::object& e, std::vector<std::string>& working) {
    if (const std::string_view kind = text_of(e, "kind"); !kind.empty()) return read_sdk_event(e, kind, working.back());
    const std::string_view action = text_of(e, "action"), observation = text_of(e, "observation");
    const auto* args = object_of(e, "args");
    if (action == "message" && text_of(e, "source") == "user") {
      return add_human(args != nullptr ? flat(*args, "content") : flat(e, "message"));
    }
    for (const std::string_view silent :
         {"recall", "null", "change_agent_state", "system", "condensation", "agent_state_changed", "condense"}) {
      if (action == silent || observation == silent) return;
    }
    if (!observation.empty()) {
      if (observation == "delegate" && working.size() > 1) {
        add(working.back(), flat(e, "content")).addressees = {names_.safe(working[working.size() - 2])};
        working.pop_back();
      } else if (observation != "think") {
        add(environment, flat(e, "content"), observation);
      }
      return;
    }
    if (action.empty()) return;
    std::string text;
    if (args != nullptr) {
      for (const std::string_view key :
           {"thought", "final_thought", "content", "command", "code", "path", "url", "browser_actions", "inputs"}) {
        const std::string part = flat(*args, key);
        if (!part.empty()) text += (text.empty() ? "" : "\n") + part;
      }
    }
    turn& t = add(working.back(), text.empty() ? std::string(action) : text, action);
    t.final = action == "finish" && working.size() == 1;
    if (action == "think") t.form = step_form::thought;
    if (action == "message" && working.size() == 1) t.final = true;  // to the user
    if (action == "delegate" && args != nullptr && !text_of(*args, "agent").empty()) {
      t.addressees = {names_.safe(text_of(*args, "agent"))};
      working.emplace_back(text_of(*args, "agent"));
    }
  }

  void read_sdk_event(const json::object& e, std::string_view kind, const std::string& agent) {
    if (kind == "MessageEvent") {
      const auto* message = object_of(e, "llm_message");
      std::string text = message != nullptr ? flat(*message, "content") : std::string();
      if (text_of(e, "source") == "user") return add_human(std::move(text));
      add(agent, std::move(text)).final = true;
    } else if (kind == "ActionEvent") {
      const std::string_view tool = text_of(e, "tool_name");
      std::string text = flat(e, "thought");
      if (const auto* action = member(e, "action")) text += (text.empty() ? "" : "\n") + json::serialize(*action);
      add(agent, std::move(text), tool).final = tool == "finish";
    } else if (kind == "ObservationEvent" && text_of(e, "tool_name") != "finish") {
      add(environment, flat(e, "observation"), text_of(e, "tool_name"));
    } else if (kind == "AgentErrorEvent") {
      add(environment, flat(e, "error"), "error");
    }
  }

  // ---- SWE-agent: thought, action and observation of each step
  void read_swe_agent(const json::object& top) {
    const auto* steps = list(top, {"trajectory"});
    if (steps == nullptr) return;
    std::string_view agent;
    const auto* history = member(top, "history");
    for (std::size_t i = 0; history != nullptr && history->is_array() && i < history->get_array().size(); ++i) {
      const auto* m = history->get_array()[i].if_object();
      if (m == nullptr) continue;
      if (agent.empty()) agent = text_of(*m, "agent");
      const auto* demo = member(*m, "is_demo");
      const bool is_demo = demo != nullptr && demo->is_bool() && demo->get_bool();
      if (text_of(*m, "role") == "user" && !is_demo && into_.log.turns.empty()) add_human(flat(*m, "content"));
    }
    if (agent.empty()) agent = "main";
    const auto* info = object_of(top, "info");
    const bool submitted = info != nullptr && text_of(*info, "exit_status").starts_with("submitted");
    for (std::size_t i = 0; i < steps->size(); ++i) {
      const auto* s = entry(*steps, i);
      if (s == nullptr) return;
      const std::string action(trimmed(text_of(*s, "action")));
      std::string text(trimmed(text_of(*s, "thought")));
      if (!action.empty()) text += (text.empty() ? "" : "\n") + action;
      const bool last = i + 1 == steps->size();
      add(agent, std::move(text)).final = last && submitted;
      if (last && submitted) return;  // the observation of a submission is the patch
      if (member(*s, "observation") != nullptr) add(environment, flat(*s, "observation"));
    }
  }

  json_reader& reader_;
  name_table& names_;
  std::size_t max_items_;
  trajectory& into_;
};

}  // namespace

void read_trajectory(framework from, const json::object& top, json_reader& reader, name_table& names,
                     std::size_t max_items, trajectory& into) {
  trajectory_reader(reader, names, max_items, into).read(from, top);
}

}  // namespace digd::importers
