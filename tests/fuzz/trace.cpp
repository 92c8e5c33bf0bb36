// A trace file, line by line: ingest::replay, as `digctl replay` and the importers' users call it.
#include "ingest/protocol/replay.h"
#include "tests/fuzz/target.h"

using namespace digd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ingest::replay::listener to;
  to.frame = [](std::string_view frame) { fuzz::must_be_json(frame, "a frame is JSON"); };
  ingest::replay through(run_policy{}, to);
  std::string_view rest = fuzz::text_of(data, size), line;
  while (fuzz::take_line(rest, line)) {
    if (!through.line(line)) {
      fuzz::must(!through.problem().empty(), "a trace that stops says why");
      break;
    }
  }
  const auto& counted = through.counted();
  fuzz::must(counted.healed <= counted.detections, "what is healed was detected");
  fuzz::must(counted.messages + counted.refused + counted.repeated <= counted.lines, "a line is one message at most");
  return 0;
}
