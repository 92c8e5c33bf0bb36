#include "analysis/chief/text.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace digd::chief {

namespace {

constexpr std::string_view common[] = {
    "about", "all",    "also",    "and",      "answer",    "any",     "are",         "based", "been",  "but",
    "can",   "could",  "did",     "does",     "following", "for",     "from",        "get",   "give",  "given",
    "had",   "has",    "have",    "her",      "his",       "how",     "information", "into",  "its",   "just",
    "let",   "may",    "might",   "more",     "most",      "not",     "one",         "only",  "other", "our",
    "plan",  "please", "provide", "question", "result",    "results", "should",      "solve", "some",  "step",
    "steps", "such",   "task",    "than",     "that",      "the",     "their",       "them",  "then",  "there",
    "they",  "this",   "two",     "use",      "used",      "using",   "was",         "were",  "what",  "when",
    "where", "which",  "who",     "will",     "with",      "would",   "you",         "your"};

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_word(char c) { return is_digit(c) || is_lower(c) || is_upper(c); }
bool continues_word(char c) { return is_word(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80; }

word_set sorted(word_set words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

bool kept(std::string_view word) {
  if (std::all_of(word.begin(), word.end(), is_digit)) return true;
  return word.size() > 2 && !std::binary_search(std::begin(common), std::end(common), word);
}

}  // namespace

word_set content_words(std::string_view text) {
  word_set words;
  std::string word;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    if (is_word(c)) {
      word += is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!word.empty()) {
      if (kept(word)) words.push_back(word);
      word.clear();
    }
  }
  return sorted(std::move(words));
}

word_set values(std::string_view text) {
  word_set found;
  for (std::size_t i = 0; i < text.size();) {
    const bool fresh = i == 0 || !continues_word(text[i - 1]);
    std::size_t end = i;
    if (is_digit(text[i])) {
      while (end < text.size() && (is_digit(text[end]) || ((text[end] == '.' || text[end] == ',') &&
                                                           end + 1 < text.size() && is_digit(text[end + 1])))) {
        ++end;
      }
      found.emplace_back(text.substr(i, end - i));
    } else if (fresh && is_upper(text[i])) {
      end = i + 1;
      while (end < text.size() && is_lower(text[end])) ++end;
      if (end - i >= 3 && (end == text.size() || !continues_word(text[end])))
        found.emplace_back(text.substr(i, end - i));
    }
    i = std::max(end, i + 1);
  }
  return sorted(std::move(found));
}

word_set quoted_terms(std::string_view text) {
  word_set found;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char quote = text[i];
    if (quote != '\'' && quote != '"' && quote != '`') continue;
    if (i > 0 && is_word(text[i - 1])) continue;  // an apostrophe
    const std::size_t end = text.find(quote, i + 1);
    if (end == std::string_view::npos) continue;
    const std::string_view term = text.substr(i + 1, end - i - 1);
    if (term.empty() || term.size() > 40 || term.find('\n') != std::string_view::npos) continue;
    found.push_back(lower(term));
    i = end;
  }
  return sorted(std::move(found));
}

word_set union_of(const word_set& a, const word_set& b) {
  word_set out;
  out.reserve(a.size() + b.size());
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

word_set without(const word_set& from, const word_set& words) {
  word_set out;
  std::set_difference(from.begin(), from.end(), words.begin(), words.end(), std::back_inserter(out));
  return out;
}

std::size_t shared(const word_set& a, const word_set& b) {
  std::size_t n = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (*i < *j) ++i;
    else if (*j < *i) ++j;
    else ++n, ++i, ++j;
  }
  return n;
}

double share_of(const word_set& part, const word_set& whole) {
  return whole.empty() ? 0.0 : static_cast<double>(shared(part, whole)) / static_cast<double>(whole.size());
}

double jaccard(const word_set& a, const word_set& b) {
  const std::size_t both = shared(a, b), any = a.size() + b.size() - both;
  return any == 0 ? 0.0 : static_cast<double>(both) / static_cast<double>(any);
}

word_set without(const word_set& from, const vocabulary& words) {
  word_set out;
  std::copy_if(from.begin(), from.end(), std::back_inserter(out),
               [&](const std::string& word) { return !words.contains(word); });
  return out;
}

std::size_t shared(const word_set& a, const vocabulary& b) {
  return static_cast<std::size_t>(
      std::count_if(a.begin(), a.end(), [&](const std::string& word) { return b.contains(word); }));
}

double share_of(const vocabulary& part, const word_set& whole) {
  return whole.empty() ? 0.0 : static_cast<double>(shared(whole, part)) / static_cast<double>(whole.size());
}

double jaccard(const word_set& a, const vocabulary& b) {
  const std::size_t both = shared(a, b), any = a.size() + b.size() - both;
  return any == 0 ? 0.0 : static_cast<double>(both) / static_cast<double>(any);
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> phrases) {
  return std::any_of(phrases.begin(), phrases.end(),
                     [&](std::string_view phrase) { return text.find(phrase) != std::string_view::npos; });
}

std::string one_line(std::string_view text, std::size_t max_bytes) {
  std::string out;
  for (char c : text) {
    const bool space = static_cast<unsigned char>(c) < 0x20 || c == ' ' || c == 0x7f;
    if (space && (out.empty() || out.back() == ' ')) continue;
    out += space ? ' ' : c;
    if (out.size() > max_bytes) break;
  }
  if (out.size() > max_bytes) {
    out.resize(utf8_prefix(out, max_bytes).size());
    out += "…";
  }
  return out;
}

bool is_brief(std::string_view low) {
  return low.find("general task") != std::string_view::npos && low.find("manager") != std::string_view::npos;
}

std::string_view described_task(std::string_view text) {
  const std::string low = lower(text);
  const std::size_t from = low.find("## task description");
  if (from == std::string::npos) return text;
  const std::size_t end = low.find("## plan", from);
  return text.substr(from, end == std::string::npos ? std::string_view::npos : end - from);
}

bool concludes(std::string_view low) {
  return has_any(low, {"therefore", "thus,", "in conclusion", "the answer is", "final answer", "conclude", "conclusion",
                       "is confirmed", "confirmed to be", "we can confirm", "correct answer", "indicates that"});
}

bool assumes(std::string_view low) {
  return has_any(low, {"assum", "hypothetical", "simulat", "mock", "sample data", "placeholder", "generally speaking",
                       "my knowledge", "for the sake of", "for demonstration", "dummy", "example data", "in general",
                       "typically", "estimate", "approximate"});
}

bool speaks_of_failure(std::string_view low) {
  return has_any(low, {"error", "issue", "failed", "not found", "did not return", "not available", "unable", "cannot",
                       "couldn't", "wasn't able", "not return", "didn't"});
}

}  // namespace digd::chief
