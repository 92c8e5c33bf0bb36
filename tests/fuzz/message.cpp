// The decoding of a frame: ingest::decoder::decode.
#include "ingest/protocol/decode.h"
#include "tests/fuzz/target.h"

using namespace digd;

namespace {

void check_name(std::string_view name) {
  fuzz::must(!name.empty() && name.size() <= 256, "a name has 1 to 256 bytes", name);
}

template <class Names>
void check_names(const Names& names) {
  for (const std::string_view name : names) check_name(name);
}

void check(const message& m) {
  check_names(m.inputs);
  for (const event_draft& event : m.events) {
    check_name(event.id);
    if (event.source) check_name(*event.source);
    if (event.kind) fuzz::touch(*event.kind);
    check_names(event.recipients);
  }
  for (const reaction_draft& draft : m.reactions) {
    check_name(draft.input);
    check_names(draft.targets);
    fuzz::must(draft.targets.empty() || draft.reaction == reaction::reroute, "only a reroute has targets");
  }
  fuzz::touch(m.agent);
  fuzz::touch(m.activation);
  if (m.event) check_name(*m.event);
  if (m.of) check_name(*m.of);
}

}  // namespace

FUZZ_TARGET(message) {
  static ingest::decoder decoder;
  static message decoded_into;
  const std::string_view frame = fuzz::text_of(data, size);
  const ingest::decoded got = decoder.decode(frame, decoded_into);
  if (got.refused) {
    fuzz::must(got.refused.code == refusal::bad_json || got.refused.code == refusal::bad_message,
               "a decoder refuses with bad_json or bad_message", frame);
    fuzz::must(got.refused.code != refusal::bad_json || !got.has_seq, "bad_json leaves no seq", frame);
    fuzz::touch(got.refused.text);
  } else {
    fuzz::must_be_json(frame, "an accepted message is JSON");
    fuzz::must(got.type == ingest::line_type::hello || (got.has_seq && got.seq >= 1), "an accepted message has a seq",
               frame);
    if (got.type != ingest::line_type::hello) check(decoded_into);
  }
  fuzz::touch(decoder.header_of(frame).session);
  return 0;
}
