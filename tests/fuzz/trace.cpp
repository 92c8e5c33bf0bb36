// A trace file, line by line, through ingest::replay, as in `digctl replay`.
#include "ingest/protocol/replay.h"
#include "tests/fuzz/target.h"

using namespace digd;

FUZZ_TARGET(trace) {
  ingest::replay::listener to;
  to.frame = [](std::string_view frame) { fuzz::must_be_json(frame, "a frame is JSON"); };
  ingest::replay through(run_policy{}, to);
  std::string_view rest = fuzz::text_of(data, size), line;
  while (fuzz::take_line(rest, line)) {
    if (!through.line(line)) {
      fuzz::must(!through.problem().empty(), "a replay that stops has a reason");
      break;
    }
  }
  const auto& counted = through.counted();
  fuzz::must(counted.healed <= counted.detections, "at most every detection is healed");
  fuzz::must(counted.messages + counted.refused + counted.repeated <= counted.lines, "a line is at most one message");
  return 0;
}
