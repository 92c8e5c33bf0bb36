#include "bench/healing/control.h"

#include <algorithm>
#include <utility>

namespace digd::bench {

// ---- what controls share

control::control(regime asks) : observer_(std::move(asks)) {}

void control::open(const std::vector<std::string>& agents, const parameters& parameters) {
  agents_ = agents;
  parameters_ = parameters;
  observer_.open(agents, parameters);
}

int control::answer_in(const report& message) {
  const auto found =
      std::find_if(message.events.begin(), message.events.end(), [](const report::event& e) { return e.submit; });
  return found == message.events.end() ? -1 : static_cast<int>(found - message.events.begin());
}

instruction control::give_back(report message, int answer, std::string_view text) {
  const auto at = static_cast<std::size_t>(answer);
  message.events[at].submit = false;
  message.events[at].recipients = {message.agent};
  instruction response = observer_.hear(message);
  instruction::verdict& v = response.verdicts[blocked_in(message) - message.events.size() + at];
  v.action = action::reroute;
  v.recipients = {message.agent};
  v.text = text;
  return response;
}

instruction::intervention control::notice(milliseconds now, std::vector<std::string> recipients,
                                          std::string_view text) {
  const std::string id = "control:" + std::to_string(++notices_);
  report r{.type = message_type::event, .ts = now};
  r.events.push_back({.id = id, .kind = "notice", .recipients = recipients, .fyi = true});
  observer_.hear(r);
  return {.id = id,
          .action = action::create,
          .recipients = std::move(recipients),
          .text = std::string(text),
          .wants_report = false};
}

// ---- the blind guard

instruction blind_guard::hear(const report& message) {
  const int answer = answer_in(message);
  if (answer < 0 || left_ == 0) return observer_.hear(message);
  --left_;
  return give_back(message, answer, blind_text);
}

// ---- random texts

instruction recorder::hear(const report& report) {
  instruction response = inner_.hear(report);
  for (const instruction::verdict& v : response.verdicts) {
    if (v.action != action::deliver) noted_.push_back({report.ts, 0});
  }
  for (const instruction::intervention& i : response.interventions) {
    noted_.push_back({report.ts, i.action == action::create ? i.recipients.size() : 0});
  }
  return response;
}

random_texts::random_texts(const draws& chance, std::vector<planned_text> like, milliseconds lasted)
    : chance_(chance), due_(std::move(like)) {
  random_stream s = chance_.at(purpose::control);
  for (planned_text& text : due_) text.at = static_cast<milliseconds>(s.uniform(0, static_cast<double>(lasted)));
  std::stable_sort(due_.begin(), due_.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
}

bool random_texts::take(milliseconds now, bool with_message, planned_text& due) {
  const auto found = std::find_if(due_.begin(), due_.end(), [&](const planned_text& text) {
    return text.at <= now && (text.recipients == 0) == with_message;
  });
  if (found == due_.end()) return false;
  due = *found;
  due_.erase(found);
  ++made_;
  return true;
}

// Adds a text to an event that is delivered anyway, or creates a notice.
instruction random_texts::hear(const report& message) {
  instruction response = observer_.hear(message);
  planned_text due;
  if (message.type == message_type::activation_ended && blocked_in(message) > 0 && answer_in(message) < 0 &&
      take(message.ts, true, due)) {
    random_stream s = chance_.at(purpose::control, 0, made_);
    instruction::verdict& v = response.verdicts[s.below(static_cast<std::uint32_t>(blocked_in(message)))];
    v.action = action::inject;
    v.text = neutral_text;
  }
  while (message.type == message_type::time && take(message.ts, false, due)) {
    random_stream s = chance_.at(purpose::control, 0, made_);
    std::vector<std::string> to = agents_;
    s.shuffle(std::span<std::string>(to));
    to.resize(std::min(to.size(), due.recipients));
    response.interventions.push_back(notice(message.ts, std::move(to), neutral_text));
  }
  return response;
}

}  // namespace digd::bench
