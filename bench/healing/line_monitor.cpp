#include "bench/healing/line_monitor.h"

#include <boost/json.hpp>
#include <iostream>
#include <stdexcept>
#include <utility>

namespace digd::bench {

namespace {

namespace json = boost::json;

std::string text_of(const json::object& from, const char* name) {
  const json::value* v = from.if_contains(name);
  return v != nullptr && v->is_string() ? std::string(v->get_string()) : std::string();
}

std::vector<std::string> names_of(const json::object& from, const char* name) {
  std::vector<std::string> out;
  if (const json::value* v = from.if_contains(name); v != nullptr && v->is_array()) {
    for (const json::value& value : v->get_array()) out.emplace_back(value.as_string());
  }
  return out;
}

action action_of(const json::object& from) {
  const std::string name = text_of(from, "action");
  for (const action a : {action::deliver, action::inject, action::reroute, action::create}) {
    if (name == to_string(a)) return a;
  }
  throw std::runtime_error("the answer names no action: " + json::serialize(from));
}

}  // namespace

line_monitor::line_monitor(std::istream& from, std::ostream& to, std::string run, regime asks)
    : from_(from), to_(to), run_(std::move(run)), asks_(std::move(asks)) {}

void line_monitor::open(const std::vector<std::string>& agents, const parameters& parameters) {
  to_ << hello_line(run_, agents, parameters, asks_) << std::endl;
}

instruction line_monitor::hear(const report& report) {
  to_ << message_line(report, ++seq_) << std::endl;
  std::string line;
  if (!std::getline(from_, line)) throw std::runtime_error("no answer to message " + std::to_string(seq_));
  const json::object reply = json::parse(line).as_object();
  instruction instruction;
  for (const json::value& value : reply.at("verdicts").as_array()) {
    const json::object& v = value.as_object();
    instruction.verdicts.push_back({action_of(v), names_of(v, "recipients"), text_of(v, "inject")});
  }
  for (const json::value& value : reply.at("interventions").as_array()) {
    const json::object& i = value.as_object();
    instruction.interventions.push_back(
        {text_of(i, "id"), action_of(i), text_of(i, "event"), names_of(i, "recipients"), text_of(i, "inject")});
  }
  if (instruction.verdicts.size() != blocked_in(report)) {
    throw std::runtime_error("message " + std::to_string(seq_) + " waits for " + std::to_string(blocked_in(report)) +
                             " verdicts, got " + std::to_string(instruction.verdicts.size()));
  }
  return instruction;
}

}  // namespace digd::bench
