#include "ingest/protocol/prices.h"

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/json_writer.h"
#include "model/guard.h"
#include "model/message.h"

namespace digd::ingest {

namespace {

namespace ondemand = simdjson::ondemand;

constexpr double million = 1'000'000;

const model_price* price_of(std::string_view model, const std::vector<model_price>& prices) {
  const auto named = [&](std::string_view name) {
    return std::find_if(prices.begin(), prices.end(), [&](const model_price& price) { return price.model == name; });
  };
  const auto exact = named(model);
  if (exact != prices.end()) return &*exact;
  const auto any = named("*");
  return any == prices.end() ? nullptr : &*any;
}

// The two token counts of an object. A missing or invalid count is 0 here; the decoder refuses an invalid one later.
struct token_counts {
  std::uint64_t input = 0, output = 0;

  double cost(const model_price& price) const {
    return (static_cast<double>(input) * price.input + static_cast<double>(output) * price.output) / million;
  }
};

struct reported_usage {
  bool has_cost = false;
  token_counts total;
  token_counts of_models;
  double cost_of_models = 0;
  bool has_price = false;
};

constexpr auto max_tokens = static_cast<std::uint64_t>(max_usage);  // so that no sum overflows

std::optional<std::uint64_t> count_in(ondemand::value value) {
  std::uint64_t number = 0;
  if (value.get_uint64().get(number) != simdjson::SUCCESS || number > max_tokens) return std::nullopt;
  return number;
}

bool read_counts(ondemand::object from, token_counts& into) {
  for (auto field : from) {
    std::string_view key;
    ondemand::value value;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS || field.value().get(value) != simdjson::SUCCESS) {
      return false;
    }
    if (key == "input_tokens") into.input = count_in(value).value_or(0);
    if (key == "output_tokens") into.output = count_in(value).value_or(0);
  }
  return true;
}

bool read_models(ondemand::value from, const std::vector<model_price>& prices, reported_usage& into) {
  ondemand::object models;
  if (from.get_object().get(models) != simdjson::SUCCESS) return false;
  for (auto field : models) {
    std::string_view name;
    ondemand::object counts_object;
    if (field.unescaped_key().get(name) != simdjson::SUCCESS) return false;
    const model_price* price = price_of(name, prices);
    if (field.value().get_object().get(counts_object) != simdjson::SUCCESS) return false;
    token_counts counts;
    if (!read_counts(counts_object, counts)) return false;
    into.of_models.input += counts.input;
    into.of_models.output += counts.output;
    if (price == nullptr || counts.input + counts.output == 0) continue;
    into.has_price = true;
    into.cost_of_models += counts.cost(*price);
  }
  return true;
}

bool read_usage(ondemand::object from, const std::vector<model_price>& prices, reported_usage& into) {
  for (auto field : from) {
    std::string_view key;
    ondemand::value value;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS || field.value().get(value) != simdjson::SUCCESS) {
      return false;
    }
    if (key == "cost") into.has_cost = true;
    if (key == "input_tokens") into.total.input = count_in(value).value_or(0);
    if (key == "output_tokens") into.total.output = count_in(value).value_or(0);
    if (key == "models" && !read_models(value, prices, into)) return false;
  }
  return true;
}

// Tokens that the usage assigns to no model have the price of "*".
std::optional<double> cost_of(const reported_usage& used, const std::vector<model_price>& prices) {
  const token_counts rest{.input = used.total.input - std::min(used.total.input, used.of_models.input),
                          .output = used.total.output - std::min(used.total.output, used.of_models.output)};
  const model_price* price = rest.input + rest.output > 0 ? price_of("*", prices) : nullptr;
  if (price == nullptr && !used.has_price) return std::nullopt;
  const double cost = used.cost_of_models + (price == nullptr ? 0 : rest.cost(*price));
  return std::min(cost, static_cast<double>(max_usage));
}

}  // namespace

bool add_cost(std::string_view message, const std::vector<model_price>& prices, std::string& priced) {
  if (prices.empty() || message.find("\"usage\"") == std::string_view::npos) return false;
  const simdjson::padded_string padded(message);
  ondemand::parser parser;
  ondemand::document document;
  ondemand::object fields, usage;
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS) return false;
  if (document.get_object().get(fields) != simdjson::SUCCESS) return false;
  if (fields.find_field_unordered("usage").get_object().get(usage) != simdjson::SUCCESS) return false;
  std::string_view text;
  if (usage.raw_json().get(text) != simdjson::SUCCESS || usage.reset().error() != simdjson::SUCCESS) return false;
  const auto begin = static_cast<std::size_t>(text.data() - padded.data());
  reported_usage used;
  if (!read_usage(usage, prices, used) || used.has_cost) return false;
  const std::optional<double> cost = cost_of(used, prices);
  if (!cost) return false;
  std::string member;
  json_writer(member).key("cost").number(*cost);
  priced.assign(message.substr(0, begin + 1));
  priced += member;
  priced += ',';
  priced += message.substr(begin + 1);
  return true;
}

}  // namespace digd::ingest
