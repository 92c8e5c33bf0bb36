// The first frame of a connection: ingest::decoder::decode_hello, the granted settings, the welcome and the archived
// hello.
#include "engine/policy.h"
#include "engine/run.h"
#include "ingest/protocol/decode.h"
#include "ingest/protocol/encode.h"
#include "tests/fuzz/target.h"

using namespace digd;

FUZZ_TARGET(hello) {
  static ingest::decoder decoder;
  static const run_policy policy;
  const std::string_view frame = fuzz::text_of(data, size);
  hello requested;
  if (const refusal_note note = decoder.decode_hello(frame, requested)) {
    fuzz::touch(note.text);
    return 0;
  }
  fuzz::must_be_json(frame, "an accepted hello is JSON");
  fuzz::must(!requested.run.empty() && requested.run.size() <= 256, "a run's id has 1 to 256 bytes", requested.run);
  const run_settings granted = effective_settings(requested, policy);
  fuzz::must(contradiction(requested, granted, policy).empty(), "a hello does not contradict its granted settings",
             frame);

  std::string welcome;
  ingest::encode_welcome(welcome, {.run = requested.run, .session = requested.session}, granted);
  fuzz::must_be_json(welcome, "a welcome is JSON");

  // The archived hello opens the same run again.
  std::string opening;
  ingest::encode_trace_hello(opening, requested, granted);
  hello reopened;
  const refusal_note note = decoder.decode_hello(opening, reopened);
  fuzz::must(!note, "the archived hello is accepted", opening);
  run_settings settled = effective_settings(reopened, policy);
  settled.clock = granted.clock;  // an archived run has the trace clock
  settled.stamped = granted.stamped;
  fuzz::must(settled == granted, "the archived hello settles the same", opening);
  fuzz::must(reopened.agents.has_value() == requested.agents.has_value(), "a closed roster stays closed", opening);

  const digd::run opened(granted, requested);
  fuzz::must(!opened.ended(), "a run begins open");
  return 0;
}
