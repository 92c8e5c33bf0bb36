#include "daemon/runs/stored_answers.h"

#include <optional>
#include <utility>

#include "base/json_writer.h"
#include "ingest/protocol/decode.h"
#include "ingest/protocol/encode.h"

namespace digd::daemon {

namespace {

// Makes the `error` frame of a refused message from its refusal line. An archive of an older version may have no such
// line, only the code.
std::string error_frame(ingest::decoder& decoder, const archive::stored_answer& answer) {
  std::optional<ingest::refused_line> line = decoder.refused_line_of(answer.line);
  if (!line || line->seq != answer.seq) {
    std::string text;
    json_writer(text)
        .open_object()
        .key("type")
        .text("refused")
        .key("seq")
        .integer(answer.seq)
        .key("code")
        .text(answer.code)
        .key("message")
        .text("the message was refused")
        .close_object();
    line = decoder.refused_line_of(text);
  }
  std::string frame;
  if (line) ingest::encode_error(frame, line->note, answer.seq, false);
  return frame;
}

}  // namespace

boost::system::result<std::vector<std::string>> read_answers(const archive::archive& from,
                                                             archive::answer_range& range) {
  auto stored = from.answers(range);
  if (!stored) return stored.error();
  ingest::decoder decoder;
  std::vector<std::string> frames;
  frames.reserve(stored->size());
  for (archive::stored_answer& answer : *stored) {
    frames.push_back(answer.response.empty() ? error_frame(decoder, answer) : std::move(answer.response));
  }
  return frames;
}

}  // namespace digd::daemon
