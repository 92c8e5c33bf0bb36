#include "bench/healing/wire.h"

#include "engine/quote.h"

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

void append_reactions(std::string& out, const std::vector<report::reacted>& all) {
  out += ",\"reactions\":{";
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) out += ',';
    append_quoted(out, all[i].input);
    out += ':';
    if (all[i].what == reaction::reroute) {
      out += "{\"reroute\":";
      append_names(out, all[i].targets);
      out += '}';
    } else {
      append_quoted(out, to_string(all[i].what));
    }
  }
  out += '}';
}

void append_end(std::string& out, const report& what) {
  append_member(out, "activation", what.activation);
  if (what.failed) {
    out += ",\"failed\":true";
    return;
  }
  append_reactions(out, what.reactions);
  out += ",\"outputs\":[";
  for (std::size_t i = 0; i < what.events.size(); ++i) {
    if (i > 0) out += ',';
    append_event(out, what.events[i]);
  }
  out += ']';
}

}  // namespace

std::string hello_line(const std::string& run, const std::vector<std::string>& agents, const parameters& how,
                       const regime& asks) {
  std::string out = "{\"type\":\"hello\",\"protocol\":1,\"clock\":\"trace\"";
  append_member(out, "run", run);
  out += ",\"agents\":";
  append_names(out, agents);
  out += ",\"limits\":{\"stalled_ms\":" + std::to_string(how.stalled_ms) + '}';
  if (!asks.empty()) out += ',' + asks;
  return out + '}';
}

std::string message_line(const report& what, std::uint64_t seq) {
  std::string out = "{\"type\":";
  append_quoted(out, to_string(what.type));
  out += ",\"seq\":" + std::to_string(seq) + ",\"ts\":" + std::to_string(what.ts);
  switch (what.type) {
    case message_type::activation_started:
      append_member(out, "activation", what.activation);
      append_member(out, "agent", what.agent);
      out += ",\"inputs\":";
      append_names(out, what.inputs);
      break;
    case message_type::activation_ended: append_end(out, what); break;
    case message_type::event:
      out += ",\"event\":";
      append_event(out, what.events.front());
      break;
    case message_type::delivery:
      append_member(out, "of", what.of);
      append_member(out, "applied", to_string(what.how));
      break;
    case message_type::run_ended: append_member(out, "outcome", to_string(what.outcome)); break;
    default: break;
  }
  return out + '}';
}

}  // namespace digd::bench
