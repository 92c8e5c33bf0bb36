#include "bench/healing/wire.h"

#include "base/json_writer.h"

namespace digd::bench {

namespace {

void write_names(json_writer& to, const std::vector<std::string>& names) {
  to.open_array();
  for (const std::string& name : names) to.text(name);
  to.close_array();
}

void write_event(json_writer& to, const report::event& e) {
  to.open_object().key("id").text(e.id).key("kind").text(e.kind);
  write_names(to.key("recipients"), e.recipients);
  if (e.submit) to.key("submit").boolean(true);
  if (e.fyi) to.key("fyi").boolean(true);
  to.close_object();
}

void write_reactions(json_writer& to, const std::vector<report::reacted>& reactions) {
  to.open_object();
  for (const report::reacted& each : reactions) {
    to.key(each.input);
    if (each.reaction == reaction::reroute) {
      write_names(to.open_object().key("reroute"), each.targets);
      to.close_object();
    } else {
      to.text(to_string(each.reaction));
    }
  }
  to.close_object();
}

void write_end(json_writer& to, const report& report) {
  to.key("activation").text(report.activation);
  if (report.failed) {
    to.key("failed").boolean(true);
    return;
  }
  write_reactions(to.key("reactions"), report.reactions);
  to.key("outputs").open_array();
  for (const report::event& output : report.events) write_event(to, output);
  to.close_array();
}

}  // namespace

std::string hello_line(const std::string& run, const std::vector<std::string>& agents, const parameters& parameters,
                       const regime& asks) {
  std::string out;
  json_writer to(out);
  to.open_object().key("type").text("hello").key("protocol").integer(1).key("clock").text("trace");
  to.key("run").text(run);
  write_names(to.key("agents"), agents);
  to.key("limits").open_object().key("stalled_ms").integer(parameters.stalled_ms).close_object();
  if (!asks.empty()) to.raw(asks);  // members
  to.close_object();
  return out;
}

std::string message_line(const report& report, std::uint64_t seq) {
  std::string out;
  json_writer to(out);
  to.open_object().key("type").text(to_string(report.type)).key("seq").integer(seq).key("ts").integer(report.ts);
  switch (report.type) {
    case message_type::activation_started:
      to.key("activation").text(report.activation).key("agent").text(report.agent);
      write_names(to.key("inputs"), report.inputs);
      break;
    case message_type::activation_ended: write_end(to, report); break;
    case message_type::event: write_event(to.key("event"), report.events.front()); break;
    case message_type::delivery: to.key("of").text(report.of).key("applied").text(to_string(report.applied)); break;
    case message_type::run_ended: to.key("outcome").text(to_string(report.outcome)); break;
    default: break;
  }
  to.close_object();
  return out;
}

}  // namespace digd::bench
