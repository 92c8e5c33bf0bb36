#include "ingest/hooks/run_writer.h"

#include <algorithm>
#include <utility>

namespace digd::hooks {

namespace {

constexpr std::int64_t max_usage = 1'000'000'000;  // of one message (docs/protocol.md)

}  // namespace

json_writer run_writer::begin(std::string_view type) {
  line_.clear();
  json_writer line(line_);
  line.open_object().key("type").text(type).key("seq").integer(++seq_);
  if (ts_) line.key("ts").integer(*ts_);
  return line;
}

void run_writer::finish(json_writer& line) {
  line.close_object();
  lines_.push_back(line_);
}

void run_writer::agent(std::string_view type, std::string_view name) {
  json_writer line = begin(type);
  line.key("agent").text(name);
  finish(line);
}

std::string run_writer::write_event(json_writer& line, std::string_view source, const new_event& announced) {
  std::string id = "e" + std::to_string(seq_);
  line.open_object().key("id").text(id);
  if (!source.empty()) line.key("source").text(source);
  line.key("recipients").open_array();
  for (const std::string& name : announced.recipients) line.text(name);
  line.close_array();
  if (!announced.kind.empty()) line.key("kind").text(announced.kind);
  if (announced.submit) line.key("submit").boolean(true);
  if (announced.fyi) line.key("fyi").boolean(true);
  if (!announced.fingerprint.empty()) line.key("fingerprint").text(announced.fingerprint);
  line.key("payload").open_object();
  if (!announced.tool.empty()) line.key("tool").text(announced.tool);
  line.key("text").text(announced.text).close_object().close_object();
  return id;
}

std::string run_writer::event(std::string_view source, const new_event& announced) {
  json_writer line = begin("event");
  line.key("event");
  std::string id = write_event(line, source, announced);
  if (!source.empty() && source == used_by_) write_usage(line);
  finish(line);
  return id;
}

std::string run_writer::activation_started(std::string_view agent, const std::vector<std::string>& inputs) {
  json_writer line = begin("activation_started");
  std::string id = "v" + std::to_string(seq_);
  line.key("activation").text(id).key("agent").text(agent).key("inputs").open_array();
  for (const std::string& input : inputs) line.text(input);
  line.close_array();
  write_inferred(line, "inputs");
  finish(line);
  return id;
}

std::string run_writer::activation_ended(std::string_view id, const std::vector<std::string>& waiting,
                                         const new_event* output) {
  json_writer line = begin("activation_ended");
  line.key("activation").text(id).key("reactions").open_object();
  for (const std::string& input : waiting) line.key(input).text("wait");
  line.close_object();
  write_inferred(line, "reactions");
  std::string made;
  if (output != nullptr) {
    line.key("outputs").open_array();
    made = write_event(line, {}, *output);
    line.close_array();
  }
  if (id == used_by_) write_usage(line);
  finish(line);
  return made;
}

void run_writer::activation_failed(std::string_view id, std::string_view error) {
  json_writer line = begin("activation_ended");
  line.key("activation").text(id).key("failed").boolean(true).key("error").text(error);
  write_inferred(line, "failed");
  if (id == used_by_) write_usage(line);
  finish(line);
}

void run_writer::activation_discarded(std::string_view id, const std::vector<std::string>& inputs) {
  json_writer line = begin("activation_ended");
  line.key("activation").text(id).key("reactions").open_object();
  for (const std::string& input : inputs) line.key(input).text("discard");
  line.close_object();
  if (id == used_by_) write_usage(line);
  finish(line);
}

void run_writer::delivery(std::string_view event, std::string_view applied, std::string_view reason) {
  json_writer line = begin("delivery");
  line.key("event").text(event).key("applied").text(applied).key("reason").text(reason);
  finish(line);
}

void run_writer::carried_out(std::string_view intervention, std::string_view applied) {
  json_writer line = begin("delivery");
  line.key("of").text(intervention).key("applied").text(applied);
  finish(line);
}

void run_writer::write_inferred(json_writer& line, std::string_view member) {
  if (is_inferred_) line.key("inferred").open_array().text(member).close_array();
}

void run_writer::write_usage(json_writer& line) {
  line.key("usage").open_object();
  const auto add = [&](std::string_view name, std::int64_t n) {
    if (n > 0) line.key(name).integer(std::min(n, max_usage));
  };
  add("input_tokens", used_.input_tokens);
  add("output_tokens", used_.output_tokens);
  add("model_calls", used_.model_calls);
  add("tool_calls", tool_calls_);
  line.close_object();
  used_by_.clear();
  used_ = {};
  tool_calls_ = 0;
}

void run_writer::add_usage(const std::string& activation, const usage_totals& since, std::int64_t tool_calls) {
  if (activation != used_by_) flush_usage();
  used_by_ = activation;
  used_.input_tokens += since.input_tokens;
  used_.output_tokens += since.output_tokens;
  used_.model_calls += since.model_calls;
  tool_calls_ += tool_calls;
}

void run_writer::flush_usage() {
  if (used_by_.empty()) return;
  json_writer line = begin("usage");
  line.key("activation").text(used_by_);
  write_usage(line);
  finish(line);
}

void run_writer::gap() {
  json_writer line = begin("gap");
  finish(line);
}

void run_writer::run_ended(std::string_view outcome) {
  json_writer line = begin("run_ended");
  if (!outcome.empty()) line.key("outcome").text(outcome);
  finish(line);
}

}  // namespace digd::hooks
