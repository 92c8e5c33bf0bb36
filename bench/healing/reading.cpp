#include "bench/healing/reading.h"

#include "rules/text.h"

namespace digd::bench {

namespace {

bool says(std::string_view text, std::string_view words) { return text.find(words) != std::string_view::npos; }

// The list of quoted names that follows `words`, as healing texts write it.
std::vector<std::string> named_after(std::string_view text, std::string_view words) {
  std::vector<std::string> names;
  std::size_t at = text.find(words);
  if (at == std::string_view::npos) return names;
  at += words.size();
  while (at < text.size() && text[at] == '"') {
    const std::size_t end = text.find('"', at + 1);
    if (end == std::string_view::npos) break;
    names.emplace_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
    if (text.substr(at, 2) != ", ") break;
    at += 2;
  }
  return names;
}

std::string name_after(std::string_view text, std::string_view words) {
  std::vector<std::string> names = named_after(text, words);
  return names.empty() ? std::string() : std::move(names.front());
}

}  // namespace

void read_text(std::string_view text, hint& h) {
  request& asks = h.asks;
  if (h.rule == rule_id::early_termination) {
    asks.count_once = says(text, "ount nothing twice");
    asks.wait = says(text, "Wait for what others are working on");
    asks.not_wait = says(text, "do not just wait");
    asks.again = says(text, "and delegate it again if no result arrives");
    asks.only_whole = says(text, "only when nothing is missing");
    asks.redo = says(text, "rebuild it from results");
    asks.to = named_after(text, "to free agents (");
    if (says(text, "If it lacks more than half, pass it on"))
      asks.pass_on_to = name_after(text, "Most of it waits at ");
  } else if (h.rule == rule_id::cross_lineage_aggregation) {
    asks.reader = name_after(text, "To agent ");
    asks.take_in = named_after(text, "consume the parts of the younger one (");
  }
}

std::string_view paragraphs::next() {
  constexpr std::string_view between = "\n\n";
  const std::size_t end = rest_.find(between);
  const std::string_view text = rest_.substr(0, end);
  rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + between.size());
  return text;
}

hint in_words_of(rule_id rule, std::string event, std::vector<std::string> evidence, const text_facts& facts) {
  hint h{.rule = rule, .asks = {}, .event = std::move(event), .evidence = std::move(evidence)};
  read_text(text::fill(rule_of(rule).text(), facts), h);
  return h;
}

}  // namespace digd::bench
