#include "digd/engine.h"

#include <utility>

#include "engine/policy.h"
#include "ingest/protocol/decode.h"
#include "ingest/protocol/effects.h"
#include "ingest/protocol/encode.h"
#include "ingest/protocol/inbox.h"

namespace digd {

struct embedded_run::state {
  state(const hello& greeting, const run_settings& settings) : inbox(greeting, settings, ingest::inbox::options{}) {}

  const engine_answer& take(const ingest::effects& effects);

  ingest::inbox inbox;
  ingest::session_index session = 0;
  engine_answer answer;
};

const engine_answer& embedded_run::state::take(const ingest::effects& effects) {
  answer.frames.clear();
  answer.detections.clear();
  for (const ingest::effect& effect : effects) {
    if (effect.action == ingest::effect::action::send) answer.frames.emplace_back(effect.frame);
    if (effect.action != ingest::effect::action::keep) continue;
    for (const detection& found : effect.item->answer.detections) {
      ingest::encode_detection(answer.detections.emplace_back(), found, true);
    }
  }
  return answer;
}

opened_run embedded_run::open(std::string_view hello_frame) {
  opened_run result;
  const run_policy policy;
  ingest::decoder decoder;
  hello greeting;
  refusal_note note;
  if (hello_frame.size() > policy.defaults.limits.message_bytes) {
    note.consider(refusal::too_large, "", "the hello has " + std::to_string(hello_frame.size()) + " bytes");
  } else {
    note = decoder.decode_hello(hello_frame, greeting);
  }
  if (note) {
    ingest::encode_error(result.frame, note, 0, true);
    return result;
  }
  const run_settings settings = effective_settings(greeting, policy);
  auto state = std::make_unique<embedded_run::state>(greeting, settings);
  const ingest::inbox::joined joined = state->inbox.join(greeting, policy);
  if (joined.refused) {
    ingest::encode_error(result.frame, joined.refused, 0, true);
    return result;
  }
  state->session = joined.session;
  ingest::encode_welcome(result.frame, {.run = greeting.run, .session = greeting.session}, settings);
  result.run = embedded_run(std::move(state));
  return result;
}

embedded_run::embedded_run(std::unique_ptr<state> state) : state_(std::move(state)) {}
embedded_run::embedded_run(embedded_run&&) noexcept = default;
embedded_run& embedded_run::operator=(embedded_run&&) noexcept = default;
embedded_run::~embedded_run() = default;

const engine_answer& embedded_run::apply(std::string_view frame, std::int64_t now_ms) {
  return state_->take(state_->inbox.receive(state_->session, frame, now_ms));
}

const engine_answer& embedded_run::advance(std::int64_t now_ms) { return state_->take(state_->inbox.advance(now_ms)); }

std::optional<std::int64_t> embedded_run::next_due() const { return state_->inbox.next_due(); }

bool embedded_run::ended() const { return state_->inbox.run().ended(); }

}  // namespace digd
