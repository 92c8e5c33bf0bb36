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

#include "ingest/importers/json_reader.h"
#include "ingest/importers/trace_writer.h"
#include "ingest/importers/whowhen_text.h"

namespace digd::importers {
namespace json = boost::json;

namespace {

// Bounds that keep the work linear in the size of the file. No known log has a turn with more than 100 pending
// messages, or a message followed by more than 1,000 turns that handle nothing.
constexpr std::size_t max_presented = 100;
constexpr std::size_t max_passed_turns = 1000;
constexpr std::size_t max_searched_agents = 256;

struct step {
  std::string_view agent;      // as the protocol allows it
  std::string_view addressee;  // stated by the role; empty: none
  std::string_view role;
  std::string_view text;
  step_form form = step_form::plain;
  bool notice = false;

  bool speaks() const { return form != step_form::human && !notice; }
};

struct whowhen_log {
  std::vector<step> steps;
  std::vector<std::string_view> agents;      // the roster, in order of appearance
  std::optional<std::string_view> question;  // a separate root event, if no step is the user's
  std::string_view question_id;
  std::optional<bool> correct;
  std::string_view code_runner;  // the agent that reported executions; empty: none
  bool hand_crafted = false;
};

class log_reader {
 public:
  log_reader(json_reader& reader, name_table& names) : reader_(reader), names_(names) {}

  whowhen_log read(const json::object& top, std::size_t max_items) {
    whowhen_log log;
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
      log.steps.push_back(read_step((*history)[k], "history[" + std::to_string(k) + ']', log.hand_crafted));
    }
    if (reader_.failed()) return log;
    read_frame(top, log);
    mark_notices(log);
    fill_roster(top, log);
    return log;
  }

 private:
  step read_step(const json::value& value, const std::string& where, bool& hand_crafted) {
    step out;
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
    if (!parts.addressee.empty()) out.addressee = names_.safe(parts.addressee);
    return out;
  }

  void read_frame(const json::object& top, whowhen_log& log) {
    log.question_id = reader_.string(top, "question_ID", {}, false).value_or("");
    log.correct = reader_.boolean(top, "is_correct", {});
    if (!log.correct) log.correct = reader_.boolean(top, "is_corrected", {});
    const auto question = reader_.string(top, "question", {}, false);
    if (log.steps.front().form != step_form::human) log.question = question;
  }

  static void mark_notices(whowhen_log& log) {
    for (auto& each : log.steps) {
      if (each.form != step_form::plain) continue;
      each.notice = is_no_code_notice(each.text);
      if (each.notice || is_execution_report(each.text)) log.code_runner = each.agent;
    }
  }

  // The speakers, the agents that they address, and the agents in `system_prompt`, which may never speak.
  void fill_roster(const json::object& top, whowhen_log& log) {
    std::set<std::string_view> known;
    const auto add = [&](std::string_view agent) {
      if (!agent.empty() && known.insert(agent).second) log.agents.push_back(agent);
    };
    for (const auto& each : log.steps) {
      if (each.form != step_form::human) add(each.agent);
      add(each.addressee);
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

// Turns the steps into messages, in their order. Between two steps it keeps the pending events of each agent.
class step_mapper {
 public:
  step_mapper(const whowhen_log& log, const whowhen_options& options, trace_writer& writer, import_counts& counts)
      : log_(log), options_(options), writer_(writer), counts_(counts) {}

  void run() {
    if (log_.question) ask_question();
    for (std::size_t k = 0; k < log_.steps.size(); ++k) {
      if (log_.steps[k].form == step_form::human) {
        root_step(k);
      } else {
        activation_step(k);
      }
    }
    finish();
  }

 private:
  struct addressing {
    std::vector<std::string_view> recipients;
    std::size_t inferred = 0;  // those at the end of `recipients`
    std::string_view basis;    // of the inferred ones
  };
  using event_ids = std::vector<std::string>;

  std::int64_t time_of(std::size_t k) const { return static_cast<std::int64_t>(k) * options_.step_ms; }
  bool is_last(std::size_t k) const { return k + 1 == log_.steps.size(); }

  void ask_question() {
    addressing to = by_next_speaker({}, 0);
    json::object event;
    event["id"] = "question";
    set_recipients(event, "question", to);
    event["kind"] = "question";
    std::string text(*log_.question);
    if (cut_to_fit(text, max_payload_bytes)) ++counts_.cut_payloads;
    event["payload"] = {{"text", text}};
    write_root(std::move(event), 0);
  }

  void root_step(std::size_t k) {
    const std::string id = event_id(k);
    addressing to = by_next_speaker({}, k + 1);
    json::object event;
    event["id"] = id;
    set_recipients(event, id, to);
    event["kind"] = k == 0 ? "question" : "message";
    event["payload"] = payload(k);
    write_root(std::move(event), time_of(k));
  }

  void write_root(json::object event, std::int64_t ts) {
    json::object members;
    members["as_is"] = true;
    members["event"] = std::move(event);
    writer_.message("event", ts, std::move(members));
    ++counts_.events;
    ++counts_.times.inferred;
  }

  void activation_step(std::size_t k) {
    const auto& now = log_.steps[k];
    const bool submits = is_submit(k);
    const bool thinks = !submits && (now.form == step_form::thought || now.form == step_form::termination);
    const auto inputs = thinks || now.notice ? latest_of(pending_[now.agent]) : take_up(now);

    json::object start;
    start["activation"] = activation_id(k);
    start["agent"] = json::string(now.agent);
    start["inputs"] = id_array(inputs);
    if (!inputs.empty()) start["inferred"] = {"inputs"};
    writer_.message("activation_started", time_of(k), std::move(start));
    counts_.inputs.inferred += inputs.size();

    json::object end;
    end["as_is"] = true;
    end["activation"] = activation_id(k);
    end["reactions"] = react(now, thinks, inputs);
    if (!inputs.empty()) end["inferred"] = {"reactions"};
    counts_.reactions.inferred += inputs.size();
    end["outputs"] = json::array{output(k, submits, thinks, inputs)};
    writer_.message("activation_ended", time_of(k + 1), std::move(end));
    ++counts_.activations;
    ++counts_.events;
    ++counts_.sources.stated;
    counts_.times.inferred += 2;
  }

  // Whether step k ended the run: only the last step can, if its text ends the run.
  bool is_submit(std::size_t k) const {
    const auto& now = log_.steps[k];
    if (!is_last(k) || !now.speaks()) return false;
    return now.form == step_form::termination || has_final_answer(now.text) || ends_with_terminate(now.text);
  }

  // The inputs of an acting agent: all events pending for it. Without any, the events that it consumed last; if it
  // never received any, the latest event.
  event_ids take_up(const step& now) {
    if (const auto& waiting = pending_[now.agent]; !waiting.empty()) return waiting;
    if (const auto& before = last_inputs_[now.agent]; !before.empty()) {
      counts_.remembered_inputs += before.size();
      return before;
    }
    if (latest_.empty()) return {};
    ++counts_.remembered_inputs;
    return {latest_};
  }

  // A thought waits on its inputs. A turn consumes them. A terminal without code discards the message that gave it the
  // turn.
  json::object react(const step& now, bool thinks, const event_ids& inputs) {
    json::object reactions;
    for (const auto& id : inputs) {
      const bool discards = now.notice && id == latest_;
      reactions[id] = discards ? "discard" : thinks || now.notice ? "wait" : "consume";
    }
    auto& waiting = pending_[now.agent];
    if (now.notice) std::erase(waiting, latest_);
    if (thinks || now.notice) return reactions;
    waiting.clear();
    last_inputs_[now.agent] = latest_of(inputs);
    return reactions;
  }

  static event_ids latest_of(const event_ids& ids) {
    return {ids.end() - static_cast<std::ptrdiff_t>(std::min(ids.size(), max_presented)), ids.end()};
  }

  json::object output(std::size_t k, bool submits, bool thinks, const event_ids& inputs) {
    const auto& now = log_.steps[k];
    const std::string id = event_id(k);
    json::object event;
    event["id"] = id;
    if (submits) {
      event["recipients"] = json::array{};
      event["kind"] = "answer";
      event["submit"] = true;
      submitted_ = true;
      ++counts_.submits.stated;
    } else if (thinks || now.notice) {
      event["recipients"] = json::array{};
      event["kind"] = thinks ? "thought" : "notice";
      event["fyi"] = true;
      ++(thinks ? counts_.thoughts : counts_.notices);
    } else {
      set_recipients(event, id, addressees(k, inputs));
      event["kind"] = now.addressee.empty() ? "message" : "instruction";
      if (event["recipients"].as_array().empty()) {
        event["fyi"] = true;  // the log has no other agent, so nobody failed to handle a request
        event["inferred"] = {"fyi"};
      }
      if (!now.addressee.empty()) instructed_by_[id] = now.agent;
      latest_ = id;
    }
    event["payload"] = payload(k);
    return event;
  }

  addressing addressees(std::size_t k, const event_ids& inputs) {
    const auto& now = log_.steps[k];
    if (!now.addressee.empty()) return {{now.addressee}, 0, {}};
    addressing to;
    if (!log_.hand_crafted && log_.agents.size() <= max_searched_agents) {
      to.recipients = addressed_names(now.text, log_.agents, now.agent);
    }
    to = by_next_speaker(std::move(to.recipients), k + 1);
    if (to.recipients.empty()) to = for_unanswered(k, inputs);
    return to;
  }

  // The next speakers, up to the first one that does more than report that it has nothing to do.
  addressing by_next_speaker(std::vector<std::string_view> stated, std::size_t from) {
    addressing to{std::move(stated), 0, "next_speaker"};
    for (std::size_t k = from; k < std::min(log_.steps.size(), from + max_passed_turns); ++k) {
      const auto& next = log_.steps[k];
      if (next.form == step_form::human) continue;
      if (std::find(to.recipients.begin(), to.recipients.end(), next.agent) == to.recipients.end()) {
        to.recipients.push_back(next.agent);
        ++to.inferred;
        ++counts_.next_speaker;
      }
      if (!next.notice) break;
    }
    return to;
  }

  // The recipients of a last message that nobody answered: the agent that gave the instruction; otherwise, for code,
  // the agent that runs code; otherwise all other agents, as in a group chat.
  addressing for_unanswered(std::size_t k, const event_ids& inputs) {
    const auto& now = log_.steps[k];
    addressing to;
    for (const auto& id : inputs) {
      const auto by = instructed_by_.find(id);
      if (by == instructed_by_.end() || by->second == now.agent) continue;
      to = {{by->second}, 1, "reply"};
    }
    if (to.recipients.empty() && has_code_block(now.text) && !log_.code_runner.empty() &&
        log_.code_runner != now.agent) {
      to = {{log_.code_runner}, 1, "code"};
    }
    if (to.recipients.empty()) {
      for (const auto agent : log_.agents) {
        if (agent != now.agent) to.recipients.push_back(agent);
      }
      to.inferred = to.recipients.size();
      to.basis = "group";
    }
    counts_.fallback_recipients += to.inferred;
    return to;
  }

  void set_recipients(json::object& event, const std::string& id, const addressing& to) {
    event["recipients"] = string_array(to.recipients);
    for (const auto agent : to.recipients) pending_[agent].push_back(id);
    counts_.recipients.stated += to.recipients.size() - to.inferred;
    counts_.recipients.inferred += to.inferred;
    if (id == "question" || latest_.empty()) latest_ = id;
    if (to.inferred == 0) return;
    event["inferred"] = {"recipients"};
    const std::vector<std::string_view> guessed(to.recipients.end() - static_cast<std::ptrdiff_t>(to.inferred),
                                                to.recipients.end());
    event["basis"] = {{json::string(to.basis), string_array(guessed)}};
  }

  json::object payload(std::size_t k) {
    const auto& now = log_.steps[k];
    std::string text(now.text);
    json::object out;
    out["step"] = k;
    out["agent"] = json::string(now.agent);
    out["role"] = json::string(shortened(now.role, max_name_bytes));
    if (cut_to_fit(text, max_payload_bytes)) {
      ++counts_.cut_payloads;
      out["cut_from_bytes"] = now.text.size();
    }
    out["text"] = text;
    return out;
  }

  void finish() {
    const auto end = time_of(log_.steps.size());
    const bool finished = submitted_ || log_.correct.value_or(false);
    if (!finished && options_.quiet_ms > 0) {
      json::object members;
      members["inferred"] = {"ts"};
      writer_.message("time", end + options_.quiet_ms, std::move(members));
      ++counts_.times.inferred;
    }
    const std::string_view outcome = outcome_of(finished);
    if (outcome.empty()) return;
    json::object members;
    members["outcome"] = json::string(outcome);
    writer_.message("run_ended", end, std::move(members));
    ++counts_.times.inferred;
  }

  // The outcome by the log's grade; without a grade, an answer is a success. A log without an answer and without a
  // silence at its end was cut off (`aborted`). Empty: unknown.
  std::string_view outcome_of(bool finished) const {
    if (!finished && options_.quiet_ms == 0) return "aborted";
    if (log_.correct) return *log_.correct ? "success" : "failure";
    return finished ? "success" : "";
  }

  static std::string event_id(std::size_t k) { return 's' + std::to_string(k); }
  static std::string activation_id(std::size_t k) { return 'a' + std::to_string(k); }
  static json::array id_array(const event_ids& ids) { return json::array(ids.begin(), ids.end()); }

  const whowhen_log& log_;
  const whowhen_options& options_;
  trace_writer& writer_;
  import_counts& counts_;
  std::map<std::string_view, event_ids> pending_;
  std::map<std::string_view, event_ids> last_inputs_;
  std::map<std::string, std::string_view> instructed_by_;  // event: the agent that addressed it by its role
  std::string latest_;                                     // the latest event that is no `fyi`
  bool submitted_ = false;
};

std::string default_run(const whowhen_log& log, std::string_view file) {
  return std::string(log.hand_crafted ? "whowhen-hc-" : "whowhen-ag-") +
         (log.question_id.empty() ? short_hash(file) : std::string(log.question_id));
}

void write_hello(const whowhen_log& log, const whowhen_options& options, std::string_view file, trace_writer& writer) {
  json::object labels;
  labels["source"] = "whowhen";
  labels["subset"] = log.hand_crafted ? "hand_crafted" : "algorithm_generated";
  if (!log.question_id.empty()) labels["question_id"] = shortened(log.question_id, max_name_bytes);
  writer.hello(options.run.empty() ? default_run(log, file) : options.run, log.agents, "digd-import-whowhen",
               std::move(labels), {"ts"});
}

import_outcome import_checked(std::string_view file, const whowhen_options& options) {
  constexpr std::int64_t longest_step_ms = 60'000;
  constexpr std::int64_t longest_quiet_ms = 86'400'000;
  json_reader reader;
  if (options.step_ms < 1 || options.step_ms > longest_step_ms) {
    reader.fail(import_errc::bad_option, "step_ms", "expected 1 to 60000");
  }
  if (options.quiet_ms < 0 || options.quiet_ms > longest_quiet_ms) {
    reader.fail(import_errc::bad_option, "quiet_ms", "expected 0 to 86400000");
  }
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
  step_mapper(log, options, writer, result.counts).run();
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
