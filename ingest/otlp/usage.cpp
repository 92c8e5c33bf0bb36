#include "ingest/otlp/usage.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "ingest/otlp/dialect.h"

namespace digd::otlp {

namespace json = boost::json;

namespace {

// OpenTelemetry's names, its former ones, and OpenInference's.
constexpr std::array<std::string_view, 9> keys{
    "gen_ai.usage.input_tokens",  "gen_ai.usage.prompt_tokens",     "llm.token_count.prompt",
    "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion",
    "gen_ai.response.model",      "gen_ai.request.model",           "llm.model_name"};
constexpr key_list input_keys{keys[0], keys[1], keys[2]};
constexpr key_list output_keys{keys[3], keys[4], keys[5]};
// The requested name is the one that people know and configure prices for; providers answer with dated versions.
constexpr key_list model_keys{keys[7], keys[6], keys[8]};

constexpr std::uint64_t max_tokens = 1'000'000'000;  // of one report
constexpr std::size_t max_model_bytes = 256;

// 0: no count.
std::uint64_t tokens_in(const span& s, const key_list& names) {
  const std::string text = first_of(s, names).value_or("");
  if (text.empty() || text.size() > 10 ||
      !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return 0;
  const std::uint64_t count = std::stoull(text);
  return count <= max_tokens ? count : 0;
}

void add(json::object& to, std::string_view name, std::uint64_t count) {
  if (count > 0) to[name] = std::min(count, max_tokens);
}

}  // namespace

std::span<const std::string_view> usage_keys() { return keys; }

json::object usage_of(std::span<const span* const> model_spans, std::size_t tools) {
  struct tokens {
    std::uint64_t input = 0, output = 0;
  };
  tokens total;
  std::map<std::string, tokens> models;
  for (const span* s : model_spans) {
    const tokens used{.input = tokens_in(*s, input_keys), .output = tokens_in(*s, output_keys)};
    total.input += used.input;
    total.output += used.output;
    std::string model = first_of(*s, model_keys).value_or("");
    if (model.empty() || model.size() > max_model_bytes || used.input + used.output == 0) continue;
    if (models.size() >= max_models && !models.contains(model)) continue;
    tokens& of_model = models[std::move(model)];
    of_model.input += used.input;
    of_model.output += used.output;
  }
  json::object out;
  add(out, "input_tokens", total.input);
  add(out, "output_tokens", total.output);
  add(out, "model_calls", model_spans.size());
  add(out, "tool_calls", tools);
  json::object by_model;
  for (const auto& [model, used] : models) {
    json::object counts;
    add(counts, "input_tokens", used.input);
    add(counts, "output_tokens", used.output);
    by_model[model] = std::move(counts);
  }
  if (!by_model.empty()) out["models"] = std::move(by_model);
  return out;
}

}  // namespace digd::otlp
