// Makes options of each kind. `field` is a generic lambda from a config, const or not, to the member that the option
// sets: `[](auto& c) -> auto& { return c.listen; }`.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "base/shown_url.h"
#include "daemon/settings/option.h"

namespace digd::daemon::kinds {

std::string take_number(const toml::node& v, std::int64_t min_value, std::int64_t max_value, std::int64_t& out);
std::string take_words(const toml::node& v, std::string& out);
std::string take_choice(const toml::node& v, const std::vector<std::string_view>& choices, std::string& out);
std::string take_flag(const toml::node& v, bool& out);
std::string take_list(const toml::node& v, std::vector<std::string>& out);
std::string list_literal(const std::vector<std::string>& texts);
std::string list_of_urls_literal(const std::vector<std::string>& urls);  // as `shown_url` shows them
std::string take_share(const toml::node& v, double& out);
std::string share_literal(double value);

inline option blank(std::string name, value_kind kind, applies when, std::string meaning) {
  option o;
  o.name = std::move(name);
  o.meaning = std::move(meaning);
  o.kind = kind;
  o.when = when;
  return o;
}

template <class Field>
option whole_number(std::string name, std::int64_t min_value, std::int64_t max_value, applies when, Field field,
                    std::string meaning) {
  option o = blank(std::move(name), value_kind::whole_number, when, std::move(meaning));
  o.min_value = min_value;
  o.max_value = max_value;
  o.set = [=](const toml::node& v, config& c) {
    std::int64_t given = 0;
    std::string wrong = take_number(v, min_value, max_value, given);
    if (wrong.empty()) field(c) = static_cast<std::remove_reference_t<decltype(field(c))>>(given);
    return wrong;
  };
  o.get = [=](const config& c) { return std::to_string(field(c)); };
  return o;
}

template <class Field>
option words(std::string name, applies when, Field field, std::string meaning) {
  option o = blank(std::move(name), value_kind::text, when, std::move(meaning));
  o.set = [=](const toml::node& v, config& c) { return take_words(v, field(c)); };
  o.get = [=](const config& c) { return digd::quoted(field(c)); };
  return o;
}

// A URL, which may have a password.
template <class Field>
option url(std::string name, applies when, Field field, std::string meaning) {
  option o = words(std::move(name), when, field, std::move(meaning));
  o.get_shown = [=](const config& c) { return digd::quoted(shown_url(field(c))); };
  return o;
}

template <class Field>
option choice(std::string name, std::vector<std::string_view> choices, applies when, Field field, std::string meaning) {
  option o = blank(std::move(name), value_kind::choice, when, std::move(meaning));
  o.choices = choices;
  o.set = [=](const toml::node& v, config& c) { return take_choice(v, choices, field(c)); };
  o.get = [=](const config& c) { return digd::quoted(field(c)); };
  return o;
}

// A choice whose member is an enum: `from` finds the value of a name, `to_string` the name of a value.
template <class From, class Field>
option named(std::string name, const std::vector<std::string_view>& choices, applies when, From from, Field field,
             std::string meaning) {
  option o = blank(std::move(name), value_kind::choice, when, std::move(meaning));
  o.choices = choices;
  o.set = [=](const toml::node& v, config& c) {
    std::string given;
    std::string wrong = take_choice(v, choices, given);
    if (wrong.empty()) field(c) = *from(given);
    return wrong;
  };
  o.get = [=](const config& c) { return digd::quoted(to_string(field(c))); };
  return o;
}

template <class Field>
option yes_or_no(std::string name, applies when, Field field, std::string meaning) {
  option o = blank(std::move(name), value_kind::yes_or_no, when, std::move(meaning));
  o.set = [=](const toml::node& v, config& c) { return take_flag(v, field(c)); };
  o.get = [=](const config& c) { return std::string(field(c) ? "true" : "false"); };
  return o;
}

template <class Field>
option list(std::string name, applies when, Field field, std::string meaning) {
  option o = blank(std::move(name), value_kind::list, when, std::move(meaning));
  o.set = [=](const toml::node& v, config& c) { return take_list(v, field(c)); };
  o.get = [=](const config& c) { return list_literal(field(c)); };
  return o;
}

template <class Field>
option urls(std::string name, applies when, Field field, std::string meaning) {
  option o = list(std::move(name), when, field, std::move(meaning));
  o.get_shown = [=](const config& c) { return list_of_urls_literal(field(c)); };
  return o;
}

// A number from 0 to 1.
template <class Field>
option share(std::string name, applies when, Field field, std::string meaning) {
  option o = blank(std::move(name), value_kind::share, when, std::move(meaning));
  o.min_value = 0;
  o.max_value = 1;
  o.set = [=](const toml::node& v, config& c) { return take_share(v, field(c)); };
  o.get = [=](const config& c) { return share_literal(field(c)); };
  return o;
}

}  // namespace digd::daemon::kinds
