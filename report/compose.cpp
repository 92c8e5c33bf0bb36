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
  constexpr std::size_t most = 24;
  std::string out;
  for (std::size_t i = 0; i < path.stops.size(); ++i) {
    if (path.stops.size() > most && i == most / 2) {
      out += " → …";
      i = path.stops.size() - most / 2;
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
  std::string out = fmt::format("The lit path, from where it came from to {} at {} {}: {}.", rule_words(path.to->rule),
                                time.at(path.to->ts), time.unit(), path_in_words(path));
  if (path.by == nullptr) return out;
  return out + fmt::format(" Held responsible on it: {}, {}.",
                           short_name(path.by->activation.empty() ? path.by->event : path.by->activation),
                           path.by->why);
}

section graph_section(const gathered& from, const std::vector<part>& parts, const std::string& subject,
                      const graph_bounds& most) {
  section out{.id = "graph", .title = "The graph", .blocks = {}};
  const picture::selection part = drawn_part(from, most);
  std::vector<blamed> suspects;
  for (const report::part& p : parts) suspects.insert(suspects.end(), p.blamed.begin(), p.blamed.end());
  const lit_path path = light(from.graph.model, in_order_of_weight(from.seen), suspects);
  if (!path.stops.empty()) out.blocks.push_back(block::words(about_path(path, from.seen)));

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
  out.blocks.push_back(block::of(std::move(drawn)));
  if (!complete) {
    out.blocks.push_back(block::remark(fmt::format(
        "This picture has {} of the run's {} activations and events; digctl show {} --svg --around EVENT draws others.",
        part.nodes, grouped(from.seen.activations + from.seen.events), subject)));
  }
  out.blocks.push_back(block::of(draw_flows(from.seen)));
  out.blocks.push_back(block::of(flow_table(from.seen)));
  return out;
}

section part_section(const part& p) {
  section out{.id = p.id, .title = p.title, .blocks = p.blocks};
  if (!p.ran) {
    out.blocks.insert(out.blocks.begin(), block::remark("Not run: " + p.why_not));
    if (!p.command.empty()) out.blocks.push_back(block::typed(p.command));
  }
  return out;
}

section method_section(const observed& seen, const std::vector<part>& parts) {
  section out{.id = "method", .title = "How each number was made", .blocks = {}};
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
  out.blocks.push_back(block::of(std::move(made)));
  std::string missing;
  for (const part& p : parts) {
    if (!p.ran) missing += (missing.empty() ? "" : "; ") + p.title;
  }
  out.blocks.push_back(block::words(
      missing.empty() ? "Every pass was run." : "Not run: " + missing + ". Each section says why, and how to run it."));
  out.blocks.push_back(
      block::words(fmt::format("Made from the {} stored messages of run {} alone: the same messages give the same "
                               "report, but where attribution ran out of time.",
                               grouped(seen.messages), short_name(seen.run, 80))));
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
  out.verdict = verdict_of(seen, parts);
  std::uint64_t cleared = 0;
  for (const rule_facts& r : seen.rules) cleared += r.outcomes[static_cast<std::size_t>(outcome_kind::cleared)];
  out.failed = seen.found > cleared || seen.ended == run_outcome::failure || seen.ended == run_outcome::aborted;
  out.facts = facts_of(seen);
  out.sections.push_back(graph_section(from, parts, subject, drawn));
  out.sections.push_back(timeline_section(seen));
  out.sections.push_back(detections_section(seen));
  for (const part& p : parts) out.sections.push_back(part_section(p));
  out.sections.push_back(method_section(seen, parts));
  return out;
}

std::vector<part> not_run(const std::string& subject, const std::string& why) {
  const std::string command = "digctl report " + subject;
  return {{.id = "responsibility", .title = "Who, when and what: Shapley values", .why_not = why, .command = command},
          {.id = "decisive-error", .title = "The decisive error: CHIEF", .why_not = why, .command = command},
          {.id = "causes",
           .title = "Causes over many runs: CAMO",
           .why_not = "it takes many runs.",
           .command = "digctl causal explain --help"}};
}

}  // namespace digd::report
