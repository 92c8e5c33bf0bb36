#include "report/verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/picture/labels.h"
#include "report/words.h"
#include "rules/rule.h"

namespace digd::report {

namespace {

std::string ending(const observed& seen) {
  const std::string lasted = picture::duration(seen.last_ts - seen.first_ts);
  const std::string after = seen.guessed.times ? std::string() : " after " + lasted;
  switch (seen.ended) {
    case run_outcome::success: return "The run succeeded" + after;
    case run_outcome::failure: return "The run failed" + after;
    case run_outcome::aborted: return "The run was aborted" + after;
    case run_outcome::none: break;
  }
  if (seen.submitted) return "The run submitted its answer" + after;
  return "The run has not ended" + (seen.guessed.times ? "" : fmt::format("; its last message came after {}", lasted));
}

std::string size_of(const observed& seen) {
  return fmt::format("{} of {}", counted(seen.messages, "message", "messages"),
                     counted(seen.members(), "agent", "agents"));
}

// The outcomes of the healings: "5 cleared, 1 came back".
std::string outcomes_of(const observed& seen) {
  std::array<std::uint64_t, 3> sums{};
  for (const rule_facts& r : seen.rules) {
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += r.outcomes[k];
  }
  constexpr const char* words[] = {"cleared", "came back", "stayed to the end"};
  std::string out;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    if (sums[k] > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", grouped(sums[k]), words[k]);
  }
  return out;
}

std::uint64_t cleared(const observed& seen) {
  std::uint64_t sum = 0;
  for (const rule_facts& r : seen.rules) sum += r.outcomes[static_cast<std::size_t>(outcome_kind::cleared)];
  return sum;
}

bool ended_badly(const observed& seen) {
  return seen.ended == run_outcome::failure || seen.ended == run_outcome::aborted;
}

std::string without_detections(const observed& seen) {
  if (seen.messages == 0) return "Nothing has happened yet. A client said hello and sent no message since.";
  if (ended_badly(seen))
    return fmt::format(
        "{}. No rule fired in its {}: digd saw no failure of collaboration, so look at what the agents said.",
        ending(seen), size_of(seen));
  std::string out = fmt::format("Nothing was found. {}; no rule fired in its {}.", ending(seen), size_of(seen));
  if (seen.pending_total > 0)
    out += fmt::format(" {} still waiting.", counted(seen.pending_total, "event is", "events are"));
  return out;
}

rule_id rule_fired_most(const observed& seen) {
  std::size_t commonest = 0;
  for (std::size_t k = 1; k < rule_count; ++k) {
    if (seen.rules[k].found > seen.rules[commonest].found) commonest = k;
  }
  return static_cast<rule_id>(commonest);
}

// The reason of a detection, shortened for an answer: a long list of events is cut. Section Why has the whole reason.
std::string brief_reason(const std::string& reason) {
  constexpr std::size_t max_bytes = 160;
  if (reason.size() <= max_bytes) return reason;
  const std::size_t comma = reason.rfind(", ", max_bytes), space = reason.rfind(' ', max_bytes);
  const std::size_t end = comma != std::string::npos ? comma : space != std::string::npos ? space : 0;
  return end == 0 ? short_name(reason, max_bytes) : reason.substr(0, end) + ", …";
}

// The sentence of the detection that counts most, and when it came.
std::string about_first(const observed& seen, const detection& d) {
  const bool fails = d.severity == severity::failure;
  const std::string which = seen.found == 1 ? "It came"
                            : fails         ? "The first failure that has not cleared came"
                                            : "The first warning that has not cleared came";
  const picture::time_scale time = picture::time_scale::of(seen.first_ts, seen.last_ts);
  return fmt::format(" {} at {}: {}", which, time.moment(d.ts), brief_reason(d.reason));
}

// An importer guessed the links, and no digd was there to heal.
std::string failure_in_guessed_links(const observed& seen) {
  std::string out =
      ending(seen) + ". In the links that the importer inferred, digd detected " + detections_by_rule(seen);
  const reported_detection* first = first_uncleared(seen);
  if (first == nullptr) return out + ".";
  const bool fails = first->detection.severity == severity::failure;
  out += seen.found == 1 ? ": " : fails ? ". The first failure: " : ". The first warning: ";
  return out + brief_reason(first->detection.reason);
}

std::string failure_text(const observed& seen) {
  if (seen.found == 0) return without_detections(seen);
  if (seen.guessed.links) return failure_in_guessed_links(seen);
  if (cleared(seen) >= seen.found && !ended_badly(seen)) {
    return fmt::format("Nothing that lasted. {}; digd healed {}, and each cleared.", ending(seen),
                       seen.found == 1 ? "its 1 detection" : "all " + grouped(seen.found) + " detections");
  }
  const std::string outcomes = outcomes_of(seen);
  std::string out = ending(seen) + ". digd detected " + detections_by_rule(seen);
  if (seen.healed == 0) out += seen.found == 1 ? ", and did not heal it." : ", and healed none.";
  else out += fmt::format(", and healed {}{}.", grouped(seen.healed), outcomes.empty() ? "" : ": " + outcomes);
  const reported_detection* first = first_uncleared(seen);
  return first == nullptr ? out : out + about_first(seen, first->detection);
}

std::string sentence(std::string_view clause) {
  const std::string out = capitalized(std::string(clause));
  return out.ends_with('.') ? out : out + '.';
}

std::string about(const detection& d, const std::string& subject) {
  if (!d.event) return fmt::format("`digctl rules {}` explains the rule", to_string(d.rule));
  return fmt::format("`digctl show {} --around {}` shows it", subject, short_name(*d.event, 60));
}

std::string advice_text(const observed& seen, const conclusion& concluded, const std::string& subject) {
  if (seen.messages == 0) return "If the system works already, check that its client reports to this run.";
  const bool names = concluded.verdict == conclusion::kind::suspect;
  if (seen.guessed.links && names) return "Check the named step first; section Who has the next ones.";
  if (seen.guessed.links && seen.found > 0) return "Read the run step by step: `digctl show " + subject + "`.";
  if (const reported_detection* first = first_uncleared(seen)) {
    const detection& d = first->detection;
    std::string out = sentence(rule_of(d.rule).doc.advice);
    if (d.cause == cause::mode) out += " digd only reported it: in mode enforce it also heals.";
    return out + " " + sentence(about(d, subject));
  }
  if (seen.found > 0 && !ended_badly(seen)) {
    const rule_id rule = rule_fired_most(seen);
    return fmt::format("Nothing for this run. Against {}, the most frequent: {}", rule_words(rule),
                       std::string(rule_of(rule).doc.advice) + ".");
  }
  if (names) return "Check the named step first; section Who has the next ones.";
  if (concluded.verdict == conclusion::kind::nobody) return "Read the run step by step: `digctl show " + subject + "`.";
  if (ended_badly(seen)) return "`digctl report " + subject + "` looks for the responsible agent and step.";
  return "Nothing.";
}

}  // namespace

const reported_detection* first_uncleared(const observed& seen) {
  const reported_detection* first = nullptr;
  for (const reported_detection& d : seen.detections) {
    if (d.outcome == outcome_kind::cleared) continue;
    if (d.detection.severity == severity::failure) return &d;
    if (first == nullptr) first = &d;
  }
  return first;
}

std::string detections_by_rule(const observed& seen) {
  std::vector<std::pair<std::uint64_t, std::string>> rules;
  for (std::size_t k = 0; k < rule_count; ++k) {
    const std::uint64_t n = seen.rules[k].found;
    if (n > 0) rules.emplace_back(n, counted_rule(n, static_cast<rule_id>(k)));
  }
  std::stable_sort(rules.begin(), rules.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> names;
  names.reserve(rules.size());
  for (auto& [n, name] : rules) names.push_back(std::move(name));
  return listed(names);
}

std::vector<answer_line> answers_of(const observed& seen, const conclusion& concluded, const std::string& subject) {
  return {{"What went wrong?", failure_text(seen)},
          {"Who?", concluded.words},
          {"What now?", advice_text(seen, concluded, subject)}};
}

}  // namespace digd::report
