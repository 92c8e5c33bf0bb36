// The `hello` half of the decoder.
#include <array>
#include <utility>

#include "ingest/protocol/decode.h"
#include "ingest/protocol/decode_guards.h"
#include "ingest/protocol/decoder_state.h"
#include "rules/rule.h"

namespace digd::ingest {

namespace {

constexpr std::int64_t spoken_protocol = 1;
constexpr std::size_t max_healing_text_bytes = 4096;

// The contexts of a rule's options (known_field::only): one bit for each option that only some rules have.
constexpr std::uint32_t has_kinds = 1, has_window = 2, has_attempts = 4, has_reroutes = 8, has_repeated = 16,
                        has_all = 32;

std::uint32_t context_of(rule_id id) {
  const rule_traits& traits = rule_of(id).traits;
  return has_all | (traits.kinds ? has_kinds : 0) | (traits.has_window() ? has_window : 0) |
         (traits.has_attempts() ? has_attempts : 0) | (traits.reroutes ? has_reroutes : 0) |
         (traits.repeated ? has_repeated : 0);
}

struct rule_fields {
  frame_reader& in;
  rule_request& out;

  bool mode(item& it) { return in.choice(it, mode_from, "must be off, observe, shadow or enforce", out.mode); }
  bool kinds(item& it);
  bool except(item& it);
  bool window_ms(item& it) { return in.duration(it, out.window_ms); }
  bool max_attempts(item& it) { return in.count(it, out.max_attempts); }
  bool max_reroutes(item& it) { return in.count(it, out.max_reroutes); }
  bool skip_repeated(item& it) { return in.flag(it, out.skip_repeated.emplace()); }
  bool text(item& it) { return in.string(it, 0, max_healing_text_bytes, out.text); }

  static constexpr std::array<known_field<rule_fields>, 8> fields{{
      {"mode", &rule_fields::mode},
      {"kinds", &rule_fields::kinds, has_kinds},
      {"except", &rule_fields::except},
      {"window_ms", &rule_fields::window_ms, has_window},
      {"max_attempts", &rule_fields::max_attempts, has_attempts},
      {"max_reroutes", &rule_fields::max_reroutes, has_reroutes},
      {"skip_repeated", &rule_fields::skip_repeated, has_repeated},
      {"text", &rule_fields::text},
  }};
};

bool rule_fields::kinds(item& it) {
  if (it.kind != json_kind::array) return in.skip(it, "must be a list of strings");
  std::vector<std::string>& list = out.kinds.emplace();
  return in.each_element(
      it, [&](item& child) { return in.string(child, 0, frame_reader::max_name_bytes, list.emplace_back()); });
}

bool rule_fields::except(item& it) {
  name_list names;
  if (!in.names(it, names)) return false;
  out.except.emplace(names.begin(), names.end());
  return true;
}

struct limits_fields {
  frame_reader& in;
  limits_request& out;

  template <auto Member>
  bool duration(item& it) {
    return in.duration(it, out.*Member);
  }
  template <auto Member>
  bool count(item& it) {
    return in.count(it, out.*Member);
  }

  static constexpr std::array<known_field<limits_fields>, 12> fields{{
      {"stalled_ms", &limits_fields::duration<&limits_request::stalled_ms>},
      {"settled_events", &limits_fields::count<&limits_request::settled_events>},
      {"generators", &limits_fields::count<&limits_request::generators>},
      {"judging_work", &limits_fields::count<&limits_request::judging_work>},
      {"message_bytes", &limits_fields::count<&limits_request::message_bytes>},
      {"reorder_ms", &limits_fields::duration<&limits_request::reorder_ms>},
      {"agents", &limits_fields::count<&limits_request::agents>},
      {"recipients", &limits_fields::count<&limits_request::recipients>},
      {"inputs", &limits_fields::count<&limits_request::inputs>},
      {"live_events", &limits_fields::count<&limits_request::live_events>},
      {"open_activations", &limits_fields::count<&limits_request::open_activations>},
      {"sessions", &limits_fields::count<&limits_request::sessions>},
  }};
};

struct over_limit_fields {
  frame_reader& in;
  decltype(hello::over_limit)& out;

  template <limit_id Which>
  bool policy(item& it) {
    constexpr bool has_gap = limit_policies::allows(Which, limit_policy::gap);
    const auto allowed = [](std::string_view name) {
      const auto policy = policy_from(name);
      return policy && limit_policies::allows(Which, *policy) ? policy : std::nullopt;
    };
    return in.choice(it, allowed, has_gap ? "must be refuse, observe or gap" : "must be refuse or observe",
                     out[static_cast<std::size_t>(Which)]);
  }

  static constexpr std::array<known_field<over_limit_fields>, limit_policies::count> fields{{
      {"message_bytes", &over_limit_fields::policy<limit_id::message_bytes>},
      {"agents", &over_limit_fields::policy<limit_id::agents>},
      {"recipients", &over_limit_fields::policy<limit_id::recipients>},
      {"inputs", &over_limit_fields::policy<limit_id::inputs>},
      {"live_events", &over_limit_fields::policy<limit_id::live_events>},
      {"open_activations", &over_limit_fields::policy<limit_id::open_activations>},
  }};
};

struct capability_fields {
  frame_reader& in;
  capabilities& out;

  bool inject(item& it) { return in.flag(it, out.inject); }
  bool reroute(item& it) { return in.flag(it, out.reroute); }
  bool create(item& it) { return in.flag(it, out.create); }
  bool hold(item& it) { return in.flag(it, out.hold); }
  bool cancel(item& it) { return in.flag(it, out.cancel); }

  static constexpr std::array<known_field<capability_fields>, 5> fields{{
      {"inject", &capability_fields::inject},
      {"reroute", &capability_fields::reroute},
      {"create", &capability_fields::create},
      {"hold", &capability_fields::hold},
      {"cancel", &capability_fields::cancel},
  }};
};

struct client_fields {
  frame_reader& in;
  std::string_view client_name = {};
  std::string_view client_version = {};

  bool name(item& it) { return in.string(it, 0, frame_reader::max_name_bytes, client_name); }
  bool version(item& it) { return in.string(it, 0, frame_reader::max_name_bytes, client_version); }

  static constexpr std::array<known_field<client_fields>, 2> fields{{
      {"name", &client_fields::name},
      {"version", &client_fields::version},
  }};
};

struct healing_fields {
  frame_reader& in;
  hello& out;

  bool budget(item& it) { return in.count(it, out.budget); }
  bool max_returns_per_agent(item& it) { return in.count(it, out.max_returns_per_agent); }

  static constexpr std::array<known_field<healing_fields>, 2> fields{{
      {"budget", &healing_fields::budget},
      {"max_returns_per_agent", &healing_fields::max_returns_per_agent},
  }};
};

class hello_fields {
 public:
  hello_fields(frame_reader& in, name_set& keys, hello& out) : in_(in), keys_(keys), out_(out) {}

  bool read(item& root) { return in_.each_known(root, *this); }

 private:
  bool type(item& it);
  bool protocol(item& it) { return in_.whole_number(it, out_.protocol); }
  bool run(item& it) { return in_.name(it, out_.run); }
  bool session(item& it) { return in_.name(it, out_.session); }
  bool agents(item& it);
  bool mode(item& it) { return in_.choice(it, mode_from, "must be off, observe, shadow or enforce", out_.mode); }
  bool clock(item& it) { return in_.choice(it, clock_from, "must be wall or trace", out_.clock); }
  bool stamped(item& it) { return in_.flag(it, out_.stamped); }
  bool semantics(item& it) { return in_.count(it, out_.semantics); }
  bool rules(item& it);
  bool healing(item& it);
  bool guards(item& it) { return read_guards(in_, it, out_); }
  bool limits(item& it);
  bool over_limit(item& it);
  bool capabilities(item& it);
  bool witness(item& it) { return in_.flag(it, out_.witness); }
  bool answered_seq(item& it) { return in_.count(it, out_.answered_seq); }
  bool client(item& it);
  bool labels(item& it);

  bool rule(std::string_view name, item& it, std::uint32_t& seen);
  bool label(std::string_view name, item& it);
  template <class Fields>
  bool object(item& it, Fields fields);

  frame_reader& in_;
  name_set& keys_;
  hello& out_;

 public:
  static constexpr std::uint32_t required = ~0u;
  static constexpr std::array<known_field<hello_fields>, 19> fields{{
      {"type", &hello_fields::type, ~0u, required},
      {"protocol", &hello_fields::protocol, ~0u, required},
      {"run", &hello_fields::run, ~0u, required},
      {"session", &hello_fields::session},
      {"agents", &hello_fields::agents},
      {"mode", &hello_fields::mode},
      {"clock", &hello_fields::clock},
      {"stamped", &hello_fields::stamped},
      {"semantics", &hello_fields::semantics},
      {"rules", &hello_fields::rules},
      {"healing", &hello_fields::healing},
      {"guards", &hello_fields::guards},
      {"limits", &hello_fields::limits},
      {"over_limit", &hello_fields::over_limit},
      {"capabilities", &hello_fields::capabilities},
      {"witness", &hello_fields::witness},
      {"answered_seq", &hello_fields::answered_seq},
      {"client", &hello_fields::client},
      {"labels", &hello_fields::labels},
  }};
};

bool hello_fields::type(item& it) {
  const auto only_hello = [](std::string_view name) {
    return name == "hello" ? std::optional<bool>{true} : std::nullopt;
  };
  bool is_hello = false;
  return in_.choice(it, only_hello, "must be hello: it comes first", is_hello);
}

bool hello_fields::agents(item& it) {
  name_list names;
  if (!in_.names(it, names)) return false;
  out_.agents.emplace(names.begin(), names.end());
  return true;
}

bool hello_fields::rules(item& it) {
  if (it.kind != json_kind::object) return in_.skip(it, "must be an object of rules");
  std::uint32_t seen = 0;
  return in_.each_field(it, [&](std::string_view name, item& child) { return rule(name, child, seen); });
}

bool hello_fields::rule(std::string_view name, item& it, std::uint32_t& seen) {
  const std::optional<rule_id> id = rule_from(name);
  if (!id || is_guard(*id)) {
    it.at.kind = place::step::key;
    std::string text = "is not a rule; the rules are";
    for (std::size_t i = 0; i < failure_rule_count; ++i) text.append(i == 0 ? " " : ", ").append(rule_names[i]);
    return in_.skip(it, text);
  }
  const std::uint32_t bit = 1u << index_of(*id);
  if ((seen & bit) != 0) return in_.skip(it, "is given twice");
  seen |= bit;
  if (it.kind == json_kind::null) return true;
  if (it.kind != json_kind::object) return in_.skip(it, "must be an object");
  rule_fields fields{in_, out_.rules[index_of(*id)]};
  return in_.each_known(it, fields, context_of(*id));
}

template <class Fields>
bool hello_fields::object(item& it, Fields fields) {
  if (it.kind != json_kind::object) return in_.skip(it, "must be an object");
  return in_.each_known(it, fields);
}

bool hello_fields::healing(item& it) { return object(it, healing_fields{in_, out_}); }
bool hello_fields::limits(item& it) { return object(it, limits_fields{in_, out_.limits}); }
bool hello_fields::over_limit(item& it) { return object(it, over_limit_fields{in_, out_.over_limit}); }
bool hello_fields::capabilities(item& it) { return object(it, capability_fields{in_, out_.able}); }

bool hello_fields::client(item& it) {
  if (it.kind != json_kind::object) return in_.skip(it, "must be an object");
  client_fields fields{in_};
  if (!in_.each_known(it, fields)) return false;
  out_.client = fields.client_name;
  if (!fields.client_version.empty()) out_.client.append("/").append(fields.client_version);
  return true;
}

bool hello_fields::labels(item& it) {
  if (it.kind != json_kind::object) return in_.skip(it, "must be an object of strings");
  keys_.clear();
  return in_.each_field(it, [this](std::string_view name, item& child) {
    child.at.kind = place::step::key;
    if (!keys_.insert(name)) return in_.skip(child, "is given twice");
    return label(name, child);
  });
}

bool hello_fields::label(std::string_view name, item& it) {
  std::string_view text = it.token;
  switch (it.kind) {
    case json_kind::null: return true;
    case json_kind::number:
      if (!in_.number(it, text)) return false;
      break;
    case json_kind::boolean: break;
    case json_kind::string:
      if (!in_.string(it, 0, frame_reader::any_length, text)) return false;
      break;
    default: return in_.skip(it, "must be a string, a number or a boolean");
  }
  out_.labels.emplace_back(name, text);
  return true;
}

}  // namespace

refusal_note decoder::decode_hello(std::string_view frame, hello& out) {
  out = hello{};
  refusal_note note;
  frame_reader& in = state_->reader;
  item root;
  bool is_object = false;
  if (!in.open(frame, note) || !in.root(root, is_object)) return note;
  if (!is_object) {
    in.wrong(root.at, "the frame must be an object");
    return note;
  }
  hello_fields fields(in, state_->keys, out);
  if (!fields.read(root) || !in.end()) return note;
  if (out.protocol != spoken_protocol) {
    note.consider(refusal::unsupported_protocol, "protocol",
                  "protocol " + std::to_string(out.protocol) + " is not supported; expected 1");
  }
  return note;
}

}  // namespace digd::ingest
