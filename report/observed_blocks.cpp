#include "report/observed_blocks.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/picture/labels.h"
#include "report/picture/model.h"
#include "report/pictures.h"
#include "report/words.h"
#include "rules/rule.h"

namespace digd::report {

namespace {

constexpr std::size_t max_rows = 40, max_listed = 12;

std::string left_out(std::size_t shown, std::uint64_t total, const char* text) {
  return total > shown ? fmt::format("The first {} of {} {}.", shown, grouped(total), text) : std::string();
}

picture::time_scale time_of(const observed& seen) { return picture::time_scale::of(seen.first_ts, seen.last_ts); }

std::string list_of(const std::vector<std::string>& names, std::size_t total) {
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), max_listed); ++i)
    out += (i > 0 ? ", " : "") + short_name(names[i], 60);
  if (total > max_listed) out += fmt::format(" and {} more", total - max_listed);
  return out;
}

// A long list, folded under its own sentence.
block folded(block list) {
  std::string summary = list.text;
  while (summary.ends_with(':')) summary.pop_back();
  return {.kind = block::kind::details, .text = std::move(summary), .inside = {std::move(list)}};
}

// What digd would do; empty: nothing.
std::string_view action_words(action of) {
  switch (of) {
    case action::inject: return "tell the agent with the delivery";
    case action::reroute: return "give the event back";
    case action::create: return "send a system event";
    default: return {};
  }
}

std::string outcome_words(const reported_detection& d, const picture::time_scale& time) {
  if (!d.detection.healed) {
    const std::string_view would = action_words(d.detection.healing);
    return "Not healed: " + std::string(cause_words(d.detection.cause)) +
           (would.empty() ? std::string() : ". In mode enforce digd would " + std::string(would));
  }
  std::string out = capitalized(picture::finding_outcome(d.detection));
  if (!d.recipients.empty()) out += ", to " + list_of(d.recipients, d.recipients.size());
  if (!d.outcome) return out + "; the outcome is not known yet";
  constexpr const char* words[] = {"the symptom cleared", "the symptom came back", "the symptom stayed to the end"};
  return out + fmt::format("; {} ({})", words[static_cast<std::size_t>(*d.outcome)], time.moment(d.outcome_ts));
}

}  // namespace

table agent_table(const observed& seen) {
  table out{.caption = "Agents, and what they did with their inputs",
            .columns = {{"agent"},
                        {"activations", true},
                        {"failed", true},
                        {"busy", true},
                        {"took up", true},
                        {"left waiting", true},
                        {"discarded", true},
                        {"rerouted", true},
                        {"outputs", true},
                        {"detections", true}},
            .rows = {},
            .left_out = {}};
  std::vector<const agent_facts*> order;
  order.reserve(seen.agents.size());
  for (const agent_facts& a : seen.agents) order.push_back(&a);
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->activations > b->activations; });
  for (const agent_facts* a : order) {
    if (out.rows.size() == max_rows) break;
    const bool joined = a->member || a->activations > 0;
    out.rows.push_back({short_name(a->name, 80) + (joined ? "" : " (never joined)"), grouped(a->activations),
                        grouped(a->failed), picture::duration(a->busy_ms), grouped(a->consumed), grouped(a->waited),
                        grouped(a->discarded), grouped(a->rerouted), grouped(a->outputs), grouped(a->findings)});
  }
  out.left_out = left_out(out.rows.size(), seen.agents.size(), "agents, the busiest");
  return out;
}

table rule_table(const observed& seen) {
  table out{.caption = "Detections by rule, and what became of the healed ones",
            .columns = {{"rule"},
                        {"severity"},
                        {"found", true},
                        {"healed", true},
                        {"cleared", true},
                        {"came back", true},
                        {"stayed", true},
                        {"why not healed"}},
            .rows = {},
            .left_out = {}};
  for (std::size_t i = 0; i < rule_count; ++i) {
    const rule_facts& r = seen.rules[i];
    if (r.found == 0) continue;
    std::string problem;
    for (std::size_t c = 1; c < r.causes.size(); ++c) {
      if (r.causes[c] > 0)
        problem += fmt::format("{}{} ({})", problem.empty() ? "" : ", ", cause_words(static_cast<cause>(c)),
                               grouped(r.causes[c]));
    }
    const rule& which = rule_of(static_cast<rule_id>(i));
    out.rows.push_back({std::string(which.doc.code) + " " + std::string(to_string(which.id)),
                        std::string(to_string(which.severity)), grouped(r.found), grouped(r.healed),
                        grouped(r.outcomes[0]), grouped(r.outcomes[1]), grouped(r.outcomes[2]),
                        problem.empty() ? "–" : problem});
  }
  return out;
}

std::vector<fact> facts_of(const observed& seen) {
  std::vector<fact> out{
      {"outcome", seen.ended_text.empty() ? (seen.submitted ? "submitted" : "going on") : seen.ended_text},
      {"mode", std::string(to_string(seen.mode))},
      {"took", seen.guessed.times ? "unknown" : picture::duration(seen.last_ts - seen.first_ts)},
      {"agents", grouped(seen.members())},
      {"activations", grouped(seen.activations)},
      {"events", grouped(seen.events)},
      {"detections", grouped(seen.found)},
      {"healed", grouped(seen.healed)},
      {"still waiting", grouped(seen.pending_total)}};
  if (seen.failed > 0) out.push_back({"failed activations", grouped(seen.failed)});
  if (seen.refused > 0) out.push_back({"refused messages", grouped(seen.refused)});
  if (seen.dropped > 0) out.push_back({"not observed", grouped(seen.dropped)});
  for (std::size_t i = 0; i < std::min(seen.labels.size(), max_listed); ++i) {
    out.push_back({"label " + short_name(seen.labels[i].first), short_name(seen.labels[i].second, 80)});
  }
  return out;
}

table flow_table(const observed& seen) {
  table out{.caption = "Events given, by who made and who got them",
            .columns = {{"from"}, {"to"}, {"given", true}, {"left waiting, discarded or rerouted", true}},
            .rows = {},
            .left_out = {}};
  const auto name = [&](index end) {
    return end == flow::outside ? "outside" : end == flow::monitor ? "digd" : short_name(seen.agents[end].name, 80);
  };
  for (const flow& f : seen.flows) {
    if (out.rows.size() == max_rows) break;
    out.rows.push_back({name(f.from), name(f.to), grouped(f.given), grouped(f.idle)});
  }
  out.left_out = left_out(out.rows.size(), seen.flows.size() + seen.flows_left_out, "pairs, those with most");
  return out;
}

std::vector<block> course_blocks(const observed& seen) {
  constexpr std::size_t max_open_notes = 3;
  std::vector<block> out{block::of(draw_timeline(seen))};
  const picture::time_scale time = time_of(seen);
  if (!seen.pending.empty()) {
    block waits{.kind = block::kind::list,
                .text = fmt::format("Still waiting at the end ({}):", counted(seen.pending_total, "event", "events"))};
    for (const waiting_event& w : seen.pending)
      waits.items.push_back(short_name(w.id, 80) + " at " + list_of(w.at, w.at.size()));
    if (seen.pending_total > seen.pending.size())
      waits.items.push_back(fmt::format("and {} more", seen.pending_total - seen.pending.size()));
    out.push_back(waits.items.size() <= max_open_notes ? std::move(waits) : folded(std::move(waits)));
  }
  block notes{.kind = block::kind::list, .text = "What else happened:"};
  for (const timed_note& n : seen.notes) {
    if (!n.ends_run) notes.items.push_back(fmt::format("{}: {}", time.moment(n.ts), quotable(n.text, 300)));
  }
  if (!notes.items.empty()) {
    if (seen.notes_left_out > 0) notes.items.push_back(fmt::format("and {} more", seen.notes_left_out));
    out.push_back(notes.items.size() <= max_open_notes ? std::move(notes) : folded(std::move(notes)));
  }
  return out;
}

block detection_block(const reported_detection& d, std::size_t number, const observed& seen, const std::string& quote) {
  const picture::time_scale time = time_of(seen);
  block out{.kind = block::kind::details};
  const std::string code(picture::code_of(d.detection.rule));
  out.badge = code;
  out.grave = d.detection.severity == severity::failure;
  out.text = fmt::format("{}. {} at {}{}{}", number, rule_words(d.detection.rule), time.moment(d.detection.ts),
                         d.detection.event ? " · " + short_name(*d.detection.event) : "",
                         d.detection.agent ? " · " + short_name(*d.detection.agent) : "");
  out.inside.push_back(block::words(d.detection.reason));
  if (!quote.empty())
    out.inside.push_back({.kind = block::kind::list,
                          .text = fmt::format("What {} says:", short_name(*d.detection.event, 60)),
                          .items = {quote}});
  if (!d.detection.evidence.empty()) {
    out.inside.push_back(block::words(
        "Evidence: " +
        list_of(d.detection.evidence, std::max(d.detection.evidence_total, d.detection.evidence.size())) + "."));
  }
  out.inside.push_back(block::words(outcome_words(d, time) + "."));
  if (!d.inject.empty())
    out.inside.push_back({.kind = block::kind::list, .text = "Text given with it:", .items = {d.inject}});
  if (!d.detection.witness.events.empty() || !d.detection.witness.activations.empty())
    out.inside.push_back(block::of(draw_witness(d.detection)));
  return out;
}

}  // namespace digd::report
