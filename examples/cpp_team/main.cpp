// A team of three scripted agents, attached to a digd daemon with the C++ client (docs/clients-cpp.md).
//
// The planner sends a part of the work to "tester", which does not exist. Without a daemon that part is lost. With a
// daemon it comes back to the planner with the names of the existing agents, and the planner sends it to one of them.
#include <digd/client.h>

#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

struct mail {
  std::string event;
  std::string text;
  std::string note;  // digd's text for the recipient
};

std::map<std::string, std::vector<mail>> inboxes{{"planner", {}}, {"coder", {}}, {"reviewer", {}}};

void deliver(const digd::client::verdict& verdict, const std::string& text) {
  for (const std::string& agent : verdict.recipients) {
    if (const auto inbox = inboxes.find(agent); inbox != inboxes.end()) {
      inbox->second.push_back({verdict.event, text, verdict.inject});
    } else {
      std::cout << "   lost: '" << text << "' for '" << agent << "'\n";
    }
  }
}

// Reads the agent's inbox and sends these texts to these agents, or submits the answer.
void act(digd::client::run& run, const std::string& agent,
         const std::vector<std::pair<std::string, std::string>>& parts, const std::string& answer = {}) {
  std::vector<std::string> inputs;
  const std::vector<mail> received = std::exchange(inboxes[agent], {});
  if (received.empty()) return;
  for (const mail& m : received) {
    std::cout << agent << ": '" << m.text << "'\n";
    if (!m.note.empty()) std::cout << "   from digd: " << m.note << '\n';
    inputs.push_back(m.event);
  }
  const std::string activation = run.start(agent, inputs);
  std::vector<digd::client::event> outputs;
  for (const auto& [to, text] : parts) outputs.push_back({.recipients = {to}, .payload = '"' + text + '"'});
  if (!answer.empty()) outputs.push_back({.payload = '"' + answer + '"', .submit = true});
  const std::vector<digd::client::verdict> verdicts = run.end(activation, outputs);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    deliver(verdicts[i], parts[i].second);
    run.applied(verdicts[i]);
  }
}

}  // namespace

int main() {
  digd::client::run run({.agents = {{"planner", "coder", "reviewer"}}, .mode = "enforce"});
  deliver(run.announce({.recipients = {"planner"}, .payload = R"("Write a parser.")"}), "Write a parser.");
  act(run, "planner", {{"coder", "write it"}, {"tester", "try it"}});
  act(run, "planner", {{"reviewer", "try it"}});
  act(run, "coder", {{"reviewer", "here it is"}});
  act(run, "reviewer", {}, "It works.");
  run.finish(digd::client::outcome::success);
}
