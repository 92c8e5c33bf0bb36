#include "daemon/settings/option_files.h"

#include <boost/json.hpp>

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/indented_json.h"
#include "base/quote.h"
#include "daemon/settings/options.h"
#include "daemon/settings/price_options.h"
#include "daemon/settings/webhook_options.h"

namespace digd::daemon {

namespace {

namespace json = boost::json;
constexpr std::size_t line_width = 100;

void append_comment(std::string& out, std::string_view text) {
  std::string line = "#";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (line.size() > 1 && line.size() + 1 + end > line_width) {
      out.append(line).append("\n");
      line = "#";
    }
    line.append(" ").append(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  out.append(line).append("\n");
}

std::string_view words_for_change(applies when) {
  switch (when) {
    case applies::at_restart: return "A change needs a restart.";
    case applies::at_once: return "A change takes effect at once after a reload.";
    case applies::to_new_connections: return "A change takes effect for new connections after a reload.";
    case applies::to_new_runs: return "A change takes effect for new runs after a reload.";
  }
  return {};
}

std::string range_of(const option& option) {
  if (option.kind == value_kind::whole_number)
    return std::to_string(option.min_value) + " to " + std::to_string(option.max_value);
  if (option.kind == value_kind::yes_or_no) return "true or false";
  if (option.kind == value_kind::list) return "a list of strings";
  if (option.kind == value_kind::share) return "0 to 1";
  if (option.kind == value_kind::amount)
    return "a number from " + std::to_string(option.min_value) + " to " + std::to_string(option.max_value);
  if (option.kind == value_kind::text) return "a string";
  std::string text;
  for (const std::string_view name : option.choices) text.append(text.empty() ? "" : ", ").append(digd::quoted(name));
  return text;
}

template <class Write>
std::string by_section(Write write) {
  std::string out;
  std::string_view section;
  for (const option& option : options()) {
    if (option.section() != section) {
      section = option.section();
      out += '\n';
      write(out, section, nullptr);
    }
    write(out, section, &option);
  }
  return out;
}

json::object schema_of(const option& option, const config& defaults) {
  json::object o;
  o["description"] = option.meaning + ' ' + std::string(words_for_change(option.when));
  switch (option.kind) {
    case value_kind::whole_number:
      o["type"] = "integer";
      o["minimum"] = option.min_value;
      o["maximum"] = option.max_value;
      break;
    case value_kind::share:
    case value_kind::amount:
      o["type"] = "number";
      o["minimum"] = option.min_value;
      o["maximum"] = option.max_value;
      break;
    case value_kind::choice: o["enum"] = json::array(option.choices.begin(), option.choices.end()); break;
    case value_kind::yes_or_no: o["type"] = "boolean"; break;
    case value_kind::list:
      o["type"] = "array";
      o["items"] = json::object{{"type", "string"}};
      break;
    case value_kind::text: o["type"] = "string";
  }
  o["default"] = json::parse(option.get(defaults));  // these TOML literals are valid JSON
  return o;
}

json::object& table_of(json::object& root, std::string_view section) {
  json::object* at = &root;
  while (!section.empty()) {
    const std::size_t end = std::min(section.find('.'), section.size());
    json::object& properties = (*at)["properties"].as_object();
    json::value& next = properties[section.substr(0, end)];
    if (!next.is_object()) {
      next = json::object{{"type", "object"}, {"additionalProperties", false}, {"properties", json::object{}}};
    }
    at = &next.as_object();
    section.remove_prefix(std::min(end + 1, section.size()));
  }
  return *at;
}

// The comment above an option.
void append_explanation(std::string& to, const option& option, const config& defaults) {
  append_comment(to, option.meaning);
  append_comment(to, "Default: " + option.get(defaults) + ". Range: " + range_of(option) + ". " +
                         std::string(words_for_change(option.when)));
}

// All commented out: by default there is no webhook.
void append_webhook_example(std::string& to) {
  config defaults;
  defaults.webhooks.emplace_back();
  to += "\n\n";
  append_comment(to, section_meaning("webhook"));
  to += "# [[webhook]]\n#\n";
  for (const option& option : webhook_options()) {
    append_explanation(to, option, defaults);
    to.append("# ").append(option.key()).append(" = ").append(option.get(defaults)).append("\n#\n");
  }
  to.erase(to.size() - 2);
}

}  // namespace

std::string commented_config() {
  const config defaults;
  std::string out =
      "# The configuration of digd. It lists every option with its default; an empty file has the same effect.\n"
      "# An unknown option is an error. scripts/write-config writes this file from the daemon's table of options.\n"
      "#\n"
      "# The environment overrides this file, and the command line overrides both. An environment variable is the\n"
      "# option's name in capitals, with two underscores for each dot: DIGD_LISTEN, DIGD_LOG__LEVEL.\n"
      "# `digd --config FILE --check-config` checks the file and prints the effective configuration.\n"
      "# After a change, run `systemctl reload digd` (SIGHUP). The log names the options that need a restart.\n\n";
  out += by_section([&](std::string& to, std::string_view section, const option* option) {
    if (option == nullptr) {
      to += '\n';
      if (const auto meaning = section_meaning(section); !meaning.empty()) append_comment(to, meaning);
      to.append("[").append(section).append("]\n\n");
      return;
    }
    append_explanation(to, *option, defaults);
    to.append(option->key()).append(" = ").append(option->get(defaults)).append("\n\n");
  });
  append_comment(out, prices_meaning);
  out += "# [prices.\"gpt-4o\"]\n# input = 2.5\n# output = 10\n";
  append_webhook_example(out);
  return out;
}

std::string effective_config(const config& c) {
  return by_section([&](std::string& to, std::string_view section, const option* option) {
           if (option == nullptr) {
             to.append("[").append(section).append("]\n");
           } else {
             to.append(option->key()).append(" = ").append(option->shown(c)).append("\n");
           }
         }) +
         shown_prices(c) + shown_webhooks(c);
}

std::string config_schema() {
  const config defaults;
  json::object root{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                    {"title", "The configuration of digd"},
                    {"type", "object"},
                    {"additionalProperties", false},
                    {"properties", json::object{}}};
  for (const option& option : options()) {
    table_of(root, option.section())["properties"].as_object()[option.key()] = schema_of(option, defaults);
  }
  root["properties"].as_object()["prices"] = prices_schema();
  config alone;
  alone.webhooks.emplace_back();
  json::object webhook{{"type", "object"},
                       {"additionalProperties", false},
                       {"required", json::array{"name", "url"}},
                       {"properties", json::object{}}};
  for (const option& option : webhook_options())
    webhook["properties"].as_object()[option.key()] = schema_of(option, alone);
  root["properties"].as_object()["webhook"] = json::object{{"description", section_meaning("webhook")},
                                                           {"type", "array"},
                                                           {"maxItems", max_webhooks},
                                                           {"default", json::array{}},
                                                           {"items", std::move(webhook)}};
  std::string out;
  append_indented(out, root, [](const json::value& value) {
    return value.is_object() ? std::nullopt : std::optional(json::serialize(value));
  });
  return out + '\n';
}

std::string environment_name(const std::string& option_name) {
  std::string out = "DIGD_";
  for (const char c : option_name) {
    if (c == '.') {
      out += "__";
    } else {
      out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

}  // namespace digd::daemon
