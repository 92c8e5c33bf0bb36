#include "ingest/protocol/decode.h"

#include <array>
#include <utility>

#include "ingest/protocol/decoder_state.h"
#include "ingest/protocol/fingerprints.h"

namespace digd::ingest {

namespace {

constexpr std::uint32_t bit(message_type type) { return 1u << static_cast<unsigned>(type); }

constexpr std::uint32_t any = ~0u;
constexpr std::uint32_t unknown_type = 1u << 31;
constexpr std::uint32_t joined_left = bit(message_type::agent_joined) | bit(message_type::agent_left);
constexpr std::uint32_t event = bit(message_type::event);
constexpr std::uint32_t started = bit(message_type::activation_started);
constexpr std::uint32_t ended = bit(message_type::activation_ended);
constexpr std::uint32_t delivery = bit(message_type::delivery);
constexpr std::uint32_t gap = bit(message_type::gap);
constexpr std::uint32_t usage_report = bit(message_type::usage);
constexpr std::uint32_t run_ended = bit(message_type::run_ended);

// The value of `All` with that name. The names are constants, so the compiler compares them word by word.
template <auto... All>
std::optional<std::common_type_t<decltype(All)...>> named(std::string_view name) {
  std::optional<std::common_type_t<decltype(All)...>> found;
  (void)((is_text<digd::to_string(All).size()>(digd::to_string(All).data(), name) && (found = All, true)) || ...);
  return found;
}

// The value of an enumeration with that name.
template <class Enum, const auto& names>
std::optional<Enum> any_named(std::string_view name) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return named<static_cast<Enum>(I)...>(name);
  }(std::make_index_sequence<names.size()>{});
}

std::optional<message_type> type_from(std::string_view name) {
  return any_named<message_type, message_type_names>(name);
}

std::optional<applied> applied_from(std::string_view name) { return any_named<applied, applied_names>(name); }

std::optional<reaction> reaction_from(std::string_view name) {
  return named<reaction::consume, reaction::wait, reaction::discard>(name);
}

std::optional<run_outcome> outcome_from(std::string_view name) {
  return named<run_outcome::success, run_outcome::failure, run_outcome::aborted>(name);
}

// An event in `event` or in `outputs`.
struct draft_fields {
  static constexpr std::uint32_t in_event = 1, in_outputs = 2;

  frame_reader& in;
  event_draft& out;
  bool digests = false;  // whether to compute fingerprints
  std::string_view payload_text = {};
  std::string_view null_fingerprint = {};

  bool id(item& it) { return in.name(it, out.id); }
  bool source(item& it) { return in.name(it, out.source); }
  bool recipients(item& it) { return in.names(it, out.recipients); }
  bool kind(item& it) { return in.string(it, 0, frame_reader::max_name_bytes, out.kind); }
  bool submit(item& it) { return in.flag(it, out.submit); }
  bool fyi(item& it) { return in.flag(it, out.fyi); }
  bool payload(item& it) {
    payload_text = it.token;
    return in.skip(it);
  }
  bool fingerprint(item& it);
  void given_null(std::string_view name, const item& it) {
    if (name == "fingerprint") null_fingerprint = it.token;
  }
  [[gnu::noinline]] void take_digest(const item& event);

  static constexpr std::array<known_field<draft_fields>, 8> fields{{
      {"id", &draft_fields::id, any, any},
      {"source", &draft_fields::source, in_event},  // an output has the activation that ended
      {"recipients", &draft_fields::recipients},
      {"kind", &draft_fields::kind},
      {"submit", &draft_fields::submit},
      {"fyi", &draft_fields::fyi},
      {"payload", &draft_fields::payload},
      {"fingerprint", &draft_fields::fingerprint},
  }};
};

bool draft_fields::fingerprint(item& it) {
  std::string_view text;
  bool good = false;
  if (!in.string(it, 1, frame_reader::max_name_bytes, text, good)) return false;
  if (good && digests) out.fingerprint = hash_of_fingerprint(text);
  return true;
}

// Takes the payload's digest as the fingerprint, unless the client gave one. `event`: the object that was read.
void draft_fields::take_digest(const item& event) {
  if (out.fingerprint || payload_text.empty()) return;
  const bool is_null = !null_fingerprint.empty();
  out.digest = payload_digest{.hash = digest_of_payload(in.rest_from(payload_text)),
                              .offset = in.offset_of(is_null ? null_fingerprint : event.token),
                              .replaces_null = is_null};
  out.fingerprint = hash_of_fingerprint(view_of(text_of_digest(out.digest->hash)));
}

struct usage_fields {
  frame_reader& in;
  usage_amounts& out;

  template <auto Member>
  bool amount(item& it) {
    std::optional<std::uint64_t> number;
    if (it.kind == json_kind::number) number = parse_uint64(it.token);
    if (!number || *number > max_usage) return in.skip(it, "must be an integer from 0 to 1000000000");
    out.*Member = *number;
    return true;
  }
  bool cost(item& it);

  static constexpr std::array<known_field<usage_fields>, 5> fields{{
      {"input_tokens", &usage_fields::amount<&usage_amounts::input_tokens>},
      {"output_tokens", &usage_fields::amount<&usage_amounts::output_tokens>},
      {"cost", &usage_fields::cost},
      {"model_calls", &usage_fields::amount<&usage_amounts::model_calls>},
      {"tool_calls", &usage_fields::amount<&usage_amounts::tool_calls>},
  }};
};

bool usage_fields::cost(item& it) {
  constexpr std::string_view wanted = "must be a number from 0 to 1000000000";
  if (it.kind != json_kind::number) return in.skip(it, wanted);
  std::string_view text;
  if (!in.number(it, text)) return false;
  const std::optional<double> number = parse_double(text);
  if (number && *number >= 0 && *number <= max_usage) {
    out.cost = millionths(*number);
  } else {
    in.wrong(it.at, wanted);
  }
  return true;
}

struct reroute_fields {
  frame_reader& in;
  name_list& out;

  bool reroute(item& it) { return in.names(it, out); }

  static constexpr std::array<known_field<reroute_fields>, 1> fields{{
      {"reroute", &reroute_fields::reroute, any, any},
  }};
};

// The fields of every message but hello, each read for the message types that have it.
class message_fields {
 public:
  message_fields(frame_reader& in, name_set& keys, std::uint32_t type, message& out, decoded& result, bool digests)
      : in_(in), keys_(keys), type_(type), out_(out), result_(result), digests_(digests) {}

  bool read(item& root);
  void given_twice(std::string_view name);

 private:
  bool type(item& it);
  bool seq(item& it);
  bool ts(item& it) { return in_.whole_number(it, out_.ts); }
  bool agent(item& it) { return in_.name(it, out_.agent); }
  bool activation(item& it) { return in_.name(it, out_.activation); }
  bool inputs(item& it) { return in_.names(it, out_.inputs); }
  bool event(item& it);
  bool delivered(item& it) { return in_.name(it, out_.event); }
  bool of(item& it) { return in_.string(it, 1, frame_reader::max_intervention_bytes, out_.of); }
  bool applied(item& it);
  bool reactions(item& it);
  bool outputs(item& it);
  bool failed(item& it) { return in_.flag(it, out_.failed); }
  bool error(item& it);
  bool as_is(item& it) { return in_.flag(it, out_.as_is); }
  bool dropped(item& it) { return in_.count(it, out_.dropped); }
  bool outcome(item& it);
  bool metrics(item& it);
  bool usage(item& it);

  bool draft(item& it, std::uint32_t where);
  bool one_reaction(std::string_view input, item& it);

  frame_reader& in_;
  name_set& keys_;
  const std::uint32_t type_;  // as a bit
  message& out_;
  decoded& result_;
  const bool digests_;

 public:
  static constexpr std::array<known_field<message_fields>, 19> fields{{
      {"type", &message_fields::type, any, any},
      {"seq", &message_fields::seq, any, any},
      {"ts", &message_fields::ts},
      {"agent", &message_fields::agent, joined_left | started, joined_left | started},
      {"activation", &message_fields::activation, started | ended | usage_report, started | ended | usage_report},
      {"inputs", &message_fields::inputs, started},
      {"event", &message_fields::event, ingest::event, ingest::event},
      {"event", &message_fields::delivered, delivery},
      {"of", &message_fields::of, delivery},
      {"applied", &message_fields::applied, delivery, delivery},
      {"reactions", &message_fields::reactions, ended},
      {"outputs", &message_fields::outputs, ended},
      {"failed", &message_fields::failed, ended},
      {"error", &message_fields::error, ended},
      {"as_is", &message_fields::as_is, ingest::event | ended},
      {"dropped", &message_fields::dropped, gap},
      {"outcome", &message_fields::outcome, run_ended},
      {"metrics", &message_fields::metrics, run_ended},
      {"usage", &message_fields::usage, ingest::event | started | ended | usage_report, usage_report},
  }};
};

bool message_fields::read(item& root) {
  if (!in_.each_known(root, *this, type_)) return false;
  if (type_ == delivery && !out_.event && !out_.of) {
    in_.wrong({&root.at, place::step::field, "event", 0}, "is missing, and so is of");
  }
  return true;
}

// If a frame has two seqs, neither is usable.
void message_fields::given_twice(std::string_view name) {
  if (name == "seq") result_.has_seq = false;
}

bool message_fields::type(item& it) {
  if (type_ != unknown_type) return in_.skip(it);
  std::string text = "must be hello";
  for (const std::string_view known : message_type_names) text.append(", ").append(known);
  return in_.skip(it, text);
}

bool message_fields::seq(item& it) {
  std::optional<std::uint64_t> number;
  if (it.kind == json_kind::number) number = parse_uint64(it.token);
  if (!number || *number == 0) return in_.skip(it, "must be an integer from 1 to 2^64 - 1");
  out_.seq = result_.seq = *number;
  result_.has_seq = true;
  return true;
}

bool message_fields::draft(item& it, std::uint32_t where) {
  event_draft& draft = out_.events.emplace_back();
  draft_fields fields{in_, draft, digests_};
  if (!in_.each_known(it, fields, where)) return false;
  if (draft.submit) draft.fyi = false;
  if (digests_) fields.take_digest(it);
  return true;
}

bool message_fields::event(item& it) {
  if (it.kind != json_kind::object) return in_.skip(it, "must be an object");
  return draft(it, draft_fields::in_event);
}

bool message_fields::outputs(item& it) {
  if (it.kind != json_kind::array) return in_.skip(it, "must be a list of events");
  return in_.each_element(it, [this](item& child) {
    if (child.kind != json_kind::object) return in_.skip(child, "must be an object");
    return draft(child, draft_fields::in_outputs);
  });
}

bool message_fields::applied(item& it) {
  return in_.choice(it, applied_from,
                    "must be as_is, injected, rerouted, created, released, cancelled, unsupported or failed",
                    out_.applied);
}

bool message_fields::outcome(item& it) {
  return in_.choice(it, outcome_from, "must be success, failure or aborted", out_.outcome);
}

bool message_fields::reactions(item& it) {
  if (it.kind != json_kind::object) return in_.skip(it, "must be an object of event ids and reactions");
  keys_.clear();
  return in_.each_field(it, [this](std::string_view input, item& child) {
    child.at.kind = place::step::key;
    if (input.empty() || input.size() > frame_reader::max_name_bytes) {
      return in_.skip(child, "must have a key of 1 to 256 bytes");
    }
    if (!keys_.insert(input)) return in_.skip(child, "is given twice");
    return one_reaction(input, child);
  });
}

bool message_fields::one_reaction(std::string_view input, item& it) {
  reaction_draft& draft = out_.reactions.emplace_back();
  draft.input = input;
  if (it.kind == json_kind::object) {
    draft.reaction = reaction::reroute;
    reroute_fields fields{in_, draft.targets};
    return in_.each_known(it, fields, any, place::step::inner);
  }
  return in_.choice(it, reaction_from, "must be consume, wait, discard or an object with reroute", draft.reaction);
}

bool message_fields::error(item& it) {
  std::string_view text;
  return in_.string(it, 0, frame_reader::any_length, text);
}

bool message_fields::usage(item& it) {
  if (it.kind != json_kind::object) return in_.skip(it, "must be an object");
  usage_fields fields{in_, out_.usage.emplace()};
  return in_.each_known(it, fields);
}

bool message_fields::metrics(item& it) {
  if (it.kind != json_kind::object) return in_.skip(it, "must be an object");
  return in_.skip(it);
}

// False: it is not JSON.
bool decode_frame(frame_reader& in, name_set& keys, std::string_view frame, message& out, decoded& result,
                  bool digests) {
  std::optional<std::string_view> type;
  if (!in.open(frame, result.refused) || !in.peek("type", type)) return false;
  std::uint32_t context = unknown_type;
  if (const auto known = type ? type_from(*type) : std::nullopt) {
    out.type = *known;
    context = bit(*known);
  } else if (type) {
    result.type = line_type_from(*type);
  }

  item root;
  bool is_object = false;
  if (!in.root(root, is_object)) return false;
  if (!is_object) {
    in.wrong(root.at, "the frame must be an object");
    return true;
  }
  if (result.type == line_type::hello) return in.skip(root) && in.end();
  message_fields fields(in, keys, context, out, result, digests);
  return fields.read(root) && in.end();
}

}  // namespace

decoder::decoder() : state_(std::make_unique<decoder_state>()) {}
decoder::~decoder() = default;
decoder::decoder(decoder&&) noexcept = default;
decoder& decoder::operator=(decoder&&) noexcept = default;

decoded decoder::decode(std::string_view frame, message& out, bool digests) {
  decoded result;
  out.clear();
  if (!decode_frame(state_->reader, state_->keys, frame, out, result, digests)) {
    result.has_seq = false;
    result.seq = 0;
    result.type = line_type::message;
  }
  if (!result.has_seq) result.seq = 0;
  return result;
}

}  // namespace digd::ingest
