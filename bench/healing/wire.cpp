#include "bench/healing/wire.h"

#include "base/quote.h"

namespace digd::bench {

namespace {

void append_names(std::string& out, const std::vector<std::string>& names) {
  out += '[';
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += ',';
    append_quoted(out, names[i]);
  }
  out += ']';
}

void append_member(std::string& out, std::string_view name, std::string_view value) {
  out += ",\"";
  out += name;
  out += "\":";
  append_quoted(out, value);
}

void append_event(std::string& out, const report::event& e) {
  out += "{\"id\":";
  append_quoted(out, e.id);
  append_member(out, "kind", e.kind);
  out += ",\"recipients\":";
  append_names(out, e.recipients);
  if (e.submit) out += ",\"submit\":true";
  if (e.fyi) out += ",\"fyi\":true";
  out += '}';
}

void append_reactions(std::string& out, const std::vector<report::reacted>& reactions) {
  out += ",\"reactions\":{";
  for (std::size_t i = 0; i < reactions.size(); ++i) {
    if (i > 0) out += ',';
    append_quoted(out, reactions[i].input);
    out += ':';
    if (reactions[i].reaction == reaction::reroute) {
      out += "{\"reroute\":";
      append_names(out, reactions[i].targets);
      out += '}';
    } else {
      append_quoted(out, to_string(reactions[i].reaction));
    }
  }
  out += '}';
}

void append_end(std::string& out, const report& report) {
  append_member(out, "activation", report.activation);
  if (report.failed) {
    out += ",\"failed\":true";
    return;
  }
  append_reactions(out, report.reactions);
  out += ",\"outputs\":[";
  for (std::size_t i = 0; i < report.events.size(); ++i) {
    if (i > 0) out += ',';
    append_event(out, report.events[i]);
  }
  out += ']';
}

}  // namespace

std::string hello_line(const std::string& run, const std::vector<std::string>& agents, const parameters& parameters,
                       const regime& asks) {
  std::string out = "{\"type\":\"hello\",\"protocol\":1,\"clock\":\"trace\"";
  append_member(out, "run", run);
  out += ",\"agents\":";
  append_names(out, agents);
  out += ",\"limits\":{\"stalled_ms\":" + std::to_string(parameters.stalled_ms) + '}';
  if (!asks.empty()) out += ',' + asks;
  return out + '}';
}

std::string message_line(const report& report, std::uint64_t seq) {
  std::string out = "{\"type\":";
  append_quoted(out, to_string(report.type));
  out += ",\"seq\":" + std::to_string(seq) + ",\"ts\":" + std::to_string(report.ts);
  switch (report.type) {
    case message_type::activation_started:
      append_member(out, "activation", report.activation);
      append_member(out, "agent", report.agent);
      out += ",\"inputs\":";
      append_names(out, report.inputs);
      break;
    case message_type::activation_ended: append_end(out, report); break;
    case message_type::event:
      out += ",\"event\":";
      append_event(out, report.events.front());
      break;
    case message_type::delivery:
      append_member(out, "of", report.of);
      append_member(out, "applied", to_string(report.applied));
      break;
    case message_type::run_ended: append_member(out, "outcome", to_string(report.outcome)); break;
    default: break;
  }
  return out + '}';
}

}  // namespace digd::bench
