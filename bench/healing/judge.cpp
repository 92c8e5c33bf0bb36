#include "bench/healing/judge.h"

#include <cmath>
#include <set>
#include <utility>

#include "bench/healing/control.h"
#include "bench/healing/reading.h"

namespace digd::bench {

judge::judge(const draws& chance) : chance_(chance), observer_("\"mode\":\"observe\"") { observer_.keep_detections(); }

void judge::open(const std::vector<std::string>& agents, const parameters& how) {
  agents_ = agents;
  how_ = how;
  observer_.open(agents, how);
}

instruction judge::hear(const report& what) {
  instruction told = observer_.hear(what);
  if (what.type == message_type::activation_ended && ++ended_ % static_cast<std::uint64_t>(how_.judge_every) == 0 &&
      speaks_at_ < 0) {
    begin(what.ts, told);
  }
  if (what.type == message_type::time && speaks_at_ >= 0 && what.ts >= speaks_at_) speak(what.ts, told);
  return told;
}

void judge::begin(milliseconds now, instruction& told) {
  ++judged_;
  const double takes = lognormal(chance_.at(purpose::judge, 0, judged_), how_.judge_median_ms, how_.judge_spread);
  speaks_at_ = now + static_cast<milliseconds>(std::llround(takes));
  told.paused_until = speaks_at_;
}

// Each rule that has fired since the last time is named with the chance of a hit, once; and now and then one that is none.
void judge::speak(milliseconds now, instruction& told) {
  speaks_at_ = -1;
  random_stream s = chance_.at(purpose::judge, 1, judged_);
  std::set<rule_id> named;
  for (const detection& d : observer_.take_detections()) {
    if (named.contains(d.rule) || !s.chance(how_.judge_hit)) continue;
    named.insert(d.rule);
    std::vector<std::string> to = agents_;
    if (d.agent) to = {*d.agent};
    say(now, std::move(to), in_words_of(d.rule, d.event.value_or(""), d.evidence), told);
  }
  if (s.chance(how_.judge_false_alarm)) {
    const auto rule = static_cast<rule_id>(s.below(rule_count));
    say(now, {agents_[s.below(static_cast<std::uint32_t>(agents_.size()))]}, in_words_of(rule), told);
  }
}

void judge::say(milliseconds now, std::vector<std::string> to, hint what, instruction& told) {
  const std::string id = "judge:" + std::to_string(++spoken_);
  told.interventions.push_back(announce_notice(observer_, id, now, std::move(to), std::move(what)));
}

}  // namespace digd::bench
