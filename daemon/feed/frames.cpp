#include "daemon/feed/frames.h"

#include "base/quote.h"
#include "ingest/protocol/payloads.h"

namespace digd::daemon {

namespace {

class frame_maker {
 public:
  frame_maker(const archive::watched_entry& entry, std::vector<std::string>& out) : entry_(entry), out_(out) {}

  // `members` is JSON, without the braces.
  void add(std::string_view type, std::string_view members) {
    std::string& frame = out_.emplace_back("{\"type\":\"");
    frame.append(type).append("\",\"seq\":").append(std::to_string(entry_.id)).append(",\"run\":");
    append_quoted(frame, entry_.run);
    if (!entry_.session.empty()) {
      frame += ",\"session\":";
      append_quoted(frame, entry_.session);
    }
    frame.append(",\"ts\":").append(std::to_string(entry_.ts)).append(",").append(members).append("}");
  }

  void add_verdicts() {
    if (entry_.verdicts.empty()) return;
    std::string members = "\"of\":" + std::to_string(entry_.seq) + ",\"verdicts\":";
    if (entry_.verdicts.starts_with('[')) {  // a list of the ids of events that were delivered unchanged
      members += '[';
      std::string_view rest(entry_.verdicts);
      for (std::size_t at = rest.find('"'); at < rest.size(); at = rest.find('"', at)) {
        const std::size_t end = ingest::end_of_string(rest, at);
        if (members.back() == '}') members += ',';
        members.append("{\"event\":").append(rest.substr(at, end - at)).append(",\"action\":\"deliver\"}");
        at = end;
      }
      members += ']';
    } else {
      constexpr std::string_view before = "\"verdicts\":[";
      const std::size_t at = entry_.verdicts.find(before);
      if (at == std::string::npos) return;
      members += std::string_view(entry_.verdicts).substr(at + before.size() - 1);
      members.pop_back();  // the closing brace of the archived frame
    }
    add("verdicts", members);
  }

  void add_outcome(const archive::outcome_row& row) {
    std::string members = "\"outcome\":{\"rule\":";
    append_quoted(members, row.rule);
    members += ",\"ts\":" + std::to_string(row.ts) + ",\"event\":";
    if (row.event) {
      append_quoted(members, *row.event);
    } else {
      members += "null";
    }
    members += ",\"detected_ts\":" + std::to_string(row.detected_ts) + ",\"outcome\":";
    append_quoted(members, row.outcome);
    add("outcome", members + '}');
  }

 private:
  const archive::watched_entry& entry_;
  std::vector<std::string>& out_;
};

}  // namespace

std::vector<std::string> feed_frames(const archive::watched_entry& entry, bool with_payloads) {
  std::vector<std::string> out;
  frame_maker make(entry, out);
  if (entry.kind == archive::entry_kind::message) {
    const bool is_delivery = entry.type == "delivery";
    const std::string members = is_delivery ? "\"delivery\":" : "\"message\":";
    make.add(is_delivery ? "delivery" : "message",
             members + (with_payloads ? entry.frame : ingest::without_payloads(entry.frame)));
  } else if (archive::is_own_line(entry.kind)) {
    make.add(entry.type, '"' + entry.type + "\":" + entry.frame);
  }
  for (const std::string& detection : entry.detections) make.add("detection", "\"detection\":" + detection);
  make.add_verdicts();
  for (const std::string& intervention : entry.interventions) {
    make.add("intervention", "\"intervention\":" + intervention);
  }
  for (const archive::outcome_row& row : entry.outcomes) make.add_outcome(row);
  if (!out.empty()) {
    out.back().pop_back();
    out.back() += ",\"last\":true}";
  }
  return out;
}

}  // namespace digd::daemon
