// A team of scripted agents, watched by digd's engine in this process: no daemon, no socket.
//
// The planner sends a part of its work to "tester", which does not exist: digd gives the part back. Later all work is
// done and nobody submits an answer: digd asks the agent that acted last to submit.
#include <digd/engine.h>

#include <cstdint>
#include <iostream>
#include <string>

namespace {

std::int64_t now_ms = 1'000;  // a simulated clock; a real program passes the time of day

void print(const digd::engine_answer& answer) {
  for (const std::string& detection : answer.detections) std::cout << "detection  " << detection << '\n';
  for (const std::string& frame : answer.frames) std::cout << "digd       " << frame << '\n';
}

void report(digd::embedded_run& run, const std::string& type, const std::string& members) {
  static int seq = 0;
  now_ms += 100;
  const std::string frame = R"({"type":")" + type + R"(","seq":)" + std::to_string(++seq) + "," + members + "}";
  std::cout << "team       " << frame << '\n';
  print(run.apply(frame, now_ms));
}

}  // namespace

int main() {
  digd::opened_run opened =
      digd::embedded_run::open(R"({"type":"hello","protocol":1,"run":"embedded","agents":["planner","coder"],)"
                               R"("rules":{"missing_termination":{"window_ms":2000}}})");
  if (!opened.run) {
    std::cerr << opened.frame << '\n';
    return 1;
  }
  digd::embedded_run& run = *opened.run;

  report(run, "event", R"("event":{"id":"task","recipients":["planner"]})");
  report(run, "activation_started", R"("activation":"p1","agent":"planner","inputs":["task"])");
  report(run, "activation_ended",
         R"("activation":"p1","outputs":[)"
         R"({"id":"code","recipients":["coder"]},{"id":"tests","recipients":["tester"]}])");

  // The program delivers as the verdicts say: "tests" goes back to the planner, which passes it on to the coder.
  report(run, "activation_started", R"("activation":"p2","agent":"planner","inputs":["tests"])");
  report(run, "activation_ended", R"("activation":"p2","reactions":{"tests":{"reroute":["coder"]}})");
  report(run, "activation_started", R"("activation":"c1","agent":"coder","inputs":["code","tests"])");
  report(run, "activation_ended", R"("activation":"c1")");

  // Nobody submits. A real program calls `advance` when `next_due` has come.
  while (const auto due = run.next_due()) {
    now_ms = *due;
    std::cout << "time       " << now_ms << " ms\n";
    const digd::engine_answer& answer = run.advance(now_ms);
    print(answer);
    if (!answer.frames.empty()) break;
  }
  report(run, "activation_started", R"("activation":"c2","agent":"coder","inputs":["sys:1"])");
  report(run, "activation_ended", R"("activation":"c2","outputs":[{"id":"answer","recipients":[],"submit":true}])");
  report(run, "run_ended", R"("outcome":"success")");
  return run.ended() ? 0 : 1;
}
