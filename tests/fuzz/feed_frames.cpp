// The frames of the feed for an archived entry. Whatever the archive contains, each frame is JSON, and only the last
// frame of an entry has `last`.
//
// Lines of the input: the run, the session, a client's frame, its verdicts as stored, a detection. The target skips
// lines that are not JSON, because no other text gets into an archive.
#include "report/stored_runs/feed_frames.h"
#include "base/quote.h"
#include "ingest/protocol/decode.h"
#include "tests/fuzz/target.h"

using namespace digd;
using fuzz::must;

namespace {

ingest::decoder decoder;

// The archive has messages as the client sent them.
bool is_message(std::string_view frame, std::string& type) {
  message m;
  const ingest::decoded d = decoder.decode(frame, m);
  type = to_string(m.type);
  return !d.refused && d.type != ingest::line_type::hello;
}

bool is_limit_line(std::string_view frame) {
  const auto line = decoder.own_line_of(frame);
  return line && line->kind == ingest::record_kind::limit;
}

void check(const archive::watched_entry& e, bool payloads) {
  const std::vector<std::string> frames = stored::feed_frames(e, payloads);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    fuzz::must_be_json(frames[i], "a frame of the feed is JSON");
    must(frames[i].ends_with(",\"last\":true}") == (i + 1 == frames.size()), "only the last frame of an entry has last",
         frames[i]);
  }
}

}  // namespace

FUZZ_TARGET(feed_frames) {
  std::string_view rest = fuzz::text_of(data, size), run, session, frame, verdicts, detection;
  if (!fuzz::take_line(rest, run) || !fuzz::take_line(rest, session) || !fuzz::take_line(rest, frame)) return 0;
  archive::watched_entry e{.id = 7, .run_number = 1, .run = std::string(run), .session = std::string(session)};
  if (is_message(frame, e.type)) {
    e.kind = archive::entry_kind::message;
    e.frame = frame;
  } else if (is_limit_line(frame) && fuzz::is_json(frame)) {
    e.kind = archive::entry_kind::limit;
    e.type = "limit";
    e.frame = frame;
  } else {
    e.kind = archive::entry_kind::firing;
  }
  if (fuzz::take_line(rest, verdicts)) {  // the compact form: a list of ids, as the archive writes it
    std::string ids;
    append_quoted(ids, verdicts);
    e.verdicts = '[' + ids + ",\"e2\"]";
    archive::expand_verdicts(e);
  }
  if (fuzz::take_line(rest, detection) && fuzz::is_json(detection)) e.detections.emplace_back(detection);
  check(e, false);
  check(e, true);
  return 0;
}
