#include "daemon/settings/settings_source.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/quote.h"
#include "daemon/settings/config_file.h"
#include "daemon/settings/option_files.h"
#include "daemon/settings/options.h"
#include "daemon/settings/webhook_options.h"

extern char** environ;

namespace digd::daemon {

namespace {

constexpr std::string_view log_level_alias = "DIGD_LOG_LEVEL";

std::string add_line(std::string text, const std::string& line) {
  if (line.empty()) return text;
  return text.empty() ? line : std::move(text) + '\n' + line;
}

std::string line_of_variable(std::string_view name, const std::string& problem) {
  return "environment: " + std::string(name) + ": " + problem;
}

std::string line_of_change(const option& changed, const std::string& before, const std::string& after) {
  return changed.name + ": " + before + " -> " + after + " (" + std::string(to_string(changed.when)) + ')';
}

std::string read_file(const std::string& name, config& into) {
  std::ifstream file(name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();  // sets failbit, but not badbit, if the file is empty
  if (!file || text.bad()) return "cannot read " + digd::quoted(name);
  std::string current_text;
  for (const std::string& wrong : load_config(text.str(), name, into))
    current_text = add_line(std::move(current_text), wrong);
  return current_text;
}

// A string is taken literally, a list as TOML or separated by commas, anything else as TOML.
std::string take(const option& option, const std::string& text, config& into) {
  if (option.kind == value_kind::text || option.kind == value_kind::choice) {
    return option.set(toml::value<std::string>(text), into);
  }
  if (option.kind == value_kind::list && !text.starts_with('[')) {
    toml::array items;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) items.push_back(word);
    return option.set(items, into);
  }
  try {
    const toml::table table = toml::parse("v = " + text);
    return option.set(*table.get("v"), into);
  } catch (const toml::parse_error&) {
    return option.set(toml::value<std::string>(text), into);  // its error names the range
  }
}

std::string read_environment(config& into) {
  std::string wrong;
  for (const option& option : options()) {
    const std::string name = environment_name(option.name);
    const char* value = std::getenv(name.c_str());
    std::string_view used = name;
    if (value == nullptr && option.name == "log.level") {
      value = std::getenv(log_level_alias.data());
      used = log_level_alias;
    }
    if (value == nullptr || *value == '\0') continue;
    if (const std::string text = take(option, value, into); !text.empty()) {
      wrong = add_line(std::move(wrong), line_of_variable(used, text));
    }
  }
  // A name with a section is certainly meant for digd; others may belong to other programs.
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry(*at);
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with("DIGD_") || name.find("__") == name.npos) continue;
    const auto is_known = [&](const option& option) { return environment_name(option.name) == name; };
    if (std::any_of(options().begin(), options().end(), is_known)) continue;
    const auto is_secret = [&](const webhook_settings& w) { return w.secret_env == name; };
    if (std::any_of(into.webhooks.begin(), into.webhooks.end(), is_secret)) continue;
    if (into.otlp_export.headers_env == name) continue;
    wrong = add_line(std::move(wrong), "environment: there is no option for " + digd::quoted(name));
  }
  return wrong;
}

}  // namespace

std::string read_settings(const settings_source& from, config& into) {
  std::string wrong;
  if (!from.file.empty()) wrong = read_file(from.file, into);
  wrong = add_line(std::move(wrong), read_environment(into));
  if (!from.listen.empty()) into.listen = from.listen;
  if (!from.data_dir.empty()) into.data_dir = from.data_dir;
  if (into.data_dir.empty()) into.data_dir = find_data_dir();
  return wrong.empty() ? check_config(into) : wrong;
}

reload_plan plan_reload(const config& current, const config& read) {
  reload_plan plan{.next = read, .changed = {}, .need_a_restart = {}};
  for (const option& option : options()) {
    const std::string before = option.get(current), after = option.get(read);
    if (before == after) continue;
    if (option.when != applies::at_restart) {
      plan.changed.push_back(line_of_change(option, option.shown(current), option.shown(read)));
      continue;
    }
    plan.need_a_restart.push_back(option.name);
    const toml::table old = toml::parse("v = " + before);
    static_cast<void>(option.set(*old.get("v"), plan.next));
  }
  if (current.prices != read.prices) {
    plan.changed.push_back("prices (" + std::string(to_string(applies::to_new_runs)) + ')');
  }
  for (const std::string& change : webhook_changes(current, read)) {
    plan.changed.push_back(change + " (" + std::string(to_string(applies::at_once)) + ')');
  }
  return plan;
}

}  // namespace digd::daemon
