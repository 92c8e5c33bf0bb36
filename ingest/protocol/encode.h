// Encodes answers as frames. Only this code writes the frames that digd sends to clients, and digd's own lines in a
// record. Pure functions: same answer, same bytes. Every function appends one JSON object without a line end to `out`;
// base/quote.h escapes its strings.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ingest/protocol/record.h"
#include "model/answer.h"
#include "model/settings.h"

namespace digd::ingest {

struct welcome_facts {
  std::string_view run;
  std::string_view session;
  std::uint64_t acked_seq = 0;
  milliseconds verdict_deadline_ms = 250;
  std::uint64_t credits = 1024;
  std::optional<limit_id> unjudged;  // the limit that stopped the judging of the run
};

void encode_welcome(std::string& out, const welcome_facts& facts, const run_settings& settings);
// `event_ids` is empty before the call. If every verdict is a plain `deliver`, without a text and without detections,
// it receives the ids of the events as a JSON array, which the archive stores instead of the frame.
void encode_verdicts(std::string& out, std::string& event_ids, std::uint64_t seq, const answer& from,
                     bool with_witness);
void encode_intervention(std::string& out, const intervention& intervention, const answer& from, bool with_witness);
void encode_ack(std::string& out, std::uint64_t seq);
void encode_error(std::string& out, const refusal_note& note, std::uint64_t seq, bool fatal);  // seq 0: none
void encode_moved(std::string& out, std::string_view to);  // the error `moved`, with the address of the run's home
// The line that replaces a refused frame in the record. A replay gives the same answer to this line as digd gave to the
// frame.
void encode_refused(std::string& out, const refusal_note& note, std::uint64_t seq);
void encode_own_line(std::string& out, const own_line& line);
// To every session, when judging begins again.
void encode_judging_resumed(std::string& out, milliseconds ts);
// The own line for `limits.judging_work`: the events that were left unjudged, of which it names at most 64.
void encode_unjudged(std::string& out, std::span<const std::string> events, milliseconds ts);
// Without a type: it goes into `verdicts`, the feed's {"type":"detection",…,"detection":{…}} and the archive.
void encode_detection(std::string& out, const detection& detection, bool with_witness);
// The guards that are on, and how holds end, as in `welcome`; `{}` if none is on.
void encode_guards(std::string& out, const run_settings& settings);
// The `hello` of an exported trace: effective mode, rules and limits, the trace clock.
void encode_trace_hello(std::string& out, const hello& original, const run_settings& settings);

}  // namespace digd::ingest
