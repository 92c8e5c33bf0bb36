#include "ingest/importers/whowhen.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/fnv_hash.h"
#include "ingest/importers/conversation.h"
#include "ingest/importers/whowhen_text.h"
#include "ingest/trace/json_reader.h"
#include "ingest/trace/trace_writer.h"

namespace digd::importers {
namespace json = boost::json;

namespace {

class log_reader {
 public:
  log_reader(json_reader& reader, name_table& names) : reader_(reader), names_(names) {}

  conversation read(const json::object& top, std::size_t max_items) {
    conversation log;
    const auto* history = reader_.array(top, "history", {}, true);
    if (!history) return log;
    if (history->size() > max_items) {
      reader_.fail(import_errc::too_large, "history",
                   "has " + std::to_string(history->size()) + " steps, the limit is " + std::to_string(max_items));
      return log;
    }
    if (history->empty()) reader_.fail(import_errc::wrong_shape, "history", "expected at least one step");
    log.hand_crafted = true;
    for (std::size_t k = 0; k < history->size() && !reader_.failed(); ++k) {
      log.turns.push_back(read_step((*history)[k], "history[" + std::to_string(k) + ']', log.hand_crafted));
    }
    if (reader_.failed()) return log;
    read_frame(top, log);
    log.addresses_in_text = !log.hand_crafted;
    mark_notices(log);
    fill_roster(top, log);
    return log;
  }

 private:
  turn read_step(const json::value& value, const std::string& where, bool& hand_crafted) {
    turn out;
    const auto* object = value.if_object();
    if (!object) {
      reader_.fail(import_errc::wrong_shape, where, "expected an object");
      return out;
    }
    const auto name = reader_.string(*object, "name", where, false);
    const auto role = reader_.string(*object, "role", where, !name);
    const auto text = reader_.string(*object, "content", where, true);
    if (reader_.failed()) return out;
    out.role = role.value_or("");
    out.text = *text;
    role_parts parts;
    if (name) {
      hand_crafted = false;
      parts.agent = *name;
    } else {
      parts = parse_role(out.role);
    }
    if (parts.agent.empty()) {
      reader_.fail(import_errc::wrong_value, place(where, name ? "name" : "role"), "expected an agent's name");
      return out;
    }
    out.form = parts.form;
    out.agent = names_.safe(parts.agent);
    if (!parts.addressee.empty()) out.addressees = {names_.safe(parts.addressee)};
    return out;
  }

  void read_frame(const json::object& top, conversation& log) {
    log.question_id = reader_.string(top, "question_ID", {}, false).value_or("");
    log.correct = reader_.boolean(top, "is_correct", {});
    if (!log.correct) log.correct = reader_.boolean(top, "is_corrected", {});
    const auto question = reader_.string(top, "question", {}, false);
    if (log.turns.front().form != step_form::human) log.question = question;
  }

  static void mark_notices(conversation& log) {
    for (auto& each : log.turns) {
      if (each.form != step_form::plain) continue;
      each.notice = is_no_code_notice(each.text);
      if (each.notice || is_execution_report(each.text)) log.code_runner = each.agent;
    }
  }

  // The speakers, the agents that they address, and the agents in `system_prompt`, which may never speak.
  void fill_roster(const json::object& top, conversation& log) {
    std::set<std::string_view> known;
    const auto add = [&](std::string_view agent) {
      if (!agent.empty() && known.insert(agent).second) log.agents.push_back(agent);
    };
    for (const auto& each : log.turns) {
      if (each.form != step_form::human) add(each.agent);
      for (const auto to : each.addressees) add(to);
    }
    const auto* prompts = reader_.find(top, "system_prompt");
    if (!prompts || !prompts->is_object()) return;
    for (const auto& member : prompts->get_object()) {
      if (!member.key().empty()) add(names_.safe(member.key()));
    }
  }

  json_reader& reader_;
  name_table& names_;
};

std::string default_run(const conversation& log, std::string_view file) {
  return std::string(log.hand_crafted ? "whowhen-hc-" : "whowhen-ag-") +
         (log.question_id.empty() ? fnv_digits(file) : std::string(log.question_id));
}

void write_hello(const conversation& log, const whowhen_options& options, std::string_view file, trace_writer& writer) {
  json::object labels;
  labels["source"] = "whowhen";
  labels["subset"] = log.hand_crafted ? "hand_crafted" : "algorithm_generated";
  if (!log.question_id.empty()) labels["question_id"] = shortened(log.question_id, max_name_bytes);
  writer.hello(options.run.empty() ? default_run(log, file) : options.run, log.agents, "digd-import-whowhen",
               std::move(labels), {"ts"});
}

import_outcome import_checked(std::string_view file, const whowhen_options& options) {
  json_reader reader;
  check_times({options.step_ms, options.quiet_ms}, reader);
  if (reader.failed()) return reader.failure();

  json::value document;
  name_table names(name_table::kind::agent);
  const auto* top = reader.parse(file, options.max_bytes, document);
  if (!top) return reader.failure();
  const auto log = log_reader(reader, names).read(*top, options.max_items);
  if (reader.failed()) return reader.failure();

  import_result result;
  trace_writer writer;
  write_hello(log, options, file, writer);
  write_conversation(log, {options.step_ms, options.quiet_ms}, writer, result.counts);
  result.counts.messages = writer.messages();
  result.counts.agents = log.agents.size();
  result.counts.renamed = names.renamed();
  result.lines = writer.take_lines();
  return result;
}

}  // namespace

import_outcome import_whowhen(std::string_view json_text, const whowhen_options& options) {
  try {
    return import_checked(json_text, options);
  } catch (const std::exception& error) {
    return import_failure{import_errc::internal, std::string("whowhen: ") + error.what()};
  }
}

}  // namespace digd::importers
