#include "bench/healing/judge.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/quote.h"

namespace digd::bench {

namespace {

constexpr milliseconds rest_ms = 2'000;  // without a message and without work in hand
constexpr std::size_t max_named = 3;

}  // namespace

instruction judge::hear(const report& message) {
  const int answer = answer_in(message);
  if (answer >= 0 && acts_ < max_acts) return judge_answer(message, answer);
  instruction response = observer_.hear(message);
  read(message);
  const bool rests = message.type == message_type::time && message.ts - last_message_ >= rest_ms &&
                     std::all_of(open_.begin(), open_.end(), [&](const auto& activation) {
                       return message.ts - activation.second >= parameters_.stalled_ms;
                     });
  if (rests && acts_ < max_acts) judge_rest(message.ts, response);
  return response;
}

// Appends the message to its log.
void judge::read(const report& message) {
  if (message.type == message_type::time) return;
  last_message_ = message.ts;
  if (message.type == message_type::activation_started) open_[message.activation] = message.ts;
  if (message.type == message_type::activation_ended) open_.erase(message.activation);
  for (const report::reacted& r : message.reactions) {
    const auto found = std::find_if(log_.begin(), log_.end(), [&](const entry& e) { return e.id == r.input; });
    if (found == log_.end() || r.reaction == reaction::wait) continue;
    found->holder = r.reaction == reaction::reroute && !r.targets.empty() ? r.targets.front() : std::string();
  }
  for (const report::event& e : message.events) {
    if (whole_.size() == 0 && !e.label.empty()) whole_ = e.label.pieces().front().where;  // the problem
    log_.push_back({e.id, e.label, e.recipients.empty() ? std::string() : e.recipients.front()});
  }
}

void judge::spend_time(milliseconds now, instruction& response) {
  ++judged_;
  const double takes =
      lognormal(chance_.at(purpose::judge, 0, judged_), parameters_.judge_median_ms, parameters_.judge_spread);
  response.paused_until = now + static_cast<milliseconds>(std::llround(takes));
  response.tokens += parameters_.tokens_of_call + parameters_.tokens_of_completion +
                     parameters_.tokens_of_input * static_cast<double>(log_.size());
}

// Whether the judge objects to an answer with this label, and the gaps that it sees.
bool judge::objects(const cover& label, std::vector<range>& gaps) {
  random_stream s = chance_.at(purpose::judge, 1, judged_);
  const bool alarm = s.chance(parameters_.judge_false_alarm);
  for (const range gap : label.missing_in(whole_)) {
    if (!s.chance(parameters_.judge_overlook)) gaps.push_back(gap);
  }
  return alarm || !gaps.empty();
}

// Names events of the log that may fill the gaps, with the agents that hold them.
std::string judge::advice_on(const std::vector<range>& gaps) const {
  std::string text = "Your answer was not accepted yet. Something may be missing.";
  std::size_t named = 0;
  for (auto e = log_.rbegin(); e != log_.rend() && named < max_named; ++e) {
    const bool fills = std::any_of(gaps.begin(), gaps.end(), [&](range gap) { return e->label.overlaps(cover(gap)); });
    if (!fills || e->holder.empty()) continue;
    text += " See " + digd::quoted(e->id) + " at " + digd::quoted(e->holder) + '.';
    ++named;
  }
  return text;
}

instruction judge::judge_answer(const report& message, int answer) {
  instruction paused;
  spend_time(message.ts, paused);
  std::vector<range> gaps;
  const bool returned = objects(message.events[static_cast<std::size_t>(answer)].label, gaps);
  instruction response = returned ? give_back(message, answer, advice_on(gaps)) : observer_.hear(message);
  acts_ += returned;
  response.paused_until = paused.paused_until;
  response.tokens += paused.tokens;
  read(message);
  return response;
}

// Asks the agent that holds most of the work to act, or any agent.
void judge::judge_rest(milliseconds now, instruction& response) {
  spend_time(now, response);
  random_stream s = chance_.at(purpose::judge, 2, judged_);
  std::map<std::string, int> held;
  for (const entry& e : log_) {
    if (!e.holder.empty()) ++held[e.holder];
  }
  std::string to = agents_[s.below(static_cast<std::uint32_t>(agents_.size()))];
  const auto most =
      std::max_element(held.begin(), held.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const bool known = most != held.end() && std::find(agents_.begin(), agents_.end(), most->first) != agents_.end();
  if (s.chance(parameters_.judge_hit) && known) to = most->first;
  ++acts_;
  last_message_ = response.paused_until;
  response.interventions.push_back(notice(now, {to}, "The team has come to rest without an answer. Please go on."));
}

}  // namespace digd::bench
