#include "tests/ingest/hooks/hook_player.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <utility>

#include "ingest/hooks/read_call.h"
#include "model/rule_id.h"
#include "rules/rule.h"

namespace digd::tests {

namespace {

namespace json = boost::json;

constexpr std::int64_t step_ms = 1000;

std::vector<std::string> names_of(const json::object& from, std::string_view member) {
  std::vector<std::string> names;
  const json::value* list = from.if_contains(member);
  if (list == nullptr || !list->is_array()) return names;
  for (const json::value& name : list->get_array()) names.emplace_back(name.get_string().c_str());
  return names;
}

bool is_of_guards(const json::object& verdict) {
  const json::value* list = verdict.if_contains("detections");
  if (list == nullptr || !list->is_array()) return false;
  return std::all_of(list->get_array().begin(), list->get_array().end(), [](const json::value& each) {
    const auto rule = rule_from(hooks::text_of(each.get_object(), "rule"));
    return rule && is_guard(*rule);
  });
}

}  // namespace

hook_player::hook_player(const hooks::dialect& as, std::string mode, run_policy policy)
    : dialect_(as), mode_(std::move(mode)), policy_(std::move(policy)) {}

hook_player::played hook_player::play(std::string_view body) {
  auto read = hooks::read_call(dialect_, body);
  if (!read) return {.is_refused = true, .problem = read.error(), .call = {}, .answer = {}};
  played result{.is_refused = false, .problem = {}, .call = std::move(*read), .answer = "{}"};
  hooks::call& call = result.call;
  // The daemon answers these without a session.
  if (call.kind == hooks::call_kind::other || call.kind == hooks::call_kind::unused) return result;
  if (!session_ || session_->id() != call.session) {
    session_ = std::make_unique<hooks::session>(call.session,
                                                hooks::session_options{.program = std::string(dialect_.name),
                                                                       .mode = mode_,
                                                                       .clock = "trace",
                                                                       .able = dialect_.able,
                                                                       .stop_is_answer = dialect_.stop_is_answer});
    engine_.reset();
  }
  call.ts = now_ms_ += step_ms;
  if (session_->needs_run(call)) open_run(call);
  const hooks::session::taken taken = session_->take(call);
  judged_seq_ = taken.judged_seq;
  reply_ = taken.reply;
  send_lines();
  if (judged_seq_ != 0) session_->drop(std::exchange(judged_seq_, 0));  // the message was refused
  result.answer = dialect_.write(call, reply_);
  return result;
}

void hook_player::open_run(const hooks::call& first) {
  session_->end_run();
  send_lines();
  ingest::replay::listener to;
  to.frame = [this](std::string_view frame) { frames_.emplace_back(frame); };
  to.record = [this](const ingest::record& record) {
    if (record.answer.refused) refused_.push_back(record.answer.refused.field + ": " + record.answer.refused.text);
    for (const detection& each : record.answer.detections) detections_.push_back(each);
  };
  engine_ = std::make_unique<ingest::replay>(policy_, std::move(to));
  lines_.push_back(session_->begin_run(first));
  if (!engine_->line(lines_.back())) refused_.push_back(engine_->problem());
  const bool guards = is_any_guard_on(policy_.defaults.guards);
  session_->joined(0, guards, policy_.defaults.guards.max_repeats.has_value());
}

void hook_player::send_lines() {
  std::vector<std::string> waiting = session_->lines();
  while (!waiting.empty()) {
    for (std::string& line : waiting) {
      if (engine_ && !engine_->line(line)) refused_.push_back(engine_->problem() + ": " + line);
      lines_.push_back(std::move(line));
      for (const std::string& frame : std::exchange(frames_, {})) on_frame(frame);
    }
    waiting = session_->lines();
  }
}

void hook_player::on_frame(std::string_view frame) {
  const json::value value = json::parse({frame.data(), frame.size()});
  const json::object& read = value.get_object();
  const std::string type = hooks::text_of(read, "type");
  if (type == "intervention") {
    const std::string action = hooks::text_of(read, "action"), id = hooks::text_of(read, "id");
    const std::string text = hooks::text_of(read, "inject");
    if (action == "cancel") return session_->cancel(id, names_of(read, "activations"), text);
    if (action == "release") return session_->release(id);
    return session_->intervene(id, hooks::text_of(read, "event"), text, names_of(read, "recipients"));
  }
  if (type != "verdicts" || judged_seq_ == 0 ||
      static_cast<std::uint64_t>(hooks::count_of(read, "seq")) != judged_seq_) {
    return;
  }
  hooks::received_verdict received{.action = "deliver", .recipients = {}, .inject = {}};
  if (const json::array& list = read.at("verdicts").get_array(); !list.empty()) {
    const json::object& verdict = list.front().get_object();
    received = {.action = hooks::text_of(verdict, "action"),
                .recipients = names_of(verdict, "recipients"),
                .inject = hooks::text_of(verdict, "inject"),
                .is_guards = is_of_guards(verdict)};
  }
  reply_ = session_->answer(std::exchange(judged_seq_, 0), received);
}

}  // namespace digd::tests
