// A program on the C++ client that a test drives: a command a line on standard input, answers on standard output.
//
//   announce ID [AGENT]…              "verdict ID ACTION AS_IS RECIPIENTS", with - for nothing
//   start ID AGENT [EVENT]…           "started ID"
//   end ID [OUTPUT AGENT]…            a verdict line for each output
//   refuse                            "refused ID": the last verdict was not carried out
//   fail ID TEXT                      "failed ID"
//   finish, flush                     "finished"; "flushed" or "pending"
//   counters                          "connections N dropped N timeouts N errors N"
//
// Interventions print "intervention ID ACTION RECIPIENTS" on a line of their own. Arguments: the URL, the run's id, the
// rules as JSON, and options as NAME=VALUE: buffer, max_added_ms, fail_closed_ms, redact (a text for what is redacted).
// With `redact` announced events have the payload "secret".
#include <chrono>
#include <iostream>
#include <iterator>
#include <mutex>
#include <sstream>
#include <stdexcept>

#include "digd/client.h"

namespace {

using namespace digd::client;

std::mutex output;

void print(const std::string& line) {
  const std::scoped_lock lock(output);
  std::cout << line << std::endl;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text.empty() ? "-" : text;
}

std::string name_of(action a) {
  switch (a) {
    case action::deliver: return "deliver";
    case action::inject: return "inject";
    case action::reroute: return "reroute";
    case action::create: return "create";
  }
  return "";
}

void print(const verdict& v) {
  print("verdict " + v.event + " " + name_of(v.action) + " " + (v.as_is.empty() ? "-" : v.as_is) + " " +
        joined(v.recipients));
}

verdict last;
std::string payload;  // of announced events

void carry_out(run& feed, const std::string& line) {
  std::istringstream words(line);
  std::string command, id;
  words >> command >> id;
  const std::vector<std::string> rest{std::istream_iterator<std::string>(words), {}};
  if (command == "announce") {
    return print(feed.announce({.id = id, .recipients = rest, .payload = payload}));
  }
  if (command == "refuse") {
    feed.applied(last, "secret");
    return print("refused " + last.event);
  }
  if (command == "fail") {
    feed.fail(id, rest.at(0));
    return print("failed " + id);
  }
  if (command == "start") {
    return print("started " + feed.start(rest.at(0), {rest.begin() + 1, rest.end()}, id));
  }
  if (command == "end") {
    std::vector<event> outputs;
    for (std::size_t i = 0; i + 1 < rest.size(); i += 2)
      outputs.push_back({.id = rest[i], .recipients = {rest[i + 1]}});
    for (const verdict& v : feed.end(id, outputs)) {
      print(v);
      last = v;
    }
    return print("ended " + id);
  }
  if (command == "finish") {
    feed.finish(outcome::success);
    return print("finished");
  }
  if (command == "flush") return print(feed.flush() ? "flushed" : "pending");
  const counters c = feed.counters();
  print("connections " + std::to_string(c.connections) + " dropped " + std::to_string(c.dropped) + " timeouts " +
        std::to_string(c.timeouts) + " errors " + std::to_string(c.errors));
}

void set_option(options& chosen, std::string_view text) {
  const std::size_t at = text.find('=');
  const std::string_view name = text.substr(0, at);
  const std::string value(text.substr(at + 1));
  if (name == "buffer") chosen.max_buffer_bytes = std::stoul(value);
  if (name == "max_added_ms") chosen.max_added_ms = std::chrono::milliseconds(std::stol(value));
  if (name == "fail_closed_ms") chosen.fail_closed_ms = std::chrono::milliseconds(std::stol(value));
  if (name == "redact") {
    payload = R"({"text":"secret"})";
    chosen.redact = [value](reported_part part, std::string_view) {
      if (value == "throw") throw std::runtime_error(value);
      return part == reported_part::error ? value : '"' + value + '"';
    };
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  options chosen{.run = argv[2], .agents = {{"planner", "coder"}}, .url = argv[1], .mode = "enforce", .rules = argv[3]};
  for (int i = 4; i < argc; ++i) set_option(chosen, argv[i]);
  chosen.on_intervention = [](const intervention& healing) {
    print("intervention " + healing.id + " " + name_of(healing.action) + " " + joined(healing.recipients));
    return true;
  };
  try {
    run feed(chosen);
    for (std::string line; std::getline(std::cin, line);) carry_out(feed, line);
  } catch (const std::invalid_argument& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
