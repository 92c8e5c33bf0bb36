#include "bench/healing/engine_monitor.h"

#include <stdexcept>
#include <utility>

namespace digd::bench {

engine_monitor::engine_monitor(regime asks)
    : asks_(std::move(asks)),
      replay_(run_policy{}, {.frame = {}, .record = [this](const auto& item) { take(item); }}) {}

void engine_monitor::open(const std::vector<std::string>& agents, const parameters& parameters) {
  say(hello_line("bench", agents, parameters, asks_));
}

void engine_monitor::say(const std::string& line) {
  if (on_line) on_line(line);
  if (!replay_.line(line)) throw std::runtime_error("the engine refuses the run: " + replay_.problem());
}

instruction engine_monitor::hear(const report& report) {
  answer_ = {};
  say(message_line(report, ++seq_));
  return std::move(answer_);
}

void engine_monitor::take(const ingest::record& record) {
  const digd::answer& answer = record.answer;
  tally_.refused += record.kind == ingest::record_kind::refused;
  for (const detection& d : answer.detections) {
    ++tally_.detections[index_of(d.rule)];
    tally_.healed[index_of(d.rule)] += d.healed;
    if (kept_.size() < max_kept) kept_.push_back(d);
  }
  for (const outcome_report& o : answer.outcomes) {
    ++tally_.outcomes[index_of(o.rule)][static_cast<std::size_t>(o.outcome)];
  }
  for (const verdict& v : answer.verdicts) {
    answer_.verdicts.push_back({v.action, v.recipients, v.inject});
  }
  for (const intervention& i : answer.interventions) {
    answer_.interventions.push_back({i.id, i.action, i.event.value_or(""), i.recipients, i.inject});
  }
}

}  // namespace digd::bench
