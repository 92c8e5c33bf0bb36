#include "ingest/protocol/decode_guards.h"

#include <array>
#include <string>

#include "rules/rule.h"

namespace digd::ingest {

namespace {

// Contexts: the guard whose options are read.
constexpr std::uint32_t of(rule_id guard) { return 1U << guard_index(guard); }

struct guard_fields {
  frame_reader& in;
  rule_id guard;
  rule_request& rule;
  guards_request& out;

  bool mode(item& it) { return in.choice(it, mode_from, "must be off, observe, shadow or enforce", rule.mode); }
  bool except(item& it);
  bool action(item& it);
  bool one_action(item& it, std::vector<guard_action>& list);
  template <total_kind Kind>
  bool total(item& it) {
    return in.count(it, out.budget[static_cast<std::size_t>(Kind)]);
  }
  bool max_cost(item& it);
  bool per(item& it) { return in.choice(it, budget_scope_from, "must be run or agent", out.per); }
  bool warn_at(item& it);
  template <auto Member>
  bool count(item& it) {
    return in.count(it, out.*Member);
  }
  bool window(item& it);
  bool after_ms(item& it) { return in.duration(it, out.after_ms); }

  static constexpr std::array<known_field<guard_fields>, 17> fields{{
      {"mode", &guard_fields::mode},
      {"except", &guard_fields::except},
      {"action", &guard_fields::action},
      {"max_tokens", &guard_fields::total<total_kind::tokens>, of(rule_id::budget)},
      {"max_cost", &guard_fields::max_cost, of(rule_id::budget)},
      {"max_model_calls", &guard_fields::total<total_kind::model_calls>, of(rule_id::budget)},
      {"max_tool_calls", &guard_fields::total<total_kind::tool_calls>, of(rule_id::budget)},
      {"max_activations", &guard_fields::total<total_kind::activations>, of(rule_id::budget)},
      {"max_ms", &guard_fields::total<total_kind::ms>, of(rule_id::budget)},
      {"per", &guard_fields::per, of(rule_id::budget)},
      {"warn_at", &guard_fields::warn_at, of(rule_id::budget)},
      {"max_depth", &guard_fields::count<&guards_request::max_depth>, of(rule_id::fan_out)},
      {"max_outputs", &guard_fields::count<&guards_request::max_outputs>, of(rule_id::fan_out)},
      {"max_live", &guard_fields::count<&guards_request::max_live>, of(rule_id::fan_out)},
      {"max_repeats", &guard_fields::count<&guards_request::max_repeats>, of(rule_id::repetition)},
      {"window", &guard_fields::window, of(rule_id::repetition)},
      {"after_ms", &guard_fields::after_ms, of(rule_id::stall)},
  }};
};

bool guard_fields::except(item& it) {
  name_list names;
  if (!in.names(it, names)) return false;
  rule.except.emplace(names.begin(), names.end());
  return true;
}

bool guard_fields::one_action(item& it, std::vector<guard_action>& list) {
  const digd::rule& which = rule_of(guard);
  const auto parse = [&which](std::string_view name) {
    std::optional<guard_action> known = guard_action_from(name);
    if (known && !which.allows(*known)) known.reset();
    return known;
  };
  const char* wanted =
      which.traits.judges_activations ? "must be observe or cancel" : "must be inject, return, hold, cancel or observe";
  guard_action read{};
  if (!in.choice(it, parse, wanted, read)) return false;
  list.push_back(read);
  return true;
}

bool guard_fields::action(item& it) {
  std::vector<guard_action>& list = out.actions[guard_index(guard)].emplace();
  if (it.kind != json_kind::array) return one_action(it, list);
  const place where = it.at;
  if (!in.each_element(it, [&](item& child) { return one_action(child, list); })) return false;
  if (list.empty() || list.size() > max_guard_actions) in.wrong(where, "must be an action, or a list of 1 to 64");
  return true;
}

// Reads a number in [0, max_value].
bool read_number(frame_reader& in, item& it, double max_value, std::string_view wanted, std::optional<double>& out) {
  if (it.kind != json_kind::number) return in.skip(it, wanted);
  std::string_view text;
  if (!in.number(it, text)) return false;
  const std::optional<double> number = parse_double(text);
  if (!number || *number < 0 || *number > max_value) {
    in.wrong(it.at, wanted);
  } else {
    out = number;
  }
  return true;
}

bool guard_fields::max_cost(item& it) {
  std::optional<double> cost;
  if (!read_number(in, it, 1e12, "must be a number from 0 to 10^12", cost)) return false;
  if (cost) out.budget[static_cast<std::size_t>(total_kind::cost)] = millionths(*cost);
  return true;
}

bool guard_fields::warn_at(item& it) { return read_number(in, it, 1, "must be a number from 0 to 1", out.warn_at); }

bool guard_fields::window(item& it) {
  std::optional<std::uint64_t> number;
  if (it.kind == json_kind::number) number = parse_uint64(it.token);
  if (!number || *number == 0 || *number > max_repetition_window)
    return in.skip(it, "must be an integer from 1 to 1000");
  out.window = number;
  return true;
}

struct guards_fields {
  frame_reader& in;
  hello& out;

  template <rule_id Guard>
  bool guard(item& it) {
    if (it.kind != json_kind::object) return in.skip(it, "must be an object");
    guard_fields fields{in, Guard, out.rules[index_of(Guard)], out.guards};
    return in.each_known(it, fields, of(Guard));
  }
  bool hold_ms(item& it) { return in.duration(it, out.guards.hold_ms); }
  bool on_timeout(item& it) { return in.choice(it, hold_end_from, "must be release or return", out.guards.on_timeout); }

  static constexpr std::array<known_field<guards_fields>, 6> fields{{
      {"budget", &guards_fields::guard<rule_id::budget>},
      {"fan_out", &guards_fields::guard<rule_id::fan_out>},
      {"repetition", &guards_fields::guard<rule_id::repetition>},
      {"stall", &guards_fields::guard<rule_id::stall>},
      {"hold_ms", &guards_fields::hold_ms},
      {"on_timeout", &guards_fields::on_timeout},
  }};
};

}  // namespace

bool read_guards(frame_reader& in, item& it, hello& out) {
  if (it.kind != json_kind::object) return in.skip(it, "must be an object of guards");
  guards_fields fields{in, out};
  return in.each_known(it, fields);
}

}  // namespace digd::ingest
