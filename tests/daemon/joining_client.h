// A client inside the test: sends a hello to the registry, and keeps the run's answers.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/runs/engine_thread.h"
#include "daemon/runs/registry.h"
#include "daemon/runs/run_client.h"

namespace digd::daemon {

class joining_client final : public run_client {
 public:
  void on_joined(join_result&& result) override { results.push_back(std::move(result)); }
  void on_frame(const client_frame&) override {}
  void on_flow_state(const flow_state&) override {}
  void on_replaced() override {}
  void on_deleted() override {}

  std::vector<join_result> results;
};

// The answer comes when the test runs the thread's loop.
inline std::shared_ptr<joining_client> send_hello(engine_thread& thread, const std::string& run,
                                                  const std::string& session = "main") {
  auto client = std::make_shared<joining_client>();
  join_request request;
  request.greeting.protocol = 1;
  request.greeting.run = run;
  request.greeting.session = session;
  request.client = client;
  request.home = &thread;
  thread.runs().join(std::move(request));
  return client;
}

inline std::shared_ptr<joining_client> greet(engine_thread& thread, const std::string& run) {
  auto client = send_hello(thread, run);
  thread.context().restart();
  thread.context().poll();
  return client;
}

}  // namespace digd::daemon
