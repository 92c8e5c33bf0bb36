// The first frame of a connection: ingest::decoder::decode_hello, what is granted, and the two frames made of it.
#include "engine/policy.h"
#include "engine/run.h"
#include "ingest/protocol/decode.h"
#include "ingest/protocol/encode.h"
#include "tests/fuzz/target.h"

using namespace digd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static ingest::decoder decoder;
  static const run_policy policy;
  const std::string_view frame = fuzz::text_of(data, size);
  hello asked;
  if (const refusal_note note = decoder.decode_hello(frame, asked)) {
    fuzz::touch(note.text);
    return 0;
  }
  fuzz::must_be_json(frame, "what is accepted is JSON");
  fuzz::must(!asked.run.empty() && asked.run.size() <= 256, "a run's id has 1 to 256 bytes", asked.run);
  const run_settings granted = settle(asked, policy);
  fuzz::must(contradiction(asked, granted, policy).empty(), "a hello does not contradict what it was granted", frame);

  std::string welcome;
  ingest::encode_welcome(welcome, {.run = asked.run, .session = asked.session}, granted);
  fuzz::must_be_json(welcome, "a welcome is JSON");

  // What is archived of it opens the same run again.
  std::string opening;
  ingest::encode_trace_hello(opening, asked, granted);
  hello again;
  const refusal_note note = decoder.decode_hello(opening, again);
  fuzz::must(!note, "the archived hello is accepted", opening);
  run_settings settled = settle(again, policy);
  settled.clock = granted.clock;  // an archived run has the trace clock
  settled.stamped = granted.stamped;
  fuzz::must(settled == granted, "the archived hello settles the same", opening);
  fuzz::must(again.agents.has_value() == asked.agents.has_value(), "a closed roster stays closed", opening);

  const digd::run opened(granted, asked);
  fuzz::must(!opened.ended(), "a run begins open");
  return 0;
}
