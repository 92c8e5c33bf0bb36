#include "ingest/protocol/decode_guards.h"

#include <array>
#include <string>
#include <variant>

#include "rules/guard_option.h"
#include "rules/rule.h"

namespace digd::ingest {

namespace {

// A member of an object, read at most once; null counts as missing. `bit` marks it in `seen`.
template <class Read>
bool read_once(frame_reader& in, item& it, std::uint64_t bit, std::uint64_t& seen, Read read) {
  if ((seen & bit) != 0) return in.skip(it, "is given twice");
  seen |= bit;
  return it.kind == json_kind::null || read();
}

// The members of one guard: those that each guard has, and then its own options.
struct guard_fields {
  frame_reader& in;
  const digd::rule& guard;
  rule_request& common;
  guards_request& out;

  bool read(item& it);

 private:
  bool mode(item& it) { return in.choice(it, mode_from, "must be off, observe, shadow or enforce", common.mode); }
  bool except(item& it);
  bool action(item& it);
  bool one_action(item& it, std::vector<guard_action>& list);
  bool option(item& it, const total_limit& kind) { return in.count(it, kind.of(out)); }
  bool option(item& it, const cost_limit& kind);
  bool option(item& it, const count_limit& kind) { return in.count(it, kind.of(out)); }
  bool option(item& it, const time_limit& kind) { return in.duration(it, kind.of(out)); }
  bool option(item& it, const count_option& kind);
  bool option(item& it, const share_option& kind);
  bool option(item& it, const scope_option& kind) {
    return in.choice(it, budget_scope_from, "must be run or agent", kind.of(out));
  }

  struct common_field {
    std::string_view name;
    bool (guard_fields::*read)(item&);
  };
  static constexpr std::array<common_field, 3> common_fields{{
      {"mode", &guard_fields::mode},
      {"except", &guard_fields::except},
      {"action", &guard_fields::action},
  }};
};

bool guard_fields::read(item& it) {
  std::uint64_t seen = 0;
  return in.each_field(it, [&](std::string_view name, item& child) {
    std::uint64_t bit = 1;
    for (const common_field& field : common_fields) {
      if (field.name == name) return read_once(in, child, bit, seen, [&] { return (this->*field.read)(child); });
      bit <<= 1;
    }
    for (const guard_option& known : guard.options()) {
      if (known.name == name) {
        const auto read_option = [&] {
          return std::visit([&](const auto& kind) { return option(child, kind); }, known.kind);
        };
        return read_once(in, child, bit, seen, read_option);
      }
      bit <<= 1;
    }
    return in.skip(child);
  });
}

bool guard_fields::except(item& it) {
  name_list names;
  if (!in.names(it, names)) return false;
  common.except.emplace(names.begin(), names.end());
  return true;
}

bool guard_fields::one_action(item& it, std::vector<guard_action>& list) {
  const auto parse = [this](std::string_view name) {
    std::optional<guard_action> known = guard_action_from(name);
    if (known && !guard.allows(*known)) known.reset();
    return known;
  };
  const char* wanted =
      guard.traits.judges_activations ? "must be observe or cancel" : "must be inject, return, hold, cancel or observe";
  guard_action read{};
  if (!in.choice(it, parse, wanted, read)) return false;
  list.push_back(read);
  return true;
}

bool guard_fields::action(item& it) {
  std::vector<guard_action>& list = out.actions[guard_index(guard.id)].emplace();
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

bool guard_fields::option(item& it, const cost_limit& kind) {
  std::optional<double> cost;
  if (!read_number(in, it, 1e12, "must be a number from 0 to 10^12", cost)) return false;
  if (cost) kind.of(out) = millionths(*cost);
  return true;
}

bool guard_fields::option(item& it, const share_option& kind) {
  return read_number(in, it, 1, "must be a number from 0 to 1", kind.of(out));
}

bool guard_fields::option(item& it, const count_option& kind) {
  std::optional<std::uint64_t> number;
  if (it.kind == json_kind::number) number = parse_uint64(it.token);
  if (!number || *number == 0 || *number > kind.max_count)
    return in.skip(it, "must be an integer from 1 to " + std::to_string(kind.max_count));
  kind.of(out) = number;
  return true;
}

bool read_guard(frame_reader& in, item& it, const digd::rule& guard, hello& out) {
  if (it.kind != json_kind::object) return in.skip(it, "must be an object");
  return guard_fields{in, guard, out.rules[index_of(guard.id)], out.guards}.read(it);
}

}  // namespace

bool read_guards(frame_reader& in, item& it, hello& out) {
  if (it.kind != json_kind::object) return in.skip(it, "must be an object of guards");
  std::uint64_t seen = 0;
  return in.each_field(it, [&](std::string_view name, item& child) {
    std::uint64_t bit = 1;
    for (const rule* guard : guards()) {
      if (to_string(guard->id) == name)
        return read_once(in, child, bit, seen, [&] { return read_guard(in, child, *guard, out); });
      bit <<= 1;
    }
    if (name == "hold_ms")
      return read_once(in, child, bit, seen, [&] { return in.duration(child, out.guards.hold_ms); });
    if (name == "on_timeout") {
      return read_once(in, child, bit << 1, seen, [&] {
        return in.choice(child, hold_end_from, "must be release or return", out.guards.on_timeout);
      });
    }
    return in.skip(child);
  });
}

}  // namespace digd::ingest
