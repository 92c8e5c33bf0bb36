#include "report/verdict.h"

#include <fmt/format.h>

#include "report/picture/labels.h"
#include "report/words.h"

namespace digd::report {

namespace {

std::string ending(const observed& seen) {
  const std::string lasted = picture::duration(seen.last_ts - seen.first_ts);
  if (!seen.ended_text.empty() && seen.ended != run_outcome::none)
    return fmt::format("ended as \"{}\" after {}", seen.ended_text, lasted);
  if (seen.submitted) return "submitted its answer after " + lasted;
  return fmt::format("has not ended; it was last heard of after {}", lasted);
}

// The outcomes of the healings: "of which 5 cleared and 1 came back".
std::string of_the_healed(const observed& seen) {
  std::array<std::uint64_t, 3> sums{};
  for (const rule_facts& r : seen.rules) {
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += r.outcomes[k];
  }
  constexpr const char* words[] = {"cleared", "came back", "stayed to the end"};
  std::string out;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    if (sums[k] > 0) out += fmt::format("{}{} {}", out.empty() ? ", of which " : ", ", grouped(sums[k]), words[k]);
  }
  return out;
}

std::string first_sentence(const observed& seen) {
  std::string out = fmt::format("Run {} {}", short_name(seen.run), ending(seen));
  const std::string size = fmt::format("{} of {}", counted(seen.messages, "message", "messages"),
                                       counted(seen.members(), "agent", "agents"));
  if (seen.found == 0) return out + fmt::format("; in its {} digd found nothing wrong.", size);
  return out + fmt::format("; in its {} digd made {} and healed {}{}.", size,
                           counted(seen.found, "detection", "detections"), grouped(seen.healed), of_the_healed(seen));
}

std::string second_sentence(const observed& seen, const std::vector<part>& parts) {
  const reported_detection* leads = seen.leading();
  std::string blame;
  for (const part& p : parts) {
    if (p.ran && !p.answer.empty()) blame += (blame.empty() ? "" : ", and ") + p.answer;
  }
  if (leads == nullptr) {
    return blame.empty()
               ? (seen.pending_total > 0
                      ? fmt::format("Still waiting at the end: {}.", counted(seen.pending_total, "event", "events"))
                      : "No work was left waiting at the end.")
               : "Although no rule fired, " + blame + ".";
  }
  const detection& d = leads->detection;
  const picture::time_scale time = picture::time_scale::of(seen.first_ts, seen.last_ts);
  std::string out = fmt::format("The first {} was {} at {} {}", d.severity == severity::failure ? "failure" : "warning",
                                rule_words(d.rule), time.at(d.ts), time.unit());
  if (d.event) out += ", on event " + short_name(*d.event);
  if (d.agent) out += fmt::format(", {} agent {}", d.event ? "for" : "of", short_name(*d.agent));
  return out + (blame.empty() ? "" : "; " + blame) + ".";
}

}  // namespace

std::vector<std::string> verdict_of(const observed& seen, const std::vector<part>& parts) {
  return {first_sentence(seen), second_sentence(seen, parts)};
}

}  // namespace digd::report
