#include "daemon/hooks/hook_session.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <span>
#include <utility>

#include "base/quote.h"
#include "base/unix_time.h"
#include "daemon/hooks/transcript_thread.h"
#include "daemon/runs/engine_threads.h"
#include "daemon/runs/registry.h"
#include "daemon/runs/run_host.h"
#include "model/rule_id.h"
#include "rules/guard_option.h"
#include "rules/rule.h"

namespace digd::daemon {

namespace {

namespace json = boost::json;

// Reads a frame that digd made.
std::optional<json::object> parsed(std::string_view frame) {
  json::error_code ec;
  json::value value = json::parse({frame.data(), frame.size()}, ec);
  if (ec || !value.is_object()) return std::nullopt;
  return std::move(value.get_object());
}

std::uint64_t whole_number_of(const json::object& from, std::string_view member) {
  const json::value* value = from.if_contains(member);
  if (value == nullptr || !value->is_number()) return 0;
  return value->to_number<std::uint64_t>();
}

std::vector<std::string> names_of(const json::object& from, std::string_view member) {
  std::vector<std::string> names;
  const json::value* value = from.if_contains(member);
  if (value == nullptr || !value->is_array()) return names;
  for (const json::value& name : value->get_array()) {
    if (name.is_string()) names.emplace_back(name.get_string().c_str());
  }
  return names;
}

const json::object* object_of(const json::object& from, std::string_view member) {
  const json::value* value = from.if_contains(member);
  return value == nullptr ? nullptr : value->if_object();
}

// Whether one of a welcome's guards compares repeats, with a limit above 0.
bool compares_repeats(const json::object& welcomed) {
  for (const rule* guard : guards()) {
    if (guard->traits.counts != guard_count_kind::repeats) continue;
    const json::object* settings = object_of(welcomed, to_string(guard->id));
    if (settings == nullptr) continue;
    const std::span<const guard_option> options = guard->options();
    return std::any_of(options.begin(), options.end(), [settings](const guard_option& option) {
      return option.is_limit() && whole_number_of(*settings, option.name) > 0;
    });
  }
  return false;
}

hooks::session_options options_of(const hook_request& first) {
  hooks::session_options options;
  options.program = first.dialect.name;
  options.client_version = hook_client_version;
  options.mode = to_string(first.mode);
  options.able = first.dialect.able;
  options.stop_is_answer = first.dialect.stop_is_answer;
  options.reports_messages = first.dialect.reports_messages;
  return options;
}

// Whether all detections of a verdict are a guard's.
bool is_of_guards(const json::object& verdict) {
  const json::value* detections = verdict.if_contains("detections");
  if (detections == nullptr || !detections->is_array()) return false;
  return std::all_of(detections->get_array().begin(), detections->get_array().end(), [](const json::value& each) {
    if (!each.is_object()) return false;
    const auto rule = rule_from(hooks::text_of(each.get_object(), "rule"));
    return rule && is_guard(*rule);
  });
}

}  // namespace

hook_session::hook_session(engine_thread& home, const hook_parts& parts, const hook_request& first,
                           std::function<void()> on_end)
    : home_(home),
      parts_(parts),
      counts_(parts.counts),
      dialect_(first.dialect),
      state_(first.call.session, options_of(first)),
      on_end_(std::move(on_end)),
      last_used_(first.arrived) {}

hook_session::~hook_session() {
  if (host_) run_host::release_slot(std::move(host_), slot_);
}

// ---- hooks

void hook_session::take(hook_request&& request, std::chrono::milliseconds verdict_deadline) {
  if (is_foreign(request.grant)) return forbid(request.answer);
  last_used_ = std::chrono::steady_clock::now();
  if (queue_.size() >= max_queued || is_congested()) {
    counts_.skipped.fetch_add(1);
    has_gap_ = has_gap_ || host_ != nullptr;
    return request.answer(respond_json(dialect_.write(request.call, {})));
  }
  const auto hook = std::make_shared<waiting_hook>(std::move(request), verdict_deadline,
                                                   net::steady_timer(home_.context().get_executor()));
  queue_.push_back(hook);
  read_transcript(hook);
  hook->waits_for_reading =
      std::any_of(queue_.begin(), queue_.end(), [](const waiting_ptr& each) { return each->is_reading; });
  set_timer(hook, hook->arrived);
  pump();
}

void hook_session::set_timer(const waiting_ptr& hook, std::chrono::steady_clock::time_point deadline_begins) {
  const auto latest = hook->arrived + max_wait;
  hook->timer.expires_at(hook->waits_for_reading ? latest : std::min(latest, deadline_begins + hook->deadline));
  hook->timer.async_wait([self = shared_from_this(), hook](boost::system::error_code ec) {
    if (!ec) self->answer_late(hook);
  });
}

// The deadlines of the calls that no longer wait for a transcript.
void hook_session::begin_deadlines() {
  const auto now = std::chrono::steady_clock::now();
  for (const waiting_ptr& hook : queue_) {
    if (hook->is_reading) return;
    if (std::exchange(hook->waits_for_reading, false) && hook->answer) set_timer(hook, now);
  }
}

// Another token owns the session. A session whose token was revoked has no owner, so its user can continue it with a
// new token.
bool hook_session::is_foreign(const grant_ptr& caller) const {
  return caller && session_owner_ && caller->name() != session_owner_->name() && !session_owner_->is_revoked();
}

void hook_session::forbid(waiting_hook& hook) {
  hook.timer.cancel();
  if (hook.answer) forbid(std::exchange(hook.answer, nullptr));
}

void hook_session::forbid(const response_callback& answer) {
  counts_.forbidden.fetch_add(1);
  answer(respond_error(boost::beast::http::status::forbidden, "forbidden", "the session belongs to another token"));
}

// The later calls wait too, at most until `max_wait` after this call arrived.
void hook_session::read_transcript(const waiting_ptr& hook) {
  hook->is_reading = parts_.transcripts.read(hook->call, [self = shared_from_this(),
                                                          hook](std::optional<hooks::transcript_facts>&& facts) {
    boost::asio::post(self->home_.context(), [self, hook, facts = std::move(facts)] { self->take_facts(hook, facts); });
  });
}

// Facts that come too late for their call count with the agent's next call.
void hook_session::take_facts(const waiting_ptr& hook, const std::optional<hooks::transcript_facts>& facts) {
  const std::string& agent = hook->call.agent;
  if (!std::exchange(hook->is_reading, false)) {
    const bool has_room = late_usage_.size() < max_queued || late_usage_.contains(agent);
    if (facts && has_room) late_usage_[agent] = facts->usage;
    return;
  }
  if (facts) {
    hook->call.usage = facts->usage;
    if (hook->call.model.empty()) hook->call.model = hooks::cut(facts->model, hooks::call::max_id_bytes);
  }
  begin_deadlines();
  pump();
}

// Usage is a total, so it does no harm to state it with several calls.
void hook_session::add_late_usage(hooks::call& to) {
  const auto found = late_usage_.find(to.agent);
  if (found == late_usage_.end()) return;
  if (to.usage && *to.usage != found->second) {
    late_usage_.erase(found);  // older than the usage of this call
  } else {
    to.usage = found->second;
  }
}

bool hook_session::is_congested() const {
  if (!host_) return false;
  return flow_state_.congested || sent_ - flow_state_.handled + flow_state_.outstanding >= credits_;
}

// Takes the calls in order; while a run opens, or a transcript is read, they wait.
void hook_session::pump() {
  if (std::exchange(pumping_, true)) return;
  while (!joining_ && !queue_.empty() && !queue_.front()->is_reading) {
    const waiting_ptr hook = queue_.front();
    if (is_foreign(hook->grant)) {  // the session got its owner while the call waited
      queue_.pop_front();
      forbid(*hook);
      continue;
    }
    if (session_owner_ && hook->grant && session_owner_->is_revoked()) session_owner_ = hook->grant;
    add_late_usage(hook->call);
    if (!hook->began_run && state_.needs_run(hook->call)) {
      hook->began_run = true;
      ended_ = false;
      open_run(hook->call);
      continue;
    }
    queue_.pop_front();
    if (host_ && std::exchange(has_gap_, false)) state_.note_gap();
    const auto taken = state_.take(hook->call);
    hook->judged_seq = taken.judged_seq;
    if (taken.judged_seq == 0) {
      send_lines();
      respond(*hook, taken.reply);
    } else if (hook->answer) {
      judged_[taken.judged_seq] = hook;
      send_lines();
    } else {  // the call waited too long for its run
      state_.give_up(taken.judged_seq);
      send_lines();
      respond(*hook, {});
    }
    if (state_.run().empty() && host_) leave_run();  // the call has ended it
    if (hook->call.kind == hooks::call_kind::session_ended) {
      ended_ = true;
      leave_run();
    }
  }
  pumping_ = false;
  if (has_ended()) on_end_();
}

void hook_session::answer_late(const waiting_ptr& hook) {
  if (!hook->answer) return;
  counts_.late.fetch_add(1);
  if (hook->judged_seq != 0 && judged_.erase(hook->judged_seq) > 0) {
    state_.give_up(hook->judged_seq);
    send_lines();
  }
  respond(*hook, {});
  if (!std::exchange(hook->is_reading, false)) return;
  begin_deadlines();
  pump();
}

void hook_session::respond(waiting_hook& hook, const hooks::reply& reply) {
  // Later, because the run may be carrying out its effects.
  if (hook.call.is_alone) boost::asio::post(home_.context(), [self = shared_from_this()] { self->end_alone(); });
  if (!hook.answer) return;
  hook.timer.cancel();
  switch (reply.action) {
    case hooks::reply_action::ask:
    case hooks::reply_action::cancel:
    case hooks::reply_action::deny: counts_.denied.fetch_add(1); break;
    case hooks::reply_action::block: counts_.blocked.fetch_add(1); break;
    case hooks::reply_action::amend_input: counts_.amended.fetch_add(1); break;
    case hooks::reply_action::none:
    case hooks::reply_action::add_context: break;
  }
  std::exchange(hook.answer, nullptr)(respond_json(dialect_.write(hook.call, reply)));
}

// No other call will come.
void hook_session::end_alone() {
  if (ended_ || !is_idle()) return;
  end();
  on_end_();
}

// ---- the run

void hook_session::open_run(const hooks::call& first, std::string_view suffix) {
  state_.end_run();
  send_lines();
  leave_run();
  // Other agents of the run before do not act in this one.
  std::erase_if(late_usage_, [](const auto& each) { return !each.first.empty(); });
  const std::string hello = state_.begin_run(first, suffix);
  join_request request;
  const refusal_note note = home_.hello_decoder().decode_hello(hello, request.greeting);
  if (note) {
    spdlog::error("hook_hello_refused field={} reason={}", digd::quoted(note.field), digd::quoted(note.text));
    return lose_run();
  }
  joining_ = true;
  link_ = std::make_shared<link>(weak_from_this());
  request.frame = hello;
  request.client = link_;
  request.home = &home_;
  request.grant = queue_.front()->grant;
  owner_ = &parts_.threads.owner_of(state_.run());
  boost::asio::post(owner_->context(), [owner = owner_, request = std::move(request)]() mutable {
    owner->runs().join(std::move(request));
  });
}

void hook_session::on_joined(join_result&& result) {
  joining_ = false;
  if (result.refused) return on_refused(result.refused);
  if (result.ended && !dialect_.reports_messages && !queue_.empty()) {
    // digd has ended the run, but the conversation continues. It gets a new run, so that the guards judge it.
    run_host::release_slot(std::move(result.host), result.slot);
    state_.lose_run();
    return open_run(queue_.front()->call, '.' + std::to_string(unix_ms()));
  }
  host_ = std::move(result.host);
  slot_ = result.slot;
  if (!queue_.empty() && queue_.front()->grant) session_owner_ = queue_.front()->grant;
  credits_ = result.credits;
  sent_ = 0;
  flow_state_ = {};
  const auto welcome = parsed(result.welcome);
  const json::object* guards = welcome ? object_of(*welcome, "guards") : nullptr;
  state_.joined(result.taken_seq, guards != nullptr, guards != nullptr && compares_repeats(*guards));
  pump();
}

void hook_session::on_refused(const refusal_note& why) {
  std::uint64_t suppressed = 0;
  if (home_.may_log(suppressed)) {
    spdlog::warn("hook_run_refused run={} code={} reason={} suppressed={}", digd::quoted(state_.run()),
                 to_string(why.code), digd::quoted(why.text), suppressed);
  }
  if (why.code != refusal::unauthorized) {
    lose_run();
    return pump();
  }
  // Another token owns the run's session. Calls that wait may come from that token.
  leave_run();
  state_.lose_run();
  const waiting_ptr hook = queue_.front();
  queue_.pop_front();
  forbid(*hook);
  if (!queue_.empty()) return pump();
  ended_ = true;
  on_end_();
}

void hook_session::send_lines() {
  for (std::string& line : state_.lines()) outgoing_.push_back(std::move(line));
  // The run may answer a line at once, and the answer may add lines. These follow the lines that wait already.
  if (std::exchange(sending_, true)) return;
  while (!outgoing_.empty()) {
    const std::string line = std::move(outgoing_.front());
    outgoing_.pop_front();
    if (!host_) continue;
    ++sent_;
    const auto now = std::chrono::steady_clock::now();
    if (owner_ == &home_) {
      const std::shared_ptr<run_host> host = host_;  // an answer may reset `host_`
      host->receive(slot_, line, now);
    } else {
      boost::asio::post(owner_->context(), [host = host_, slot = slot_, line, now] { host->receive(slot, line, now); });
    }
  }
  sending_ = false;
}

void hook_session::leave_run() {
  link_.reset();
  if (host_) run_host::release_slot(std::exchange(host_, nullptr), slot_);
  for (const auto& [seq, hook] : std::exchange(judged_, {})) respond(*hook, {});
}

// The run cannot be opened, or is gone: the calls that wait for it are answered and not recorded.
void hook_session::lose_run() {
  leave_run();
  state_.lose_run();
  joining_ = false;
  counts_.skipped.fetch_add(queue_.size());
  for (const waiting_ptr& hook : std::exchange(queue_, {})) respond(*hook, {});
}

bool hook_session::end() {
  const bool has_run = !state_.run().empty();
  state_.end_run();
  send_lines();
  close();
  ended_ = true;
  return has_run;
}

void hook_session::close() {
  leave_run();
  for (const waiting_ptr& hook : std::exchange(queue_, {})) respond(*hook, {});
}

// ---- frames from the run

void hook_session::on_frame(const client_frame& frame) {
  if (frame.type == ingest::frame_type::ack) return;
  const auto read = parsed(frame.text);
  if (!read) return;
  if (frame.type == ingest::frame_type::verdicts) return on_verdicts(*read);
  if (frame.type == ingest::frame_type::intervention) return on_intervention(*read);
  if (frame.type == ingest::frame_type::error) return on_error(*read, frame.code);
}

void hook_session::on_verdicts(const json::object& frame) {
  const std::uint64_t seq = whole_number_of(frame, "seq");
  const auto found = judged_.find(seq);
  const json::value* verdicts = frame.if_contains("verdicts");
  if (found == judged_.end() || verdicts == nullptr || !verdicts->is_array()) return;
  const waiting_ptr hook = found->second;
  judged_.erase(found);
  hooks::received_verdict received{.action = "deliver", .recipients = {}, .inject = {}};
  // Each message of a session has one event.
  if (const auto& list = verdicts->get_array(); !list.empty() && list.front().is_object()) {
    const json::object& verdict = list.front().get_object();
    received.action = hooks::text_of(verdict, "action");
    received.inject = hooks::text_of(verdict, "inject");
    received.recipients = names_of(verdict, "recipients");
    received.is_guards = is_of_guards(verdict);
  }
  const hooks::reply reply = state_.answer(seq, received);
  send_lines();
  respond(*hook, reply);
}

void hook_session::on_intervention(const json::object& frame) {
  const std::string action = hooks::text_of(frame, "action"), id = hooks::text_of(frame, "id");
  if (action == "cancel") return state_.cancel(id, names_of(frame, "activations"), hooks::text_of(frame, "inject"));
  if (action == "release") {
    state_.release(id);
    // The run may be carrying out its effects, and a message now would invalidate them.
    return boost::asio::post(home_.context(), [self = shared_from_this()] { self->send_lines(); });
  }
  state_.intervene(hooks::text_of(frame, "id"), hooks::text_of(frame, "event"), hooks::text_of(frame, "inject"),
                   names_of(frame, "recipients"));
}

void hook_session::on_error(const json::object& frame, refusal code) {
  std::uint64_t suppressed = 0;
  if (home_.may_log(suppressed)) {
    spdlog::warn("hook_message_refused run={} code={} reason={} suppressed={}", digd::quoted(state_.run()),
                 digd::quoted(hooks::text_of(frame, "code")), digd::quoted(hooks::text_of(frame, "message")),
                 suppressed);
  }
  const std::uint64_t seq = whole_number_of(frame, "seq");
  if (const auto found = judged_.find(seq); found != judged_.end()) {
    const waiting_ptr hook = found->second;
    judged_.erase(found);
    state_.drop(seq);
    respond(*hook, {});
  }
  if (code == refusal::run_closed) lose_run();
}

std::shared_ptr<hook_session> hook_session::link::owner() {
  auto session = owner_.lock();
  return session && session->link_.get() == this ? session : nullptr;
}

void hook_session::link::on_joined(join_result&& result) {
  if (const auto session = owner()) return session->on_joined(std::move(result));
  if (result.host) run_host::release_slot(std::move(result.host), result.slot);
}

void hook_session::link::on_frame(const client_frame& frame) {
  if (const auto session = owner()) session->on_frame(frame);
}

void hook_session::link::on_flow_state(const flow_state& now) {
  if (const auto session = owner()) session->flow_state_ = now;
}

void hook_session::link::on_deleted() {
  if (const auto session = owner()) session->lose_run();
}

}  // namespace digd::daemon
