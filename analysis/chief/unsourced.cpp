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

bool has_two_digits_in_a_row(const std::string& value) {
  const auto both = [&](char a, char b) { return is_digit(a) && is_digit(b); };
  return std::adjacent_find(value.begin(), value.end(), both) != value.end();
}

std::vector<std::string> new_numbers(const std::string& text, const vocabulary& known) {
  std::vector<std::string> found;
  for (const std::string& value : values(text)) {
    if (has_two_digits_in_a_row(value) && !known.contains(value)) found.push_back(value);
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
