#include "report/compose.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "report/lit_path.h"
#include "report/observed_blocks.h"
#include "report/picture/labels.h"
#include "report/picture/selection.h"
#include "report/picture/svg.h"
#include "report/picture/text.h"
#include "report/pictures.h"
#include "report/usage_blocks.h"
#include "report/verdict.h"
#include "report/words.h"

namespace digd::report {

namespace {

picture::selection drawn_part(const gathered& from, const graph_bounds& most) {
  picture::filter filter;
  filter.limit = from.graph.whole && from.graph.model.rows.size() <= 3 * most.nodes ? most.nodes : most.nodes_of_part;
  return picture::select(from.graph.model, filter);
}

std::string path_in_words(const lit_path& path) {
  constexpr std::size_t max_stops = 24;
  std::string out;
  for (std::size_t i = 0; i < path.stops.size(); ++i) {
    if (path.stops.size() > max_stops && i == max_stops / 2) {
      out += " → …";
      i = path.stops.size() - max_stops / 2;
    }
    const lit_path::stop& s = path.stops[i];
    if (!out.empty()) out += " → ";
    out += s.is_activation ? short_name(s.id) + " (" + short_name(s.agent) + ")" : short_name(s.id);
  }
  return out;
}

// The leading detection first, then the others in the report, failures before warnings.
std::vector<const detection*> in_order_of_weight(const observed& seen) {
  std::vector<const detection*> detections;
  if (const reported_detection* leads = seen.leading()) detections.push_back(&leads->detection);
  for (const severity weight : {severity::failure, severity::warning}) {
    for (const reported_detection& d : seen.detections) {
      if (d.detection.severity == weight && &d.detection != detections.front()) detections.push_back(&d.detection);
    }
  }
  return detections;
}

std::string about_path(const lit_path& path, const observed& seen) {
  const picture::time_scale time = picture::time_scale::of(seen.first_ts, seen.last_ts);
  std::string out = fmt::format("The lit path, from where it came from to {} at {}: {}.", rule_words(path.to->rule),
                                time.moment(path.to->ts), path_in_words(path));
  if (path.by == nullptr) return out;
  return out + fmt::format(" Held responsible on it: {}, {}.",
                           short_name(path.by->activation.empty() ? path.by->event : path.by->activation),
                           path.by->reason);
}

// The graph with the lit path; through the suspect only if the conclusion names one.
std::vector<block> graph_blocks(const gathered& from, const conclusion& concluded, const std::string& subject,
                                const graph_bounds& most) {
  std::vector<block> out;
  const picture::selection part = drawn_part(from, most);
  std::vector<blamed> suspects;
  if (concluded.verdict == conclusion::kind::suspect) {
    suspects.push_back(
        {.activation = concluded.suspect.activation,
         .event = concluded.suspect.event,
         .reason = "named by " + concluded.method + (concluded.margin.empty() ? "" : " (" + concluded.margin + ")")});
  }
  const lit_path path = light(from.graph.model, in_order_of_weight(from.seen), suspects);
  if (!path.stops.empty()) out.push_back(block::words(about_path(path, from.seen)));

  const bool complete = from.graph.whole && part.nodes == part.all_nodes;
  figure drawn;
  drawn.title = complete              ? "Every activation and event"
                : from.seen.found > 0 ? "About the leading detection, in full"
                                      : "The beginning, in full";
  drawn.caption =
      fmt::format("Time downwards, a lane for each agent; circles and bars are activations, squares are events.{}",
                  path.stops.empty() ? "" : " The broad band is the lit path.");
  drawn.svg =
      picture::draw_svg(from.graph.model, part,
                        {.embedded = true, .id = "graph-picture", .lit = path.stops.empty() ? nullptr : &path.lit});
  out.push_back(block::of(std::move(drawn)));
  if (!complete) {
    out.push_back(block::remark(fmt::format(
        "This picture has {} of the run's {} activations and events; digctl show {} --svg --around EVENT draws others.",
        part.nodes, grouped(from.seen.activations + from.seen.events), subject)));
  }
  return out;
}

block folded(std::string summary, std::vector<block> inside) {
  return {.kind = block::kind::details, .text = std::move(summary), .inside = std::move(inside)};
}

section failure_section(const gathered& from, const conclusion& concluded, const std::string& subject,
                        const graph_bounds& most) {
  const observed& seen = from.seen;
  section out{.id = "what", .title = "What happened", .blocks = course_blocks(seen)};
  out.blocks.push_back(
      folded(fmt::format("The graph: {} and {}", counted(seen.activations, "activation", "activations"),
                         counted(seen.events, "event", "events")),
             graph_blocks(from, concluded, subject, most)));
  out.blocks.push_back(folded("Who gave events to whom", {block::of(draw_flows(seen)), block::of(flow_table(seen))}));
  return out;
}

// The candidates of one method, the answer first. Section Who has this table for the method that names the suspect or,
// if none does, for each method.
table suspect_table(const part& of) {
  constexpr std::size_t max_suspects = 5;
  const bool probability = of.scale == score_scale::probability;
  table out{
      .caption = "Candidates by " + of.name,
      .columns = {{"agent"}, {"where"}, {probability ? "probability" : "φ", true}, {"evidence"}, {"what it said"}},
      .rows = {},
      .left_out = {}};
  for (const suspicion& s : of.suspects) {
    if (out.rows.size() == max_suspects) break;
    if (!probability && s.score <= 0) continue;  // they add no risk
    const std::string score = s.proven      ? "proven"
                              : probability ? fmt::format("{:.0f} %", 100 * s.score)
                              : s.error > 0 ? fmt::format("{:.3g} ± {:.2g}", s.score, s.error)
                                            : fmt::format("{:.3g}", s.score);
    out.rows.push_back({short_name(s.agent, 60), s.place, score, s.evidence.empty() ? "none" : s.evidence, s.quote});
  }
  if (of.candidates > out.rows.size())
    out.left_out =
        fmt::format("The first {} of {}. `{}` lists all.", out.rows.size(), grouped(of.candidates), of.command);
  return out;
}

// Whether section Who lists the candidates of a method. Section Method then leaves them out.
bool lists_candidates(const part& p, const conclusion& concluded) {
  const bool asks = concluded.verdict == conclusion::kind::suspect || concluded.verdict == conclusion::kind::nobody;
  if (!asks || !p.ran || p.suspects.empty() || p.scale == score_scale::none) return false;
  return concluded.verdict == conclusion::kind::nobody || p.name == concluded.method;
}

// Why the first candidate is not the one with the highest probability; empty if it is.
std::string reason_to_be_first(const part& p) {
  if (p.scale != score_scale::probability || p.suspects.size() < 2) return {};
  const suspicion &first = p.suspects[0], &next = p.suspects[1];
  if (first.proven || first.score >= next.score || first.agent_score <= 0) return {};
  return fmt::format(
      "{} comes first although another step is more probable: all steps of its agent together have {:.0f} %, and those "
      "of the next agent {:.0f} %.",
      capitalized(first.place), 100 * first.agent_score, 100 * first.next_agent_score);
}

section responsible_section(const observed& seen, const std::vector<part>& parts, const conclusion& concluded) {
  section out{.id = "who", .title = "Who", .blocks = {}};
  for (const part& p : parts) {
    if (!lists_candidates(p, concluded)) continue;
    out.blocks.push_back(block::of(suspect_table(p)));
    if (std::string reason = reason_to_be_first(p); !reason.empty())
      out.blocks.push_back(block::words(std::move(reason)));
  }
  out.blocks.push_back(block::of(agent_table(seen)));
  return out;
}

// What the event of a detection says, where the graph has its payload.
std::string quote_of(const gathered& from, const reported_detection& d) {
  if (!d.detection.event) return {};
  const picture::index at = from.graph.model.find_event(*d.detection.event);
  return at == picture::none ? std::string() : from.graph.model.events[at].text;
}

section detections_section(const gathered& from) {
  const observed& seen = from.seen;
  section out{.id = "why", .title = "Why: the detections", .blocks = {}};
  if (seen.found == 0) {
    out.blocks.push_back(block::words("No rule fired."));
    return out;
  }
  if (seen.detections.size() < seen.found) {
    out.blocks.push_back(
        block::remark(fmt::format("{} of {} detections are below, the first of each rule. `digctl replay` lists all.",
                                  seen.detections.size(), grouped(seen.found))));
  }
  std::size_t n = 0;
  for (const reported_detection& d : seen.detections)
    out.blocks.push_back(detection_block(d, ++n, seen, quote_of(from, d)));
  return out;
}

section done_section(const observed& seen) {
  section out{.id = "done", .title = "What was done", .blocks = {}};
  if (seen.found == 0) out.blocks.push_back(block::words("There was nothing to heal."));
  else out.blocks.push_back(block::of(rule_table(seen)));
  return out;
}

// What the confidence on top rests on.
std::string about_confidence(const conclusion& concluded, const std::vector<part>& parts) {
  const auto by = std::find_if(parts.begin(), parts.end(), [&](const part& p) { return p.name == concluded.method; });
  if (concluded.suspect.proven) return fmt::format("{} proves the suspect from the log itself.", concluded.method);
  if (by == parts.end() || by->scale != score_scale::probability) {
    return fmt::format(
        "The suspect comes from {}. φ is not a probability: it compares this run with replays in which a healthy "
        "counterpart acts instead.",
        concluded.method);
  }
  return fmt::format(
      "The suspect comes from {}. Its probabilities were calibrated on other logs: of the steps with 20 %, about one "
      "in "
      "five was the decisive error.",
      concluded.method);
}

section sure_section(const observed& seen, const std::vector<part>& parts, const conclusion& concluded) {
  section out{.id = "sure", .title = "How sure", .blocks = {}};
  std::string sure =
      seen.guessed.links
          ? "The log does not record who got which event, so the importer inferred it. Detections can be wrong."
          : fmt::format("digd replayed the {} of the run and judged each. Detections are exact, not estimates.",
                        counted(seen.messages, "message", "messages"));
  if (seen.guessed.times)
    sure += " The log has no times, so those on this page are invented: one step after the other.";
  if (seen.dropped > 0)
    sure += fmt::format(" {} not observed, so detections may be missing.",
                        counted(seen.dropped, "message was", "messages were"));
  if (seen.refused > 0) sure += fmt::format(" {} refused.", counted(seen.refused, "message was", "messages were"));
  out.blocks.push_back(block::words(sure));
  if (concluded.verdict == conclusion::kind::suspect)
    out.blocks.push_back(block::words(about_confidence(concluded, parts)));
  std::vector<std::string> missing;
  for (const part& p : parts) {
    if (!p.ran && p.id != "causes") missing.push_back(p.name);
  }
  if (!missing.empty()) {
    out.blocks.push_back(block::words(fmt::format("{} did not run; section Method says why.", listed(missing))));
  }
  return out;
}

block part_block(const part& p, const conclusion& concluded) {
  block out = folded(p.title + (p.ran ? "" : " (not run)"), p.blocks);
  if (lists_candidates(p, concluded)) std::erase_if(out.inside, [](const block& b) { return b.ranks; });
  if (!p.ran) {
    out.inside.insert(out.inside.begin(), block::remark("Not run: " + p.not_run_reason));
    if (!p.command.empty()) out.inside.push_back(block::typed(p.command));
  }
  return out;
}

block sources_block(const std::vector<part>& parts) {
  table made{
      .caption = "Numbers and their sources", .columns = {{"number"}, {"how"}, {"source"}}, .rows = {}, .left_out = {}};
  const std::vector<origin> own{
      {"activations, events, deliveries, times", "the run's stored messages, replayed through digd's engine",
       "DIG to Heal (arXiv 2603.00309), section 4"},
      {"detections, witnesses", "seven rules on that graph, judged message by message",
       "DIG to Heal, section 5 and Table 1; docs/rules.md says it precisely"},
      {"healed, why not", "verdicts, injections and give-backs as the engine decided them",
       "DIG to Heal, section 5; docs/rules.md"},
      {"cleared, recurred, unresolved",
       "each healed symptom is watched until its rule's condition is gone, fires again, or the run ends",
       "docs/rules.md, outcome"},
      {"the lit path", "the shortest chain of recorded source and input edges", "DIG to Heal, section 4.1"}};
  const auto add = [&](const std::vector<origin>& origins) {
    for (const origin& o : origins) made.rows.push_back({o.number, o.text, o.source});
  };
  add(own);
  for (const part& p : parts) add(p.origins);
  return folded("How each number was made", {block::of(std::move(made))});
}

section method_section(const std::vector<part>& parts, const conclusion& concluded) {
  section out{.id = "method", .title = "Method", .blocks = {}};
  for (const part& p : parts) out.blocks.push_back(part_block(p, concluded));
  out.blocks.push_back(sources_block(parts));
  out.blocks.push_back(block::words("The same messages give the same report, unless attribution runs out of time."));
  return out;
}

}  // namespace

gatherer::gatherer(const observe_bounds& most, const graph_bounds& drawn)
    : drawn_(drawn), watch_(std::make_unique<observer>(most)) {}
gatherer::~gatherer() = default;

bool gatherer::line(std::string_view text) { return recorder_ ? recorder_->line(text) : watch_->line(text); }

bool gatherer::pass_again() {
  if (recorder_) {
    out_.problem = recorder_->problem();
    out_.graph.model = recorder_->finish();
    out_.graph.whole = out_.graph.whole && !out_.graph.model.cut;
    return false;
  }
  out_.problem = watch_->problem();
  if (!out_.problem.empty()) return false;
  out_.seen = watch_->finish();
  if (out_.seen.run.empty()) out_.problem = "no trace: there is no hello";
  if (!out_.problem.empty()) return false;
  const reported_detection* leads = out_.seen.leading();
  const std::uint64_t at = leads == nullptr ? 1 : leads->line;
  out_.graph.whole = out_.seen.lines <= drawn_.rows / 3;  // few messages have more than three rows
  const std::uint64_t first = out_.graph.whole || at <= drawn_.lines_before ? 1 : at - drawn_.lines_before;
  recorder_ = std::make_unique<picture::recorder>(
      run_policy{}, picture::recorder::window{.first_line = first, .max_rows = drawn_.rows});
  return true;
}

gathered gatherer::finish() { return std::move(out_); }

gathered gather(const line_source& from, const observe_bounds& most, const graph_bounds& drawn) {
  gatherer reads(most, drawn);
  do {
    std::string unreadable = from([&](std::string_view line) { return reads.line(line); });
    if (!unreadable.empty()) {
      gathered none;
      none.problem = std::move(unreadable);
      return none;
    }
  } while (reads.pass_again());
  return reads.finish();
}

std::string on_command_line(const std::string& name) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@%+=-";
  std::string out = name.starts_with('-') && name.size() > 1 ? "-- " : "";
  if (!name.empty() && name.find_first_not_of(plain) == std::string::npos) return out + name;
  out += '\'';
  for (const char c : picture::safe(name)) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + '\'';
}

document compose(const gathered& from, const std::vector<part>& parts, const std::string& subject,
                 const graph_bounds& drawn) {
  document out;
  const observed& seen = from.seen;
  out.run = seen.run;
  out.title = "Report of run " + short_name(seen.run, 80);
  const conclusion concluded = conclude(seen, parts);
  out.answers = answers_of(seen, concluded, subject);
  std::uint64_t cleared = 0;
  for (const rule_facts& r : seen.rules) cleared += r.outcomes[static_cast<std::size_t>(outcome_kind::cleared)];
  out.failed = seen.found > cleared || seen.ended == run_outcome::failure || seen.ended == run_outcome::aborted;
  out.facts = facts_of(seen);
  if (seen.messages == 0) return out;
  out.sections.push_back(failure_section(from, concluded, subject, drawn));
  if (std::vector<block> used = usage_blocks(seen.usage); !used.empty()) {
    out.sections.push_back({.id = "used", .title = "What it used", .blocks = std::move(used)});
  }
  out.sections.push_back(responsible_section(seen, parts, concluded));
  out.sections.push_back(detections_section(from));
  out.sections.push_back(done_section(seen));
  out.sections.push_back(sure_section(seen, parts, concluded));
  out.sections.push_back(method_section(parts, concluded));
  return out;
}

std::vector<part> not_run(const std::string& subject, const std::string& problem) {
  const std::string command = "digctl report " + subject;
  return {{.id = "responsibility",
           .name = "Shapley values",
           .title = "Shapley values: who, when and what",
           .not_run_reason = problem,
           .command = command},
          {.id = "decisive-error",
           .name = "CHIEF",
           .title = "CHIEF: the decisive error",
           .not_run_reason = problem,
           .command = command},
          {.id = "causes",
           .name = "CAMO",
           .title = "CAMO: causes over many runs",
           .not_run_reason = "it needs many runs.",
           .command = "digctl causal explain --help"}};
}

}  // namespace digd::report
