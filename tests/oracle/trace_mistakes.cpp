// Messages that must be refused. Each has one error, so the reported error is certain. If chance adds another, for
// example because the run has ended, the protocol's order of errors decides.
#include "scan.h"
#include "trace_simulator.h"

namespace oracle {

namespace json = boost::json;

bool trace_simulator::mistake() {
  using method = bool (trace_simulator::*)();
  static const std::vector<method> methods{&trace_simulator::bad_frame,
                                           &trace_simulator::bad_field_in_event,
                                           &trace_simulator::bad_field_in_activation,
                                           &trace_simulator::bad_field_elsewhere,
                                           &trace_simulator::unknown_name,
                                           &trace_simulator::closed_activation,
                                           &trace_simulator::used_name,
                                           &trace_simulator::reserved_name,
                                           &trace_simulator::settled_reroute,
                                           &trace_simulator::settled_reroute,
                                           &trace_simulator::foreign_reaction,
                                           &trace_simulator::failure_with_results,
                                           &trace_simulator::rootless_submit};
  return (this->*dice_.one_of(methods))();
}

bool trace_simulator::bad_frame() {
  object line = begin("time");
  switch (dice_.below(5)) {
    case 0:  // belongs to session main, because it cannot name one
      if (sessions_.front() != "main") return false;
      send_text("{\"type\":\"time\",\"seq\":");
      return true;
    case 1: line.erase("seq"); break;
    case 2: line["seq"] = "7"; break;
    case 3: line["type"] = "activation_paused"; break;
    default: line.erase("type"); break;
  }
  send(std::move(line));
  return true;
}

bool trace_simulator::bad_field_in_event() {
  object line = begin("event");
  object event = new_event(false);
  event["id"] = draw_new_id();
  switch (dice_.below(11)) {
    case 0: event.erase("id"); break;
    case 1: event["id"] = std::string(257, 'x'); break;
    case 2: event["recipients"] = "ada"; break;
    case 3: event["recipients"] = array{"ada", 3}; break;
    case 4: event["recipients"] = array{""}; break;
    case 5: event["kind"] = 4; break;
    case 6: event["fyi"] = "yes"; break;
    case 7: event["submit"] = 1; break;
    case 8: event["source"] = 9; break;
    case 9: line["as_is"] = "true"; break;
    default:
      line["event"] = "e1";
      send(std::move(line));
      return true;
  }
  line["event"] = std::move(event);
  send(std::move(line));
  return true;
}

bool trace_simulator::bad_field_in_activation() {
  const std::vector<std::size_t> open = activations(true);
  if (open.empty() || dice_.percent(40)) {
    object line = begin("activation_started");
    line["activation"] = "v" + std::to_string(++last_name_);
    line["agent"] = "ada";
    switch (dice_.below(4)) {
      case 0: line["agent"] = std::string(257, 'a'); break;
      case 1: line["inputs"] = array{1}; break;
      case 2: line["inputs"] = object{}; break;
      default: line["activation"] = ""; break;
    }
    send(std::move(line));
    return true;
  }
  object line = begin("activation_ended");
  line["activation"] = seen().activations_[dice_.one_of(open)].id_;
  switch (dice_.below(5)) {
    case 0: line["reactions"] = array{}; break;
    case 1: line["reactions"] = object{{"e1", "eat"}}; break;
    case 2: line["reactions"] = object{{"e1", object{{"reroute", array{false}}}}}; break;
    case 3: line["outputs"] = array{"e1"}; break;
    default: line["failed"] = "no"; break;
  }
  send(std::move(line));
  return true;
}

bool trace_simulator::bad_field_elsewhere() {
  static const std::vector<const char*> types{"agent_joined", "agent_left", "delivery", "run_ended", "time", "gap"};
  const std::string type = dice_.one_of(types);
  object line = begin(type.c_str());
  if (type == "agent_joined" || type == "agent_left") {
    if (dice_.percent(50)) line["agent"] = dice_.percent(50) ? json::value("") : json::value(nullptr);
  } else if (type == "delivery") {
    if (dice_.percent(50)) line["event"] = "e1";
    line["applied"] = line.contains("event") ? "perhaps" : "as_is";
  } else if (type == "run_ended") {
    line["outcome"] = dice_.percent(70) ? json::value("fine") : json::value(3);
  } else {
    line["ts"] = "soon";
    if (type == "gap") line["dropped"] = 1;
  }
  send(std::move(line));
  return true;
}

bool trace_simulator::unknown_name() {
  object line;
  switch (dice_.below(4)) {
    case 0:
      line = begin("delivery");
      line[dice_.percent(50) ? "event" : "of"] = dice_.percent(50) ? "sys:999" : "nothing";
      line["applied"] = "as_is";
      break;
    case 1:
      line = begin("delivery");
      line["of"] = "give:nothing:1";
      line["applied"] = "rerouted";
      break;
    case 2: {
      line = begin("event");
      object event = new_event(true);
      event["source"] = "nobody's";
      line["event"] = std::move(event);
      break;
    }
    default:
      line = begin("activation_ended");
      line["activation"] = "nobody's";
      break;
  }
  send(std::move(line));
  return true;
}

bool trace_simulator::closed_activation() {
  const std::vector<std::size_t> closed = activations(false);
  if (closed.empty()) return false;
  const std::string id = seen().activations_[dice_.one_of(closed)].id_;
  object line = begin("event");
  if (dice_.percent(50)) {
    object event = new_event(true);
    event["source"] = id;
    line["event"] = std::move(event);
  } else {
    line = begin("activation_ended");
    line["activation"] = id;
  }
  send(std::move(line));
  return true;
}

bool trace_simulator::used_name() {
  if (dice_.percent(40)) {
    if (seen().activations_.empty()) return false;
    object line = begin("activation_started");
    line["activation"] = seen().activations_[dice_.below(seen().activations_.size())].id_;  // accepted if forgotten
    line["agent"] = draw_agent();
    send(std::move(line));
    return true;
  }
  const std::vector<std::size_t> open = activations(true);
  if (!open.empty() && dice_.percent(40)) {
    object line = begin("activation_ended");
    line["activation"] = seen().activations_[dice_.one_of(open)].id_;
    const std::string id = draw_new_id();
    line["outputs"] = array{object{{"id", id}}, object{{"id", id}}};
    send(std::move(line));
    return true;
  }
  if (seen().events_.empty()) return false;
  object line = begin("event");
  object event = new_event(false);
  event["id"] = seen().events_[dice_.below(seen().events_.size())].id_;  // accepted if a placeholder or forgotten
  line["event"] = std::move(event);
  send(std::move(line));
  return true;
}

bool trace_simulator::reserved_name() {
  object line = begin("event");
  const std::size_t draw = dice_.below(3);
  if (draw == 0) {
    line["event"] = object{{"id", "sys:900"}, {"recipients", array{"ada"}}};
  } else {
    line = begin("activation_started");
    line["activation"] = draw == 1 ? "sys:a" : "v" + std::to_string(++last_name_);
    line["agent"] = draw_agent();
    line["inputs"] = draw == 1 ? array{} : array{"sys:900"};
  }
  send(std::move(line));
  return true;
}

bool trace_simulator::settled_reroute() {
  for (std::size_t v : activations(true)) {
    const activation_record& activation = seen().activations_[v];
    for (std::size_t input : activation.inputs_) {
      if (!seen().events_[input].settled_) continue;
      object line = begin("activation_ended");
      line["activation"] = activation.id_;
      line["reactions"] = object{{seen().events_[input].id_, object{{"reroute", draw_recipients()}}}};
      send(std::move(line));
      return true;
    }
  }
  return false;
}

bool trace_simulator::foreign_reaction() {
  const std::vector<std::size_t> open = activations(true);
  if (open.empty()) return false;
  object line = begin("activation_ended");
  line["activation"] = seen().activations_[dice_.one_of(open)].id_;
  line["reactions"] = object{{"nothing", "consume"}};
  send(std::move(line));
  return true;
}

bool trace_simulator::failure_with_results() {
  const std::vector<std::size_t> open = activations(true);
  if (open.empty()) return false;
  const activation_record& v = seen().activations_[dice_.one_of(open)];
  object line = begin("activation_ended");
  line["activation"] = v.id_;
  line["failed"] = true;
  if (!v.inputs_.empty() && dice_.percent(50))
    line["reactions"] = object{{seen().events_[v.inputs_.front()].id_, "consume"}};
  else line["outputs"] = array{object{{"id", draw_new_id()}}};
  send(std::move(line));
  return true;
}

bool trace_simulator::rootless_submit() {
  object line = begin("event");
  object event = new_event(false);
  event["submit"] = true;
  line["event"] = std::move(event);
  send(std::move(line));
  return true;
}

}  // namespace oracle
