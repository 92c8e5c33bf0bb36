#include "daemon/feed/frames.h"

#include "base/quote.h"
#include "ingest/protocol/payloads.h"

namespace digd::daemon {

namespace {

class frame_maker {
 public:
  frame_maker(const archive::watched_entry& of, std::vector<std::string>& out) : of_(of), out_(out) {}

  // `members` is JSON, without the braces.
  void add(std::string_view type, std::string_view members) {
    std::string& frame = out_.emplace_back("{\"type\":\"");
    frame.append(type).append("\",\"seq\":").append(std::to_string(of_.id)).append(",\"run\":");
    append_quoted(frame, of_.run);
    if (!of_.session.empty()) {
      frame += ",\"session\":";
      append_quoted(frame, of_.session);
    }
    frame.append(",\"ts\":").append(std::to_string(of_.ts)).append(",").append(members).append("}");
  }

  void add_verdicts() {
    if (of_.verdicts.empty()) return;
    std::string members = "\"of\":" + std::to_string(of_.seq) + ",\"verdicts\":";
    if (of_.verdicts.starts_with('[')) {  // events that were delivered as they are, each by its id
      members += '[';
      std::string_view rest(of_.verdicts);
      for (std::size_t at = rest.find('"'); at < rest.size(); at = rest.find('"', at)) {
        const std::size_t end = ingest::end_of_string(rest, at);
        if (members.back() == '}') members += ',';
        members.append("{\"event\":").append(rest.substr(at, end - at)).append(",\"action\":\"deliver\"}");
        at = end;
      }
      members += ']';
    } else {
      constexpr std::string_view before = "\"verdicts\":[";
      const std::size_t at = of_.verdicts.find(before);
      if (at == std::string::npos) return;
      members += std::string_view(of_.verdicts).substr(at + before.size() - 1);
      members.pop_back();  // the frame's own brace
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
  const archive::watched_entry& of_;
  std::vector<std::string>& out_;
};

}  // namespace

std::vector<std::string> feed_frames(const archive::watched_entry& of, bool with_payloads) {
  std::vector<std::string> out;
  frame_maker make(of, out);
  if (of.kind == archive::entry_kind::message) {
    const bool is_delivery = of.type == "delivery";
    const std::string members = is_delivery ? "\"delivery\":" : "\"message\":";
    make.add(is_delivery ? "delivery" : "message",
             members + (with_payloads ? of.frame : ingest::without_payloads(of.frame)));
  } else if (archive::is_own_line(of.kind)) {
    const std::string& text = of.type;
    make.add(text, '"' + text + "\":" + of.frame);
  }
  for (const std::string& text : of.detections) make.add("detection", "\"detection\":" + text);
  make.add_verdicts();
  for (const std::string& text : of.interventions) make.add("intervention", "\"intervention\":" + text);
  for (const archive::outcome_row& row : of.outcomes) make.add_outcome(row);
  if (!out.empty()) {
    out.back().pop_back();
    out.back() += ",\"last\":true}";
  }
  return out;
}

}  // namespace digd::daemon
