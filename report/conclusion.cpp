#include "report/conclusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/words.h"

namespace digd::report {

namespace {

constexpr double high_probability = 0.7, medium_probability = 0.4;

// A suspect stands out from chance at twice the probability of a random choice.
constexpr double times_chance = 2;

std::string percent(double p) { return fmt::format("{:.0f} %", 100 * p); }

double largest_score(const part& p) {
  double largest = 0;
  for (const suspicion& s : p.suspects) largest = std::max(largest, std::abs(s.score));
  return largest;
}

// Differences below it are rounding of floating-point sums.
double rounding(const part& p) { return 1e-9 * std::max(1.0, largest_score(p)); }

bool stands_out(const part& p, const run_facts& run) {
  if (p.suspects.empty() || (run.links_guessed && p.scale == score_scale::shapley)) return false;
  const suspicion& first = p.suspects.front();
  if (first.proven) return true;
  if (first.evidence.empty()) return false;
  const suspicion* next = p.suspects.size() > 1 ? &p.suspects[1] : nullptr;
  switch (p.scale) {
    case score_scale::none: return false;
    case score_scale::probability:
      if (first.score * static_cast<double>(p.candidates) < times_chance || next == nullptr) return next == nullptr;
      return first.agent_score > 0 ? std::lround(100 * first.agent_score) > std::lround(100 * first.next_agent_score)
                                   : std::lround(100 * first.score) > std::lround(100 * next->score);
    case score_scale::shapley:
      return first.score - first.error > rounding(p) &&
             (next == nullptr || first.score - next->score > std::hypot(first.error, next->error) + rounding(p));
  }
  return false;
}

conclusion::confidence confidence_of(const part& p) {
  const suspicion& first = p.suspects.front();
  if (first.proven) return conclusion::confidence::proven;
  if (p.scale == score_scale::probability) {
    return first.score >= high_probability     ? conclusion::confidence::high
           : first.score >= medium_probability ? conclusion::confidence::medium
                                               : conclusion::confidence::low;
  }
  // A Shapley value is not a probability. The lead over the next says how clearly the game points at one activation.
  const double next = p.suspects.size() > 1 ? std::max(0.0, p.suspects[1].score) : 0;
  return first.score > 2 * next ? conclusion::confidence::medium : conclusion::confidence::low;
}

std::string margin_of(const part& p) {
  const suspicion& first = p.suspects.front();
  if (first.proven) return {};
  const bool probability = p.scale == score_scale::probability;
  const auto number = [&](const suspicion& s) {
    return probability ? percent(s.score) : fmt::format("{:.3g}", s.score);
  };
  const std::string agent = first.agent_score > 0 ? fmt::format("the agent {}, next {}", percent(first.agent_score),
                                                                percent(first.next_agent_score))
                                                  : "";
  const bool leads = p.suspects.size() < 2 || first.score >= p.suspects[1].score;
  // A step of another agent may have a higher probability; the answer is the most suspect agent's step.
  if (!leads && !agent.empty()) return fmt::format("{}; its step {}", agent, number(first));
  std::string out = (probability ? "" : "φ = ") + number(first);
  if (p.suspects.size() > 1) out += "; next " + number(p.suspects[1]);
  return agent.empty() ? out : out + "; " + agent;
}

std::string named(const conclusion& c) {
  const suspicion& s = c.suspect;
  std::string out = fmt::format("{} {}, {}", s.proven ? "Proven:" : "Most likely", short_name(s.agent, 60), s.place);
  if (!s.quote.empty()) out += fmt::format(": “{}”", s.quote);
  out += ". Evidence: " + s.evidence + ".";
  if (!s.proven) out += fmt::format(" Confidence: {} ({}).", to_string(c.sure), c.margin);
  if (!s.remedy.empty()) out += " Try: " + s.remedy + ".";
  return out;
}

void add_healed(std::string& to, const run_facts& run) {
  if (run.healed == 0) return;
  to += fmt::format(" digd healed {}.", run.healed_rules.empty() ? counted(run.healed, "detection", "detections")
                                                                 : listed(run.healed_rules));
}

conclusion of_nothing_wrong(const run_facts& run) {
  conclusion out;
  out.words =
      run.found == 0 ? "Nothing is known to have failed; nobody is blamed." : "Nothing that lasted; nobody is blamed.";
  add_healed(out.words, run);
  return out;
}

conclusion of_success(const run_facts& run) {
  conclusion out;
  out.verdict = run.healed > 0 ? conclusion::kind::healed : conclusion::kind::healthy;
  out.words = "The run succeeded; nobody is blamed.";
  add_healed(out.words, run);
  return out;
}

std::string no_suspect_reason(const run_facts& run, const std::vector<part>& parts) {
  const bool ranked = std::any_of(parts.begin(), parts.end(), [](const part& p) {
    return p.ran && p.scale != score_scale::none && !p.suspects.empty();
  });
  const bool no_risk = std::any_of(parts.begin(), parts.end(), [](const part& p) {
    return p.ran && p.scale == score_scale::shapley && p.suspects.empty();
  });
  if (!ranked) {
    return no_risk ? "; what the agents did added no risk" : "; no method that ran has a calibrated score for this run";
  }
  for (const part& p : parts) {
    if (!p.ran || p.suspects.empty() || p.scale != score_scale::probability) continue;
    if (p.suspects.size() > 1) {
      // The answer comes first, whatever its score; the table has the steps by score.
      const auto [next, most] = std::minmax(p.suspects[0].score, p.suspects[1].score);
      return fmt::format("; the most suspect step has {} and the next {}, out of {}", percent(most), percent(next),
                         counted(p.candidates, "step", "steps"));
    }
  }
  return run.links_guessed ? "; who got which event is guessed, so Shapley values name nobody" : "";
}

}  // namespace

std::string_view to_string(conclusion::kind k) {
  constexpr std::string_view names[] = {"healthy", "healed", "suspect", "nobody", "unknown"};
  return names[static_cast<std::size_t>(k)];
}

std::string_view to_string(conclusion::confidence c) {
  constexpr std::string_view names[] = {"none", "low", "medium", "high", "proven"};
  return names[static_cast<std::size_t>(c)];
}

run_facts facts_for_conclusion(const observed& seen) {
  std::uint64_t cleared = 0;
  for (const rule_facts& r : seen.rules) cleared += r.outcomes[static_cast<std::size_t>(outcome_kind::cleared)];
  run_facts out{
      .ended = seen.ended,
      .went_wrong = seen.found > cleared || seen.ended == run_outcome::failure || seen.ended == run_outcome::aborted,
      .links_guessed = seen.guessed.links,
      .found = seen.found,
      .healed = seen.healed,
      .healed_rules = {}};
  std::vector<std::pair<std::uint64_t, std::string>> rules;
  for (std::size_t k = 0; k < seen.rules.size(); ++k) {
    const std::uint64_t n = seen.rules[k].healed;
    if (n == 0) continue;
    rules.emplace_back(n, counted_rule(n, static_cast<rule_id>(k)));
  }
  std::stable_sort(rules.begin(), rules.end(), [](auto& a, auto& b) { return a.first > b.first; });
  for (auto& [n, text] : rules) out.healed_rules.push_back(std::move(text));
  return out;
}

conclusion conclude(const run_facts& run, const std::vector<part>& parts) {
  if (run.ended == run_outcome::success) return of_success(run);
  if (!run.went_wrong) return of_nothing_wrong(run);
  conclusion out;
  const part* best = nullptr;
  bool ran = false;
  for (const part& p : parts) {
    ran = ran || p.ran;
    if (!p.ran || !stands_out(p, run)) continue;
    // A proof decides. Otherwise the first part that names somebody does: the caller orders them.
    if (best == nullptr || (p.suspects.front().proven && !best->suspects.front().proven)) best = &p;
  }
  if (!ran) {
    out.words = "No attribution method ran; nobody is blamed.";
    return out;
  }
  if (best == nullptr) {
    out.verdict = conclusion::kind::nobody;
    out.words = "Nobody stands out" + no_suspect_reason(run, parts) + ".";
    return out;
  }
  out.verdict = conclusion::kind::suspect;
  out.sure = confidence_of(*best);
  out.suspect = best->suspects.front();
  out.method = best->name;
  out.margin = margin_of(*best);
  out.words = named(out);
  return out;
}

conclusion conclude(const observed& seen, const std::vector<part>& parts) {
  return conclude(facts_for_conclusion(seen), parts);
}

}  // namespace digd::report
