#include "ingest/importers/conversation.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>
#include <map>
#include <utility>

#include "base/fnv_hash.h"

namespace digd::importers {
namespace json = boost::json;

namespace {

// Bounds that keep the work linear in the size of the file. No known log has a turn with more than 100 pending
// messages, or a message followed by more than 1,000 turns that handle nothing.
constexpr std::size_t max_presented = 100;
constexpr std::size_t max_passed_turns = 1000;
constexpr std::size_t max_searched_agents = 256;

// Turns the steps into messages, in their order. Between two steps it keeps the pending events of each agent.
class turn_mapper {
 public:
  turn_mapper(const conversation& log, const conversation_times& options, trace_writer& writer, import_counts& counts)
      : log_(log), options_(options), writer_(writer), counts_(counts) {}

  void run() {
    if (log_.question) ask_question();
    for (std::size_t k = 0; k < log_.turns.size(); ++k) {
      if (log_.turns[k].form == step_form::human) {
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
  bool is_last(std::size_t k) const { return k + 1 == log_.turns.size(); }

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
    const auto& now = log_.turns[k];
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
    const auto& now = log_.turns[k];
    if (!is_last(k) || !now.speaks()) return false;
    return now.form == step_form::termination || now.final || has_final_answer(now.text) ||
           ends_with_terminate(now.text);
  }

  // The inputs of an acting agent: all events pending for it. Without any, the events that it consumed last; if it
  // never received any, the latest event.
  event_ids take_up(const turn& now) {
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
  json::object react(const turn& now, bool thinks, const event_ids& inputs) {
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
    const auto& now = log_.turns[k];
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
      event["kind"] = now.addressees.empty() ? "message" : "instruction";
      if (event["recipients"].as_array().empty()) {
        event["fyi"] = true;  // the log has no other agent, so nobody failed to handle a request
        event["inferred"] = {"fyi"};
      }
      if (!now.addressees.empty()) instructed_by_[id] = now.agent;
      latest_ = id;
    }
    event["payload"] = payload(k);
    // The payload has the number of the turn. So that repetition shows, the fingerprint is of the text alone.
    if (!now.text.empty()) event["fingerprint"] = fnv_digits(now.text);
    return event;
  }

  addressing addressees(std::size_t k, const event_ids& inputs) {
    const auto& now = log_.turns[k];
    if (!now.addressees.empty()) return {now.addressees, 0, {}};
    addressing to;
    if (log_.addresses_in_text && log_.agents.size() <= max_searched_agents) {
      to.recipients = addressed_names(now.text, log_.agents, now.agent);
    }
    to = by_next_speaker(std::move(to.recipients), k + 1);
    if (to.recipients.empty()) to = for_unanswered(k, inputs);
    return to;
  }

  // The next speakers, up to the first one that does more than report that it has nothing to do.
  addressing by_next_speaker(std::vector<std::string_view> stated, std::size_t from) {
    addressing to{std::move(stated), 0, "next_speaker"};
    for (std::size_t k = from; k < std::min(log_.turns.size(), from + max_passed_turns); ++k) {
      const auto& next = log_.turns[k];
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
    const auto& now = log_.turns[k];
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
    const auto& now = log_.turns[k];
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
    const auto end = time_of(log_.turns.size());
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

  const conversation& log_;
  const conversation_times& options_;
  trace_writer& writer_;
  import_counts& counts_;
  std::map<std::string_view, event_ids> pending_;
  std::map<std::string_view, event_ids> last_inputs_;
  std::map<std::string, std::string_view> instructed_by_;  // event: the agent that addressed it by its role
  std::string latest_;                                     // the latest event that is no `fyi`
  bool submitted_ = false;
};

}  // namespace

void check_times(const conversation_times& times, json_reader& reader) {
  constexpr std::int64_t max_step_ms = 60'000;
  constexpr std::int64_t max_quiet_ms = 86'400'000;
  if (times.step_ms < 1 || times.step_ms > max_step_ms) {
    reader.fail(import_errc::bad_option, "step_ms", "expected 1 to 60000");
  }
  if (times.quiet_ms < 0 || times.quiet_ms > max_quiet_ms) {
    reader.fail(import_errc::bad_option, "quiet_ms", "expected 0 to 86400000");
  }
}

void write_conversation(const conversation& log, const conversation_times& times, trace_writer& writer,
                        import_counts& counts) {
  turn_mapper(log, times, writer, counts).run();
}

}  // namespace digd::importers
