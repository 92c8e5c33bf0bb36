#include "bench/healing/judge.h"

#include <cmath>
#include <set>
#include <utility>

#include "bench/healing/control.h"
#include "bench/healing/reading.h"

namespace digd::bench {

judge::judge(const draws& chance) : chance_(chance), observer_("\"mode\":\"observe\"") { observer_.keep_detections(); }

void judge::open(const std::vector<std::string>& agents, const parameters& parameters) {
  agents_ = agents;
  parameters_ = parameters;
  observer_.open(agents, parameters);
}

instruction judge::hear(const report& report) {
  instruction instruction = observer_.hear(report);
  if (report.type == message_type::activation_ended &&
      ++ended_ % static_cast<std::uint64_t>(parameters_.judge_every) == 0 && speaks_at_ < 0) {
    begin(report.ts, instruction);
  }
  if (report.type == message_type::time && speaks_at_ >= 0 && report.ts >= speaks_at_) speak(report.ts, instruction);
  return instruction;
}

void judge::begin(milliseconds now, instruction& instruction) {
  ++judged_;
  const double takes =
      lognormal(chance_.at(purpose::judge, 0, judged_), parameters_.judge_median_ms, parameters_.judge_spread);
  speaks_at_ = now + static_cast<milliseconds>(std::llround(takes));
  instruction.paused_until = speaks_at_;
}

// Names each rule that fired since the last judgement with the probability of a hit, and sometimes a rule that did not.
void judge::speak(milliseconds now, instruction& instruction) {
  speaks_at_ = -1;
  random_stream s = chance_.at(purpose::judge, 1, judged_);
  std::set<rule_id> named;
  for (const detection& d : observer_.take_detections()) {
    if (named.contains(d.rule) || !s.chance(parameters_.judge_hit)) continue;
    named.insert(d.rule);
    std::vector<std::string> to = agents_;
    if (d.agent) to = {*d.agent};
    say(now, std::move(to), in_words_of(d.rule, d.event.value_or(""), d.evidence), instruction);
  }
  if (s.chance(parameters_.judge_false_alarm)) {
    const auto rule = static_cast<rule_id>(s.below(failure_rule_count));
    say(now, {agents_[s.below(static_cast<std::uint32_t>(agents_.size()))]}, in_words_of(rule), instruction);
  }
}

void judge::say(milliseconds now, std::vector<std::string> to, hint hint, instruction& instruction) {
  const std::string id = "judge:" + std::to_string(++spoken_);
  instruction.interventions.push_back(announce_notice(observer_, id, now, std::move(to), std::move(hint)));
}

}  // namespace digd::bench
