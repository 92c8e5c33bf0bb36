#include "ingest/hooks/transcript.h"

#include <boost/json/parse.hpp>
#include <unordered_map>

#include "ingest/hooks/dialect.h"

namespace digd::hooks {

namespace json = boost::json;

usage_totals usage_of(const json::object& usage) {
  return {.input_tokens = count_of(usage, "input_tokens") + count_of(usage, "cache_creation_input_tokens") +
                          count_of(usage, "cache_read_input_tokens"),
          .output_tokens = count_of(usage, "output_tokens"),
          .model_calls = 1};
}

transcript_facts read_transcript(std::string_view lines) {
  transcript_facts facts;
  std::unordered_map<std::string, usage_totals> replies;  // by the reply's id: the last line has its final usage
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    if (line.find("\"usage\"") == std::string_view::npos) continue;
    json::error_code ec;
    const json::value value = json::parse({line.data(), line.size()}, ec);
    const json::object* entry = ec ? nullptr : value.if_object();
    const json::object* reply = entry == nullptr ? nullptr : object_of(*entry, "message");
    const json::object* usage = reply == nullptr ? nullptr : object_of(*reply, "usage");
    if (usage == nullptr || text_of(*reply, "role") != "assistant") continue;
    replies[text_of(*reply, "id")] = usage_of(*usage);
    facts.model = text_of(*reply, "model");
  }
  for (const auto& [id, usage] : replies) {
    facts.usage.input_tokens += usage.input_tokens;
    facts.usage.output_tokens += usage.output_tokens;
    facts.usage.model_calls += 1;
  }
  return facts;
}

}  // namespace digd::hooks
