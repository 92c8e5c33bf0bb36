#include "bench/healing/engine_monitor.h"

#include <stdexcept>
#include <utility>

#include "bench/healing/reading.h"

namespace digd::bench {

namespace {

// The hints of an injected text, one for each healed detection.
std::vector<hint> hints_in(const std::vector<std::uint32_t>& detections, const answer& from, std::string_view text) {
  std::vector<hint> hints;
  paragraphs of(text);
  for (const std::uint32_t i : detections) {
    const detection& d = from.detections[i];
    if (!d.healed) continue;
    hints.push_back({.rule = d.rule, .event = d.event.value_or(""), .evidence = d.evidence});
    read_text(of.next(), hints.back());
  }
  return hints;
}

}  // namespace

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
    if (keeps_ && kept_.size() < max_kept) kept_.push_back(d);
  }
  for (const outcome_report& o : answer.outcomes) {
    ++tally_.outcomes[index_of(o.rule)][static_cast<std::size_t>(o.outcome)];
  }
  for (const verdict& v : answer.verdicts) {
    answer_.verdicts.push_back({v.action, v.recipients, hints_in(v.detections, answer, v.inject)});
  }
  for (const intervention& i : answer.interventions) {
    answer_.interventions.push_back(
        {i.id, i.action, i.event.value_or(""), i.recipients, hints_in(i.detections, answer, i.inject)});
  }
}

std::vector<detection> engine_monitor::take_detections() { return std::exchange(kept_, {}); }

}  // namespace digd::bench
