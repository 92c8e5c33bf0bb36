// Words, values and phrases of a step's text.
//
// Pure functions over UTF-8 bytes; only ASCII letters and digits form words. The text is data: nothing in it is
// executed or trusted. Thread: any; a `vocabulary` one at a time, and it grows with the words that are added.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace digd::chief {

// Sorted, without duplicates.
using word_set = std::vector<std::string>;

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Lower-case words of three letters or more and all numbers, without common English and the vocabulary of tasks.
word_set content_words(std::string_view text);

// The values that a step can pass on: numbers ("1,083", "2.5") and capitalised words ("Honolulu").
word_set values(std::string_view text);

// Text between single or double quotes or backticks, 1 to 40 bytes without a line end.
word_set quoted_terms(std::string_view text);

word_set union_of(const word_set&, const word_set&);
word_set without(const word_set& from, const word_set& words);
std::size_t shared(const word_set&, const word_set&);
// The share of the words of `whole` that are in `part`; 0 if `whole` is empty.
double share_of(const word_set& part, const word_set& whole);
double jaccard(const word_set&, const word_set&);

// The words of many texts. The cost of adding a step's words depends on that step alone, not on the steps before it.
class vocabulary {
 public:
  vocabulary() = default;
  explicit vocabulary(const word_set& words) { add(words); }

  void add(const word_set& words) { words_.insert(words.begin(), words.end()); }
  void clear() { words_.clear(); }
  bool contains(const std::string& word) const { return words_.contains(word); }
  std::size_t size() const { return words_.size(); }

 private:
  std::unordered_set<std::string> words_;
};

word_set without(const word_set& from, const vocabulary& words);
std::size_t shared(const word_set&, const vocabulary&);
double share_of(const vocabulary& part, const word_set& whole);
double jaccard(const word_set&, const vocabulary&);

// Whether `text`, in lower case, contains one of the phrases.
bool has_any(std::string_view text, std::initializer_list<std::string_view> phrases);

// `text` on one line, control characters as spaces, cut at a character to at most `max_bytes`.
std::string one_line(std::string_view text, std::size_t max_bytes);

// Whether the text restates the run's task to all agents ("# General Task … from manager").
bool is_brief(std::string_view lower_text);
// The task that such a text describes.
std::string_view described_task(std::string_view text);

// Judgements by the wording of a text in lower case.
bool concludes(std::string_view low);
bool assumes(std::string_view low);
bool speaks_of_failure(std::string_view low);

}  // namespace digd::chief
