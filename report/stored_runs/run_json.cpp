#include "report/stored_runs/run_json.h"

#include <algorithm>
#include <optional>

#include "ingest/protocol/decode.h"
#include "model/settings.h"
#include "model/usage_json.h"

namespace digd::stored {

namespace {

// The settings that a run was opened with, and what changed them since.
struct run_opening {
  digd::mode mode = digd::mode::enforce, operator_mode = digd::mode::enforce;
  std::optional<limit_id> unjudged;  // the limit that ended its judging
  hello greeting;

  digd::mode effective_mode(rule_id id) const {
    return std::min({mode, operator_mode, greeting.rules[index_of(id)].mode.value_or(digd::mode::enforce)});
  }
};

run_opening opening_of(const archive::run_tally& tally) {
  thread_local ingest::decoder decoder;
  run_opening out;
  if (!decoder.decode_hello(tally.hello, out.greeting)) out.mode = out.greeting.mode.value_or(mode::enforce);
  if (const auto line = decoder.own_line_of(tally.operator_mode)) out.operator_mode = line->strongest;
  if (const auto line = decoder.own_line_of(tally.unjudged)) out.unjudged = line->limit;
  return out;
}

// The members that a run has in the list and by itself.
void write_members(json_writer& to, const archive::run_row& run, const archive::run_tally& tally,
                   const run_opening& opening) {
  to.key("run").text(run.run).key("number").integer(run.number);
  to.key("state").text(run.ended.empty() ? "open" : "ended");
  to.key("mode").text(to_string(opening.mode)).key("operator_mode").text(to_string(opening.operator_mode));
  to.key("unjudged").text_or_null(opening.unjudged ? to_string(*opening.unjudged) : std::string_view());
  to.key("opened_ms").integer(run.opened_ms).key("last_ts").integer_or_null(run.last_ts);
  to.key("ended").text_or_null(run.ended).key("ended_ms").integer_or_null(run.ended_ms);
  to.key("heard_ms").integer_or_null(run.heard_ms).key("bytes").integer(run.bytes);
  to.key("counts").open_object();
  to.key("messages").integer(tally.messages).key("refused").integer(tally.refused);
  to.key("detections").integer(tally.detections).key("healed").integer(tally.healed);
  to.close_object();
  to.key("usage");
  if (run.used) {
    write_usage(to, *run.used);
  } else {
    to.null();
  }
  to.key("labels").open_object();
  for (const auto& [name, value] : opening.greeting.labels) to.key(name).text(value);
  to.close_object();
}

void write_counts(json_writer& to, const std::vector<archive::detection_count>& counts) {
  to.key("detections").open_array();
  for (const archive::detection_count& item : counts) {
    to.open_object().key("rule").text_or_null(item.rule).key("healed").boolean(item.healed);
    to.key("healing").text_or_null(item.healing).key("cause").text_or_null(item.cause);
    to.key("outcome").text_or_null(item.outcome).key("count").integer(item.count).close_object();
  }
  to.close_array();
  // Healings that only the mode prevented: operators check them before they set a rule to `enforce`.
  to.key("would_have").open_array();
  for (const archive::detection_count& item : counts) {
    if (item.healed || item.cause != "mode" || item.healing.empty()) continue;
    to.open_object().key("rule").text_or_null(item.rule).key("healing").text_or_null(item.healing);
    to.key("count").integer(item.count).close_object();
  }
  to.close_array();
}

}  // namespace

void write_run(json_writer& to, const archive::run_row& run, const archive::run_tally& tally) {
  to.open_object();
  write_members(to, run, tally, opening_of(tally));
  to.close_object();
}

void write_run_details(json_writer& to, const archive::run_row& run, const archive::run_tally& tally,
                       const std::vector<archive::detection_count>& counts) {
  const run_opening opening = opening_of(tally);
  to.open_object();
  write_members(to, run, tally, opening);
  to.key("rules").open_object();
  for (std::size_t i = 0; i < rule_count; ++i) {
    to.key(rule_names[i]).text(to_string(opening.effective_mode(static_cast<rule_id>(i))));
  }
  to.close_object().key("sessions").open_array();
  for (const std::string& session : tally.sessions) to.text(session);
  to.close_array();
  write_counts(to, counts);
  to.key("settings").raw(tally.hello.empty() ? "null" : tally.hello).close_object();
}

}  // namespace digd::stored
