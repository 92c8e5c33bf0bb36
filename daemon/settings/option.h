// One option of the configuration: name, meaning, range, and how its value is read and written.
//
// Thread: any; an option is constant once its table is made, and its functions keep no state. One thread at a time uses
// the `config` that `set` changes.
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

enum class value_kind : std::uint8_t { whole_number, text, choice, yes_or_no, list, share, amount };

// When a value that changed takes effect after SIGHUP.
enum class applies : std::uint8_t {
  at_restart,
  at_once,
  to_new_connections,
  to_new_runs,
};

std::string_view to_string(applies when);

struct option {
  std::string name;  // dotted
  std::string meaning;
  value_kind kind = value_kind::text;
  applies when = applies::at_restart;
  std::int64_t min_value = 0, max_value = 0;  // of a whole number, a share or an amount
  std::vector<std::string_view> choices;      // of a choice
  // Returns the value's problem in words; empty if it was set.
  std::function<std::string(const toml::node& value, config& into)> set;
  // The value as TOML writes it.
  std::function<std::string(const config& from)> get;
  // The value as people see it: URLs without parts that may be secret. Null: as `get`.
  std::function<std::string(const config& from)> get_shown;

  std::string shown(const config& from) const { return get_shown ? get_shown(from) : get(from); }

  std::string_view section() const;  // "rules.deadlock" of "rules.deadlock.mode"; empty at the top
  std::string_view key() const;
};

}  // namespace digd::daemon
