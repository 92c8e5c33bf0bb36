// The options that a guard declares in its own file, besides `mode`, `except` and `action`. The policy of a run, the
// hello, the welcome and the configuration loop over them; they know kinds of options, and no guard's name.
//
// Thread: any; the tables are constants of the program. Failure: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>

#include "model/guard.h"

namespace digd {

// The kinds of options. `of(guard_settings)` is the value in effect, `of(guards_request)` the value that a hello asks
// for. An option with `is_limit` turns its guard on, and a hello can lower it. A hello can set any other option only
// while the configuration leaves the guard off.

// A limit on what a run or an agent spends, except the cost.
struct total_limit {
  static constexpr bool is_limit = true;
  total_kind total;

  template <class Holder>
  constexpr auto& of(Holder& holder) const {
    return holder.budget[static_cast<std::size_t>(total)];
  }
};

// Written in the user's currency, kept in millionths.
struct cost_limit {
  static constexpr bool is_limit = true;

  template <class Holder>
  constexpr auto& of(Holder& holder) const {
    return holder.budget[static_cast<std::size_t>(total_kind::cost)];
  }
};

// An option with members of its own.
template <class Setting, class Value>
struct member_option {
  static constexpr bool is_limit = !std::is_same_v<Setting, Value>;
  Setting guard_settings::*setting;
  std::optional<Value> guards_request::*request;

  template <class Holder>
  constexpr auto& of(Holder& holder) const {
    if constexpr (std::is_same_v<std::remove_const_t<Holder>, guard_settings>) {
      return holder.*setting;
    } else {
      return holder.*request;
    }
  }
};

using count_limit = member_option<std::optional<std::uint64_t>, std::uint64_t>;
using time_limit = member_option<std::optional<milliseconds>, milliseconds>;
using share_option = member_option<double, double>;  // from 0 to 1
using scope_option = member_option<budget_scope, budget_scope>;

// From 1 to `max_count`.
struct count_option : member_option<std::uint64_t, std::uint64_t> {
  std::uint64_t max_count;
};

struct guard_option {
  std::string_view name;  // in a hello, the welcome and the configuration
  std::variant<total_limit, cost_limit, count_limit, time_limit, count_option, share_option, scope_option> kind;
  std::string_view meaning;  // a sentence for the configuration

  constexpr bool is_limit() const {
    return std::visit([](const auto& held) { return std::remove_cvref_t<decltype(held)>::is_limit; }, kind);
  }
};

}  // namespace digd
