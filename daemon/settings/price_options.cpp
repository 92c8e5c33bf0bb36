#include "daemon/settings/price_options.h"

#include <boost/json/array.hpp>
#include <optional>

#include "base/json_writer.h"
#include "base/quote.h"

namespace digd::daemon {

namespace {

namespace json = boost::json;

constexpr double max_price = 1e9;
constexpr std::size_t max_model_bytes = 256;

std::optional<double> amount_in(const toml::node& from) {
  const auto given = from.is_floating_point() || from.is_integer() ? from.value<double>() : std::nullopt;
  return given && *given >= 0 && *given <= max_price ? given : std::nullopt;
}

std::string amount_literal(double value) {
  std::string out;
  json_writer(out).number(value);
  return out;
}

}  // namespace

void load_prices(const toml::node& from, config& into,
                 const std::function<void(toml::source_position, const std::string&)>& wrong) {
  const toml::table* models = from.as_table();
  if (models == nullptr) return wrong(from.source().begin, "\"prices\" must be written [prices.\"MODEL\"]");
  if (models->size() > ingest::max_prices) {
    return wrong(from.source().begin, "\"prices\" has over " + std::to_string(ingest::max_prices) + " models");
  }
  for (const auto& [key, value] : *models) {
    ingest::model_price price{.model = std::string(key.str())};
    const std::string name = "prices." + digd::quoted(price.model);
    const toml::table* fields = value.as_table();
    if (price.model.empty() || price.model.size() > max_model_bytes) {
      wrong(key.source().begin, name + ": a model has 1 to 256 bytes");
      continue;
    }
    if (fields == nullptr || !fields->contains("input") || !fields->contains("output")) {
      wrong(value.source().begin, name + " needs `input` and `output`, the prices of a million tokens");
      continue;
    }
    for (const auto& [option, node] : *fields) {
      const auto amount = amount_in(node);
      if (option.str() != "input" && option.str() != "output") {
        wrong(option.source().begin,
              name + " has no option " + digd::quoted(option.str()) + "; it has input and output");
      } else if (!amount) {
        wrong(node.source().begin, name + '.' + std::string(option.str()) + " must be a number from 0 to 1000000000");
      } else {
        (option.str() == "input" ? price.input : price.output) = *amount;
      }
    }
    into.prices.push_back(std::move(price));
  }
}

std::string shown_prices(const config& c) {
  std::string out;
  for (const ingest::model_price& price : c.prices) {
    out += "\n[prices." + digd::quoted(price.model) + "]\ninput = " + amount_literal(price.input) +
           "\noutput = " + amount_literal(price.output) + "\n";
  }
  return out;
}

json::object prices_schema() {
  const json::object amount{{"type", "number"}, {"minimum", 0}, {"maximum", 1'000'000'000}};
  return {{"description", prices_meaning},
          {"type", "object"},
          {"maxProperties", ingest::max_prices},
          {"default", json::object{}},
          {"additionalProperties", json::object{{"type", "object"},
                                                {"additionalProperties", false},
                                                {"required", json::array{"input", "output"}},
                                                {"properties", json::object{{"input", amount}, {"output", amount}}}}}};
}

}  // namespace digd::daemon
