#include "analysis/chief/unsourced.h"

#include <algorithm>

#include "analysis/chief/text.h"

namespace digd::chief {

namespace {

bool is_printed(const flat_log& log, std::size_t step) {
  return step < log.steps.size() &&
         (log.steps[step].form == step_form::execution || log.steps[step].form == step_form::notice);
}

bool can_have_no_source(const flat_log& log, std::size_t step) {
  return can_be_blamed(log, step) && log.steps[step].text.find("```") == std::string::npos &&
         !is_printed(log, step + 1) && !(step > 0 && is_printed(log, step - 1));
}

std::vector<std::string> new_numbers(const std::string& text, const vocabulary& known) {
  constexpr std::size_t min_digits = 2;
  std::vector<std::string> found;
  for (const std::string& value : values(text)) {
    const auto digits = std::count_if(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (digits >= static_cast<std::ptrdiff_t>(min_digits) && !known.contains(value)) found.push_back(value);
  }
  std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) { return text.find(a) < text.find(b); });
  if (found.size() > max_unsourced) found.resize(max_unsourced);
  return found;
}

}  // namespace

std::vector<std::vector<std::string>> unsourced_numbers(const flat_log& log) {
  std::vector<std::vector<std::string>> out(log.steps.size());
  if (log.framework == known_framework::magentic_one) return out;
  vocabulary known(values(log.question));
  for (std::size_t i = 0; i < log.steps.size(); ++i) {
    if (can_have_no_source(log, i)) out[i] = new_numbers(log.steps[i].text, known);
    known.add(values(log.steps[i].text));
  }
  return out;
}

}  // namespace digd::chief
