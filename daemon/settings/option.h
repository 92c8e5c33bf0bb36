// One option of the configuration: its name and meaning, what it may be, and how a value gets into the `config` and
// out of it. The table is the only list: config/digd.toml, config/digd.schema.json, `--check-config`, the environment
// and the reload all come from it, and tests hold the two files to it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/settings/config.h"

namespace toml {
inline namespace v3 {
class node;
}
}  // namespace toml

namespace digd::daemon {

enum class value_kind : std::uint8_t { whole_number, text, choice, yes_or_no, list, share };

// When a changed value holds after SIGHUP.
enum class applies : std::uint8_t {
  at_restart,
  at_once,
  to_new_connections,
  to_new_runs,  // a run keeps what it started with
};

std::string_view to_string(applies when);

struct option {
  std::string name;  // dotted
  std::string meaning;
  value_kind kind = value_kind::text;
  applies when = applies::at_restart;
  std::int64_t least = 0, most = 0;       // of a whole number or a share
  std::vector<std::string_view> choices;  // of a choice
  // Returns what is wrong with the value, in words; empty if it was taken.
  std::function<std::string(const toml::node& value, config& into)> set;
  // The value as TOML writes it.
  std::function<std::string(const config& from)> get;

  std::string_view section() const;  // "rules.deadlock" of "rules.deadlock.mode"; empty at the top
  std::string_view key() const;
};

// In the order of config/digd.toml.
const std::vector<option>& options();

// The first paragraph over a section in config/digd.toml; empty if there is nothing to say.
std::string_view section_meaning(std::string_view section);

// The option whose name is closest to a mistaken one, those of webhooks included; null if none is close.
const option* nearest_option(std::string_view name);

}  // namespace digd::daemon
