#include "analysis/whowhen/score.h"

#include <algorithm>
#include <cmath>

#include "analysis/chief/text.h"
#include "base/text.h"

namespace digd::whowhen {

namespace {

using chief::step_form;

bool speaks(const labelled_log& l, std::size_t i) { return l.log.steps[i].form != step_form::human; }

// Whether the step is by an executing agent: not the user, the planner or a terminal.
bool is_tool(const labelled_log& l, std::size_t i) {
  return chief::can_be_blamed(l.log, i) && l.log.steps[i].agent != l.log.planner;
}

answer of(const labelled_log& l, std::size_t step) { return {l.log.steps[step].agent, {step}}; }

bool acts(const labelled_log& l, std::size_t i) {
  if (!speaks(l, i)) return false;
  if (l.log.orchestrated) return l.log.steps[i].agent != l.log.planner;
  return !chief::is_brief(lower(l.log.steps[i].text)) && chief::can_be_blamed(l.log, i);
}

}  // namespace

interval wilson(double hits, std::size_t n) {
  if (n == 0) return {0, 1};
  constexpr double z = 1.959963984540054;
  const double count = static_cast<double>(n), p = hits / count, d = 1 + z * z / count;
  const double centre = (p + z * z / (2 * count)) / d;
  const double half = z / d * std::sqrt(p * (1 - p) / count + z * z / (4 * count * count));
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

void add(tally& t, const labelled_log& l, const answer& a) {
  ++t.n;
  t.seconds += a.seconds;
  t.tokens += a.tokens;
  t.cost += a.cost;
  if (a.failed) ++t.failed;
  t.agent += a.agent == l.agent;
  if (a.steps.empty()) return;
  const std::size_t off = a.steps.front() > l.step ? a.steps.front() - l.step : l.step - a.steps.front();
  t.step += off == 0;
  for (std::size_t k = 0; k < tolerances; ++k) t.within[k] += off <= k + 1;
  const auto at = std::find(a.steps.begin(), a.steps.end(), l.step) - a.steps.begin();
  if (static_cast<std::size_t>(at) == a.steps.size()) return;
  t.top3 += at < 3;
  t.top5 += at < 5;
}

void add_random(tally& t, const labelled_log& l) {
  std::vector<std::size_t> steps;
  for (std::size_t i = 0; i < l.log.steps.size(); ++i) {
    if (speaks(l, i)) steps.push_back(i);
  }
  ++t.n;
  const double n = static_cast<double>(steps.size());
  for (std::size_t i : steps) {
    const std::size_t off = i > l.step ? i - l.step : l.step - i;
    t.agent += (l.log.steps[i].agent == l.agent) / n;
    t.step += (off == 0) / n;
    for (std::size_t k = 0; k < tolerances; ++k) t.within[k] += (off <= k + 1) / n;
    if (off == 0) t.top3 += std::min(1.0, 3 / n), t.top5 += std::min(1.0, 5 / n);
  }
}

answer first_speaker(const labelled_log& l) {
  for (std::size_t i = 0; i < l.log.steps.size(); ++i) {
    if (speaks(l, i)) return of(l, i);
  }
  return of(l, 0);
}

answer first_acting_step(const labelled_log& l) {
  for (std::size_t i = 0; i < l.log.steps.size(); ++i) {
    if (acts(l, i)) return of(l, i);
  }
  return first_speaker(l);
}

answer busiest_tool_agent(const labelled_log& l) {
  std::map<std::string, std::size_t> count;
  for (std::size_t i = 0; i < l.log.steps.size(); ++i) count[l.log.steps[i].agent] += is_tool(l, i);
  std::size_t best = 0, highest_count = 0;
  for (std::size_t i = 0; i < l.log.steps.size(); ++i) {
    if (is_tool(l, i) && count[l.log.steps[i].agent] > highest_count)
      highest_count = count[l.log.steps[best = i].agent];
  }
  return highest_count == 0 ? first_speaker(l) : of(l, best);
}

answer last_tool_step(const labelled_log& l) {
  for (std::size_t i = l.log.steps.size(); i-- > 0;) {
    if (is_tool(l, i)) return of(l, i);
  }
  return first_speaker(l);
}

tally& results::at(const std::string& subset, const std::string& method) {
  if (std::find(order.begin(), order.end(), method) == order.end()) order.push_back(method);
  return by_subset[subset][method];
}

void record(results& r, const std::string& method, const labelled_log& l, const answer& a) {
  add(r.at(l.subset, method), l, a);
  r.outcomes[method].push_back({a.agent == l.agent, !a.steps.empty() && a.steps.front() == l.step});
}

void add_constants(results& r, const labelled_log& l) {
  add_random(r.at(l.subset, "random"), l);
  record(r, "first-speaker", l, first_speaker(l));
  record(r, "first-acting-step", l, first_acting_step(l));
  record(r, "most-frequent-tool-agent", l, busiest_tool_agent(l));
  record(r, "last-tool-step", l, last_tool_step(l));
}

}  // namespace digd::whowhen
