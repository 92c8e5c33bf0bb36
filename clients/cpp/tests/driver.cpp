// A program on the C++ client that a test drives: a command a line on standard input, answers on standard output.
//
//   announce ID [AGENT]…              "verdict ID ACTION AS_IS RECIPIENTS", with - for nothing
//   start ID AGENT [EVENT]…           "started ID"
//   end ID [OUTPUT AGENT]…            a verdict line for each output
//   finish, flush                     "finished"; "flushed" or "pending"
//   counters                          "connections N dropped N timeouts N errors N"
//
// Interventions print "intervention ID ACTION RECIPIENTS" on a line of their own. Arguments: the URL, the run's id, the
// rules as JSON, and optionally the size of the buffer.
#include <cstdlib>
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

void carry_out(run& feed, const std::string& line) {
  std::istringstream words(line);
  std::string command, id;
  words >> command >> id;
  const std::vector<std::string> rest{std::istream_iterator<std::string>(words), {}};
  if (command == "announce") return print(feed.announce({.id = id, .recipients = rest}));
  if (command == "start") {
    return print("started " + feed.start(rest.at(0), {rest.begin() + 1, rest.end()}, id));
  }
  if (command == "end") {
    std::vector<event> outputs;
    for (std::size_t i = 0; i + 1 < rest.size(); i += 2)
      outputs.push_back({.id = rest[i], .recipients = {rest[i + 1]}});
    for (const verdict& v : feed.end(id, outputs)) print(v);
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

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  options chosen{.run = argv[2], .agents = {{"planner", "coder"}}, .url = argv[1], .mode = "enforce", .rules = argv[3]};
  if (argc > 4) chosen.max_buffer_bytes = std::strtoul(argv[4], nullptr, 10);
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
