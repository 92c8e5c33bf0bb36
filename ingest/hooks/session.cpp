#include "ingest/hooks/session.h"

#include <algorithm>
#include <utility>

#include "model/rule_id.h"

namespace digd::hooks {

namespace {

// Longer than long commands and waits for the user, which are not stalls.
constexpr std::int64_t stalled_ms = 6LL * 3600 * 1000;

// No agent acts between a subagent's stop and the notice that wakes its parent, which takes seconds on a busy host.
// An agent that a message resumes may call no hook until its model has answered, which takes minutes.
constexpr std::int64_t rest_window_ms = 600'000;

std::string last_part(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

// Whether the call concerns a run. If it does and there is no run, the call is counted as ignored.
bool is_of_run(call_kind kind) {
  switch (kind) {
    case call_kind::other:
    case call_kind::unused:
    case call_kind::session_started:
    case call_kind::session_ended: return false;
    default: return true;
  }
}

bool is_from_prompt(const call& of) {
  switch (of.kind) {
    case call_kind::prompt:
    case call_kind::notification:
    case call_kind::tool_wanted:
    case call_kind::turn_ended:
    case call_kind::agent_started: return true;
    default: return false;
  }
}

// Writes the rules whose settings differ from the defaults for this kind of program.
void write_rules(json_writer& hello, bool reports_messages) {
  hello.key("rules").open_object();
  if (!reports_messages) {
    for (const std::string_view rule : failure_rule_names) {
      hello.key(rule).open_object().key("mode").text("off").close_object();
    }
    hello.close_object();
    return;
  }
  // The parent of several subagents reads results of different origin by design. Messages between agents are judged.
  hello.key("cross_lineage_aggregation").open_object();
  hello.key("kinds").open_array().text("message").close_array().close_object();
  for (const rule_id rule : run_window_rules) {
    hello.key(to_string(rule)).open_object().key("window_ms").integer(rest_window_ms).close_object();
  }
  hello.close_object();
}

}  // namespace

// ---- runs

bool session::needs_run(const call& of) const {
  if (is_reminder(of)) return false;
  if (run_.empty()) return is_from_prompt(of);
  if (run_without_suffix_ == run_of(of)) return false;
  if (of.kind == call_kind::prompt) return answered_ || !has_open_agents();
  // A background command woke the main agent after it had answered.
  return of.kind == call_kind::notification && answered_;
}

// A text that the main agent got when its answer came back: some programs report it as a prompt.
bool session::is_reminder(const call& of) const {
  return !run_.empty() && !reminder_.empty() && of.kind == call_kind::prompt && of.text == reminder_;
}

bool session::has_open_agents() const {
  return std::any_of(agents_.begin(), agents_.end(),
                     [this](const auto& a) { return a != agents_.front() && !a->is_whole && !a->activation.empty(); });
}

bool session::awaits_notification() const {
  return std::any_of(agents_.begin(), agents_.end(), [](const auto& a) { return !a->is_announced; });
}

std::string session::run_of(const call& of) const {
  return id_ + '/' + (of.prompt_id.empty() ? "unknown" : of.prompt_id);
}

void session::end_run() {
  if (run_.empty()) return;
  std::string_view outcome = "success";
  if (!answered_) {
    // If subagents are still at work, their results never came: the run ends as a failure.
    outcome = has_open_agents() ? "failure" : "aborted";
    if (!options_.reports_messages) outcome = "";  // a gateway reports no answer
    for (const auto& a : agents_) {
      if (!a->activation.empty() && outcome == "failure") close_failed(*a, "the session ended");
    }
  }
  out_.run_ended(outcome);
  waiting_.clear();
  run_.clear();
}

std::string session::begin_run(const call& of, std::string_view suffix) {
  run_without_suffix_ = run_of(of);
  run_ = run_without_suffix_ + std::string(suffix);
  out_ = run_writer();
  out_.set_time(of.ts);
  if (!agents_.empty()) main_counted_ = main_agent().counted;
  if (of.usage && of.kind == call_kind::prompt) main_counted_ = of.usage;
  agents_.clear();
  asked_.clear();
  shared_.clear();
  named_.clear();
  waiting_.clear();
  answered_ = was_reminded_ = false;
  reminder_.clear();
  takes_usage_ = judges_tools_ = false;
  agents_.push_back(std::make_unique<agent>());
  main_agent().name = "main";
  main_agent().started = true;
  main_agent().counted = main_counted_;

  std::string text;
  json_writer hello(text);
  hello.open_object().key("type").text("hello").key("protocol").integer(1);
  hello.key("run").text(run_).key("session").text("main");
  hello.key("agents").open_array().text("main").close_array();
  hello.key("mode").text(options_.mode).key("clock").text(options_.clock);
  write_rules(hello, options_.reports_messages);
  if (options_.max_repeats > 0 || options_.max_outputs > 0) {
    hello.key("guards").open_object();
    const auto add = [&](std::string_view guard, std::string_view limit, std::size_t max_value) {
      if (max_value > 0)
        hello.key(guard).open_object().key(limit).integer(static_cast<std::int64_t>(max_value)).close_object();
    };
    add("repetition", "max_repeats", options_.max_repeats);
    add("fan_out", "max_outputs", options_.max_outputs);
    hello.close_object();
  }
  hello.key("limits").open_object().key("stalled_ms").integer(stalled_ms).close_object();
  hello.key("capabilities").open_object();
  // A turn that has ended cannot take an event back.
  const bool is_over = of.kind == call_kind::turn_ended;
  const abilities able = is_over ? abilities{.inject = false, .give_back = false} : options_.able;
  hello.key("inject").boolean(able.inject).key("create").boolean(able.inject);
  hello.key("reroute").boolean(able.give_back);
  hello.key("hold").boolean(able.hold).key("cancel").boolean(able.cancel);
  hello.close_object();
  hello.key("client").open_object().key("name").text(options_.program);
  if (!options_.client_version.empty()) hello.key("version").text(options_.client_version);
  hello.close_object();
  hello.key("labels").open_object().key("session").text(id_).key("program").text(options_.program);
  if (!of.folder.empty()) hello.key("project").text(last_part(of.folder));
  // The model of a session's start comes first: a call has the model of the last reply, and it may have changed since.
  const std::string& branch = of.branch.empty() ? branch_ : of.branch;
  const std::string& model = model_.empty() ? of.model : model_;
  if (!branch.empty()) hello.key("branch").text(branch);
  if (!model.empty()) hello.key("model").text(model);
  hello.close_object().close_object();
  return text;
}

void session::joined(std::uint64_t taken_seq, bool guards, bool judges_tools) {
  takes_usage_ = guards;
  judges_tools_ = judges_tools;
  out_.continue_after(taken_seq);
  if (taken_seq > 0) out_.gap();
  // Usage from before the gap may have been counted already.
  continues_ = taken_seq > 0;
  if (!continues_ && !main_agent().counted) main_agent().counted = usage_totals();
}

// ---- calls

session::taken session::take(const call& of) {
  taken result;
  if (of.kind == call_kind::session_started) {
    if (!of.model.empty()) model_ = of.model;
    if (!of.branch.empty()) branch_ = of.branch;
    return result;
  }
  out_.set_time(of.ts);
  out_.set_inferred(of.is_inferred);
  if (run_.empty()) {
    if (is_of_run(of.kind)) ++ignored_;
    return result;
  }
  // The program's own agents, such as the one that summarizes a long conversation, report only their ends. Their texts
  // reach no agent of the run.
  if (of.is_internal && of.kind != call_kind::agent_started && find_agent(of.agent) == nullptr) return result;
  if (cancel_agent(of, result)) return result;
  switch (of.kind) {
    case call_kind::prompt: take_prompt(of, result); break;
    case call_kind::notification: take_notification(of); break;
    case call_kind::tool_wanted: want_tool(of, result); break;
    case call_kind::tool_done: finish_tool(of, result); break;
    case call_kind::tool_failed: fail_tool(of); break;
    case call_kind::agent_started: start_agent(of); break;
    case call_kind::agent_stopped: stop_agent(of, result); break;
    case call_kind::stopped: stop_main(of, result); break;
    case call_kind::turn_ended: end_turn(of); break;
    case call_kind::turn_failed: fail_turn(of); break;
    case call_kind::model_done: count_reply(of); break;
    case call_kind::session_ended: end_run(); break;
    case call_kind::session_started:
    case call_kind::unused:
    case call_kind::other:
      if (agent* a = find_agent(of.agent); a != nullptr) count_usage(of, *a);
      break;
  }
  if (run_.empty()) return result;
  if (result.judged_seq == 0) hand_over_notices(of, result);
  out_.flush_usage();
  return result;
}

bool session::may_wait() {
  if (waiting_.size() < max_waiting) return true;
  ++ignored_;
  return false;
}

void session::wait_for_verdict(taken& into, waiting w) {
  into.judged_seq = out_.seq();
  waiting_[into.judged_seq] = std::move(w);
}

reply session::answer(std::uint64_t judged_seq, const received_verdict& verdict) {
  const auto found = waiting_.find(judged_seq);
  if (found == waiting_.end()) return {};
  const waiting w = std::move(found->second);
  waiting_.erase(found);
  if (w.kind == waiting_kind::submit && verdict.action == "deliver") answered_ = true;
  if (verdict.action != "deliver" && verdict.is_guards && w.kind == waiting_kind::result) {
    // The work is done. Reporting a limit to the agent now would only make it spend more.
    out_.delivery(w.event, "as_is", "a guard does not stop a result");
    return {};
  }
  if (w.kind == waiting_kind::brought) return bring(w, verdict);
  const bool proceeds = verdict.action != "hold" && verdict.action != "reroute";
  if (w.kind == waiting_kind::spawn && proceeds) start_whole(w);
  if (w.kind == waiting_kind::model && proceeds) read_by_model(w);
  if (verdict.action == "deliver") return {};
  if (verdict.action == "hold") return hold(w, verdict);
  switch (w.kind) {
    case waiting_kind::prompt: return {reply_action::add_context, verdict.inject};
    case waiting_kind::model:
      if (verdict.action == "inject" && !w.takes_text) {
        out_.delivery(w.event, "as_is", "no text can be added to this kind of call");
        return {};
      }
      [[fallthrough]];
    case waiting_kind::spawn:
    case waiting_kind::message:
      if (verdict.action == "inject") return {reply_action::amend_input, verdict.inject};
      return deny(w, verdict);
    case waiting_kind::assignment:
      if (verdict.action != "inject") return deny(w, verdict);
      out_.delivery(w.event, "as_is", "the program adds no text to a task of its list");
      return {};
    case waiting_kind::tool:
      if (verdict.action != "inject") return {reply_action::deny, verdict.inject};
      if (options_.able.adds_context_before_tools) return {reply_action::add_context, verdict.inject};
      out_.delivery(w.event, "as_is", "the program adds no text before a tool");
      return {};
    case waiting_kind::brought: break;
    case waiting_kind::result:
    case waiting_kind::submit: return block(w, verdict);
  }
  return {};
}

void session::give_up(std::uint64_t judged_seq) {
  const auto found = waiting_.find(judged_seq);
  if (found == waiting_.end()) return;
  out_.delivery(found->second.event, "as_is", "timeout");
  const waiting w = std::move(found->second);
  waiting_.erase(found);
  if (w.kind == waiting_kind::submit) answered_ = true;
  if (w.kind == waiting_kind::spawn) start_whole(w);
  if (w.kind == waiting_kind::model) read_by_model(w);
  if (w.kind == waiting_kind::brought) turn_over(*w.receiver, read_inbox(*w.receiver, w.sender));
}

void session::intervene(const std::string& id, const std::string& event, const std::string& text,
                        const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    agent* a = find_agent(name);
    if (a == nullptr || a->notices.size() >= max_notices) continue;
    a->notices.push_back({.id = id, .event = event, .text = text});
  }
}

void session::cancel(const std::string& id, const std::vector<std::string>& activations, const std::string& text) {
  for (const auto& a : agents_) {
    if (a->activation.empty()) continue;
    if (std::find(activations.begin(), activations.end(), a->activation) == activations.end()) continue;
    a->cancel_id = id;
    a->cancel_text = text;
  }
}

// Ends the agent with this hook if the monitor asked for it. A prompt is never refused: the user may continue.
bool session::cancel_agent(const call& of, taken& into) {
  const bool is_able = of.kind == call_kind::tool_wanted || of.kind == call_kind::tool_done;
  const bool stops = of.kind == call_kind::stopped || of.kind == call_kind::agent_stopped;
  if (!is_able && !stops) return false;
  agent* a = acting(of);
  if (a == nullptr || a->cancel_id.empty()) return false;
  out_.carried_out(std::exchange(a->cancel_id, {}), "cancelled");
  if (stops || a->activation.empty()) return false;  // it ends anyway
  count_usage(of, *a);
  out_.activation_discarded(a->activation, a->tasks);
  a->activation.clear();
  a->tasks.clear();
  into.reply = {reply_action::cancel, a->cancel_text};
  return true;
}

// The monitor's events reach an agent with the first hook whose answer can carry a text to it.
void session::hand_over_notices(const call& of, taken& into) {
  const bool carries = of.kind == call_kind::prompt || of.kind == call_kind::tool_done ||
                       of.kind == call_kind::agent_started ||
                       (of.kind == call_kind::tool_wanted && options_.able.adds_context_before_tools);
  const bool stops = of.kind == call_kind::stopped || of.kind == call_kind::agent_stopped;
  agent* a = acting(of);
  if (a == nullptr || a->notices.empty() || (!carries && !stops)) return;
  if (stops && (!options_.able.blocks_stops || of.was_blocked || ++a->blocks > options_.max_blocks)) return;
  std::vector<std::string> events;
  for (const notice& each : std::exchange(a->notices, {})) {
    if (!into.reply.text.empty()) into.reply.text += "\n\n";
    into.reply.text += each.text;
    out_.carried_out(each.id, each.event.empty() ? "created" : "rerouted");
    events.push_back(each.event.empty() ? each.id : each.event);
  }
  into.reply.action = stops ? reply_action::block : reply_action::add_context;
  turn_over(*a, events);
}

}  // namespace digd::hooks
