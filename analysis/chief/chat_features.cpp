// Evaluators for conversations where all speak to all.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "analysis/chief/features.h"
#include "analysis/chief/text.h"
#include "base/text.h"

namespace digd::chief {

namespace {

#define FEATURE(name, by, weighs, means, says) f_##name,
enum feature : std::size_t {
#include "analysis/chief/chat_features.inc"
  feature_count
};
#undef FEATURE

// The facts about a step that several features read.
struct step_facts {
  std::string low;
  word_set words, values;
  bool acts = false, brief = false, code = false, concludes = false, ends = false;
  execution_state ran = execution_state::none;    // of its own code
  execution_state after = execution_state::none;  // of the execution that it follows
};

bool bad(execution_state s) { return s == execution_state::failed || s == execution_state::empty; }

std::vector<step_facts> facts_of(const flat_log& log) {
  std::vector<step_facts> facts(log.steps.size());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const flat_step& step = log.steps[i];
    step_facts& f = facts[i];
    f.low = lower(step.text);
    f.words = content_words(step.text);
    f.values = values(step.text);
    f.acts = can_be_blamed(log, i);
    f.brief = f.acts && is_brief(f.low);
    f.code = f.low.find("```") != std::string::npos;
    f.concludes = f.acts && !f.brief && concludes(f.low);
    f.ends = f.acts && !f.brief && f.low.find("terminate") != std::string::npos;
  }
  for (std::size_t i = 0; i < facts.size(); ++i) {
    if (facts[i].acts && facts[i].code && i + 1 < facts.size()) facts[i].ran = log.steps[i + 1].execution;
    std::size_t before = i;
    while (before > 0 && log.steps[before - 1].form == step_form::notice) --before;
    if (before > 0) facts[i].after = log.steps[before - 1].execution;
  }
  return facts;
}

// What is known of the whole log before the steps are looked at one by one.
struct log_facts {
  word_set question_words, question_values, end_values;
  bool ended = false;
  std::optional<std::size_t> last_code;
};

log_facts whole(const flat_log& log, const std::vector<step_facts>& steps) {
  log_facts f;
  f.question_words = content_words(log.question);
  f.question_values = values(log.question);
  std::optional<std::size_t> end, last;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].acts) continue;
    last = i;
    if (steps[i].brief) continue;
    if (steps[i].code) f.last_code = i;
    f.ended = f.ended || steps[i].ends;
    if (log.steps[i].text.size() > 60 && (steps[i].concludes || steps[i].ends)) end = i;
  }
  f.ended = f.ended || (!steps.empty() && steps.back().low.find("final answer") != std::string::npos);
  if (!end) end = last;
  if (end) f.end_values = without(steps[*end].values, f.question_values);
  return f;
}

// The texts of one agent as sets of words. Finds the one most like another text without comparing all pairs.
class own_texts {
 public:
  // The largest Jaccard index of `words` with a text added before; 0 without one. Then adds `words`.
  double likeness_then_add(const word_set& words) {
    const double found = likeness(words);
    if (found == 1.0) return found;  // the same set is in already
    const auto number = static_cast<std::uint32_t>(sizes_.size());
    for (const std::string& word : words) texts_with_[word].push_back(number);
    sizes_.push_back(words.size());
    shared_.push_back(0);
    return found;
  }

 private:
  double likeness(const word_set& words) {
    std::vector<std::uint32_t> touched;
    for (const std::string& word : words) {
      const auto texts = texts_with_.find(word);
      if (texts == texts_with_.end()) continue;
      for (const std::uint32_t text : texts->second) {
        if (shared_[text]++ == 0) touched.push_back(text);
      }
    }
    double max_share = 0;
    for (const std::uint32_t text : touched) {
      const std::size_t both = std::exchange(shared_[text], 0), any = words.size() + sizes_[text] - both;
      max_share = std::max(max_share, static_cast<double>(both) / static_cast<double>(any));
    }
    return max_share;
  }

  std::unordered_map<std::string, std::vector<std::uint32_t>> texts_with_;  // by word
  std::vector<std::size_t> sizes_;
  std::vector<std::uint32_t> shared_;  // words shared with the text asked for; 0 between calls
};

class reader {
 public:
  explicit reader(const flat_log& log) : log_(log), steps_(facts_of(log)), whole_(whole(log, steps_)) {}

  candidate_rows read() {
    candidate_rows out;
    seen_values_.add(whole_.question_values);
    seen_words_.add(whole_.question_words);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].acts) {
        row_.assign(feature_count, 0.0);
        const double repetition = own_[log_.steps[i].agent].likeness_then_add(steps_[i].words);
        if (steps_[i].brief) {
          brief(i);
        } else {
          row_[f_repetition] = repetition;
          turn(i);
        }
        out.steps.push_back(i);
        out.rows.push_back(row_);
      }
      if (steps_[i].acts || log_.steps[i].form == step_form::execution) {
        seen_values_.add(steps_[i].values);
        seen_words_.add(steps_[i].words);
      }
    }
    return out;
  }

 private:
  void set(feature f, bool yes) { row_[f] = yes ? 1.0 : 0.0; }

  void brief(std::size_t i) {
    const std::string_view task = described_task(log_.steps[i].text);
    const std::string low = lower(task);
    set(f_brief_drift, share_of(content_words(task), whole_.question_words) < 0.15);
    set(f_brief_debug, has_any(low, {"debug", "exit code", "error"}));
    const std::size_t brought = without(values(task), whole_.question_values).size();
    row_[f_brief_new_values] = std::min(1.0, static_cast<double>(brought) / 20.0);
  }

  void turn(std::size_t i) {
    const step_facts& s = steps_[i];
    const word_set brought = without(s.values, seen_values_);
    execution(s, i);
    data(s, i, brought);
    wording(s, brought);
    set(f_verifier, is_verifier(log_.steps[i].agent));
    set(f_verifier_concludes, is_verifier(log_.steps[i].agent) && s.concludes);
    set(f_after_failure, bad(s.after));
    set(f_after_success, s.after == execution_state::ok);
    set(f_after_failure_uncoded, bad(s.after) && !s.code);
    set(f_concludes_from_run, s.after == execution_state::ok && s.concludes);
    set(f_words_from_run, s.after == execution_state::ok && !s.code);
    row_[f_echo] = s.words.empty() ? 1.0 : share_of(seen_words_, s.words);
    row_[f_question_share] = share_of(s.words, whole_.question_words);
    row_[f_length] = std::log1p(static_cast<double>(log_.steps[i].text.size())) / 8.0;
    set(f_short_step, log_.steps[i].text.size() < 60);
  }

  void execution(const step_facts& s, std::size_t i) {
    const bool failure = bad(s.ran);
    set(f_code, s.code);
    set(f_fails, s.ran == execution_state::failed);
    set(f_comes_empty, s.ran == execution_state::empty);
    set(f_runs, s.ran == execution_state::ok);
    set(f_first_failure, failure && !failed_);
    set(f_last_code_fails, failure && i == whole_.last_code);
    set(f_first_code, s.code && !coded_);
    set(f_last_code_unended, i == whole_.last_code && !whole_.ended);
    set(f_code_unended, s.code && !whole_.ended);
    failed_ = failed_ || failure;
    coded_ = coded_ || s.code;
  }

  void data(const step_facts& s, std::size_t i, const word_set& brought) {
    const bool after_run = i > 0 && log_.steps[i - 1].form == step_form::execution;
    const bool ungrounded = brought.size() >= 3 && !s.code && !after_run;
    set(f_conclusion, s.concludes);
    set(f_first_conclusion, s.concludes && !concluded_);
    set(f_ungrounded, ungrounded);
    row_[f_new_values] = std::log1p(static_cast<double>(brought.size())) / 3.0;
    row_[f_new_values_uncoded] = s.code ? 0.0 : row_[f_new_values];
    row_[f_share_of_end] = share_of(brought, whole_.end_values);
    concluded_ = concluded_ || s.concludes;
  }

  void wording(const step_facts& s, const word_set& brought) {
    const bool assumption = assumes(s.low);
    const bool intent =
        has_any(s.low, {"i will", "i'll", "let's start", "let me", "we need to", "we will need", "next, i",
                        "please hold", "hold on", "once i have", "once we have", "i would need"});
    set(f_assumption, assumption);
    set(f_strong_assumption,
        has_any(s.low, {"assum", "hypothetical", "simulat", "mock", "sample data", "placeholder"}));
    set(f_intent, intent);
    set(f_intent_only, intent && !s.code && brought.size() < 3);
    set(f_asks, has_any(s.low, {"could you", "can you", "please provide", "please share", "does anyone", "do you have",
                                "if you have", "please confirm", "can someone", "could someone", "let me know",
                                "let us know"}));
    set(f_agreement,
        has_any(s.low, {"i agree", "agreed", "verified", "no further", "consensus", "confirmed", "accurately"}));
    set(f_failure_words, speaks_of_failure(s.low));
    set(f_fact_words, has_any(s.low, {"here is", "here are", "the following", "found"}));
    set(f_ends_run, s.ends);
  }

  const flat_log& log_;
  const std::vector<step_facts> steps_;
  const log_facts whole_;
  std::vector<double> row_;
  vocabulary seen_values_, seen_words_;
  std::map<std::string, own_texts> own_;  // by agent
  bool failed_ = false, coded_ = false, concluded_ = false;
};

}  // namespace

#define FEATURE(name, by, weighs, means, says) {#name, stage::by, leaning::weighs, bearing::means, says},
const std::vector<feature_info>& chat_features() {
  static const std::vector<feature_info> features{
#include "analysis/chief/chat_features.inc"
  };
  return features;
}
#undef FEATURE

candidate_rows rows_of_chat(const flat_log& log) { return reader(log).read(); }

}  // namespace digd::chief
