#include "analysis/chief/screening.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "analysis/chief/text.h"
#include "base/text.h"

namespace digd::chief {

namespace {

bool is_key(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool same(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)}); }

std::string shown(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// The text without its code blocks.
std::string prose(std::string_view text) {
  std::string out;
  for (bool code = false; !text.empty(); code = !code) {
    const std::size_t fence = text.find("```");
    if (!code) out += text.substr(0, fence);
    if (fence == std::string_view::npos) break;
    text.remove_prefix(fence + 3);
  }
  return out;
}

// Reads a number at `at` and moves `at` behind it. False if there is none or it is too long.
bool number_at(std::string_view text, std::size_t& at, double& value) {
  std::size_t end = at;
  if (end < text.size() && text[end] == '-') ++end;
  const std::size_t digits = end;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end == digits || end - at > 15) return false;
  if (end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1])) {
    ++end;
    while (end < text.size() && is_digit(text[end])) ++end;
  }
  value = std::strtod(std::string(text.substr(at, end - at)).c_str(), nullptr);
  at = end;
  return true;
}

// A sum such as "12+7+3=22", and whether it is right.
struct sum_check {
  std::string text;
  bool right;
};
std::vector<sum_check> sums_of(std::string_view text) {
  std::vector<sum_check> found;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_digit(text[i]) || (i > 0 && (is_key(text[i - 1]) || text[i - 1] == '.' || text[i - 1] == '+'))) continue;
    std::size_t at = i;
    double total = 0, part = 0;
    std::size_t parts = 0;
    while (number_at(text, at, part)) {
      total += part;
      ++parts;
      if (at >= text.size() || text[at] != '+') break;
      ++at;
    }
    double stated = 0;
    if (parts >= 2 && at < text.size() && text[at] == '=' && number_at(text, ++at, stated)) {
      found.push_back({std::string(text.substr(i, at - i)), same(total, stated)});
    }
    i = std::max(i, at - 1);
  }
  return found;
}

struct known_value {
  double value;
  std::size_t step;
};

// Follows every `key=number` through the log: who gave it, and who changed it without an execution.
class data_flow {
 public:
  data_flow(const flat_log& log, std::vector<finding>& out) : log_(log), out_(out) {}

  void run() {
    for (const assignment& a : assignments_of(log_.question)) known_[a.key] = {a.value, log_.steps.size()};
    for (std::size_t i = 0; i < log_.steps.size(); ++i) {
      const flat_step& step = log_.steps[i];
      if (step.execution == execution_state::failed) last_failure_ = static_cast<std::ptrdiff_t>(i);
      const std::string text = prose(step.text);
      if (can_be_blamed(log_, i)) check_sums(text, i);
      for (const assignment& a : assignments_of(text)) take(a, i);
      if (step.execution == execution_state::ok) last_failure_ = -1;
    }
  }

 private:
  void check_sums(std::string_view text, std::size_t i) {
    for (const sum_check& sum : sums_of(text)) {
      const std::string left = sum.text.substr(0, sum.text.find('='));
      if (!sum.right) {
        wrong_sums_[left] = out_.size();
        out_.push_back({i, stage::local, "computes wrongly: " + sum.text, {i}});
      } else if (const auto at = wrong_sums_.find(left); at != wrong_sums_.end()) {
        excuse(out_[at->second], i);
        for (auto& [key, bad] : corrupted_) {
          if (bad.step == out_[at->second].step) known_.erase(key);
        }
      }
    }
  }

  void excuse(finding& f, std::size_t by) {
    if (f.excused) return;
    f.excused = true;
    f.excused_by = by;
  }

  void take(const assignment& a, std::size_t i) {
    const bool source = log_.steps[i].form == step_form::execution && log_.steps[i].execution == execution_state::ok;
    const auto known = known_.find(a.key);
    if (known == known_.end()) {
      if (!source && last_failure_ >= 0 && can_be_blamed(log_, i) && log_.steps[i].form != step_form::execution) {
        faults_[a.key] = out_.size();
        out_.push_back({i,
                        stage::data_flow,
                        "gives " + a.key + "=" + shown(a.value) + " although getting it had failed",
                        {static_cast<std::size_t>(last_failure_), i}});
      }
      known_[a.key] = {a.value, i};
      // The findings are in the order of their steps.
      for (auto f = out_.rbegin(); f != out_.rend() && f->step == i; ++f) {
        if (f->by == stage::local) corrupted_[a.key] = {a.value, i};
      }
      return;
    }
    if (same(known->second.value, a.value)) {
      if (const auto fault = faults_.find(a.key);
          fault != faults_.end() && out_[fault->second].step < i && restored_[a.key]) {
        excuse(out_[fault->second], i);
      }
      return;
    }
    if (source) {  // a new execution is not a corruption, and it exposes an earlier invention
      if (const auto fault = faults_.find(a.key); fault != faults_.end()) restored_[a.key] = true;
      known->second = {a.value, i};
      return;
    }
    if (const auto bad = corrupted_.find(a.key); bad != corrupted_.end() && same(bad->second.value, a.value)) return;
    if (!can_be_blamed(log_, i)) return;
    corrupted_[a.key] = {a.value, i};
    faults_[a.key] = out_.size();
    restored_[a.key] = true;
    out_.push_back({i,
                    stage::data_flow,
                    "turns " + a.key + "=" + shown(known->second.value) + " into " + a.key + "=" + shown(a.value),
                    {known->second.step, i}});
  }

  const flat_log& log_;
  std::vector<finding>& out_;
  std::map<std::string, known_value> known_, corrupted_;
  std::map<std::string, std::size_t> faults_, wrong_sums_;  // into `out_`
  std::map<std::string, bool> restored_;
  std::ptrdiff_t last_failure_ = -1;
};

// By step: the first later instruction that quotes all terms; the number of steps if there is none.
std::vector<std::size_t> next_complete_instructions(const flat_log& log, const word_set& terms) {
  std::vector<std::size_t> next(log.steps.size());
  std::size_t at = log.steps.size();
  for (std::size_t i = log.steps.size(); i-- > 0;) {
    next[i] = at;
    if (log.steps[i].form == step_form::instruction && without(terms, quoted_terms(log.steps[i].text)).empty()) at = i;
  }
  return next;
}

// Finds instructions in which a planner replaces a term that the question quotes by one that no text before has quoted.
void screen_instructions(const flat_log& log, std::vector<finding>& out) {
  const word_set asked = quoted_terms(log.question);
  if (asked.size() < 2) return;
  const std::vector<std::size_t> asks_for_all = next_complete_instructions(log, asked);
  vocabulary known(asked);
  for (std::size_t i = 0; i < log.steps.size(); ++i) {
    const word_set here = quoted_terms(log.steps[i].text);
    const word_set strange = without(here, known);
    if (log.steps[i].form == step_form::instruction && !strange.empty() && shared(here, asked) > 0 &&
        !without(asked, here).empty()) {
      finding f{
          i, stage::planning_control, "asks for '" + strange.front() + "', which the question does not name", {i}};
      if (asks_for_all[i] < log.steps.size()) {
        f.excused = true;
        f.excused_by = asks_for_all[i];
      }
      out.push_back(std::move(f));
    }
    known.add(here);
  }
}

bool failed(const flat_log& log, std::size_t i) { return log.steps[i].execution == execution_state::failed; }

// Section 4.3.2: the planner repeats a failed instruction, or the executor keeps failing while the plan changes.
void screen_loops(const flat_log& log, const hierarchy& graph, std::vector<finding>& out) {
  for (const loop_group& loop : graph.loops) {
    std::vector<std::size_t> failures;
    for (std::size_t r : loop.results) {
      if (failed(log, r)) failures.push_back(r);
    }
    if (failures.size() < 2 || failures.size() < loop.results.size()) continue;  // some result succeeded
    if (loop.plan_changes) {
      out.push_back({failures.front(), stage::planning_control, loop.executor + " keeps failing while the plan changes",
                     failures});
      continue;
    }
    const auto repeated = std::find_if(loop.instructions.begin(), loop.instructions.end(),
                                       [&](std::size_t i) { return i > failures.front(); });
    if (repeated == loop.instructions.end()) continue;
    out.push_back({*repeated,
                   stage::planning_control,
                   log.planner + " repeats an instruction that had failed",
                   {loop.instructions.front(), failures.front(), *repeated}});
  }
}

}  // namespace

std::vector<assignment> assignments_of(std::string_view text) {
  std::vector<assignment> found;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_key(text[i]) || is_digit(text[i])) continue;
    const bool fresh = i == 0 || text[i - 1] == ' ' || text[i - 1] == '\n' || text[i - 1] == '(' || text[i - 1] == ',';
    std::size_t end = i;
    while (end < text.size() && is_key(text[end])) ++end;
    double value = 0;
    std::size_t at = end + 1;
    if (fresh && end < text.size() && text[end] == '=' && number_at(text, at, value)) {
      const bool whole = at == text.size() || text[at] == ' ' || text[at] == ',' || text[at] == '\n' ||
                         text[at] == ')' || text[at] == ';' || text[at] == ':' || text[at] == '.';
      if (whole) found.push_back({lower(text.substr(i, end - i)), value});
    }
    i = std::max(i, end - 1);
  }
  return found;
}

std::vector<finding> screen(const flat_log& log, const hierarchy& graph) {
  std::vector<finding> found;
  data_flow(log, found).run();
  screen_instructions(log, found);
  screen_loops(log, graph, found);
  std::stable_sort(found.begin(), found.end(), [](const finding& a, const finding& b) { return a.step < b.step; });
  return found;
}

}  // namespace digd::chief
