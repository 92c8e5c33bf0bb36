// Hook calls in the daemon: the owners of their sessions, their deadlines, and the ends of their runs. The tests run
// the loops of the engine threads themselves, without an archive.
#include <boost/json/parse.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/hooks/hook_server.h"
#include "daemon/runs/run_host.h"
#include "ingest/hooks/read_call.h"
#include "tests/daemon/one_engine_thread.h"

namespace digd::daemon {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

config settings_with(milliseconds quiet) {
  config c;
  c.verdict_deadline_ms = 20'000;
  c.connections.quiet_ms = quiet.count();
  c.policy.defaults.guards.budget[static_cast<std::size_t>(total_kind::model_calls)] = 3;
  return c;
}

const live_settings& with(live_settings& live, milliseconds quiet) {
  live.change(settings_with(quiet));
  return live;
}

grant_ptr token(const std::string& name, std::uint64_t max_runs = 0) {
  return std::make_shared<const grant>(name, std::vector{right::ingest}, std::vector<std::string>(),
                                       token_limits{.max_runs = max_runs});
}

struct hooked_daemon {
  one_engine_thread engine;
  hook_server hooks;

  explicit hooked_daemon(milliseconds quiet = milliseconds(24LL * 3600 * 1000))
      : engine(nullptr, 2), hooks(engine.threads, with(engine.live, quiet), {}) {}
  ~hooked_daemon() {
    hooks.stop();
    run_ready();
  }

  void run_ready() {
    bool any = true;
    while (any) {
      any = false;
      for (const auto& thread : engine.threads) {
        thread->context().restart();
        any = thread->context().poll() > 0 || any;
      }
    }
  }

  // Runs the loops until the condition holds; `only`: one of them.
  template <class Condition>
  bool runs_until(Condition is_done, engine_thread* only = nullptr) {
    const auto end = steady_clock::now() + std::chrono::seconds(20);
    while (!is_done() && steady_clock::now() < end) {
      for (const auto& thread : engine.threads) {
        if (only != nullptr && only != thread.get()) continue;
        thread->context().restart();
        thread->context().run_one_for(milliseconds(1));
      }
    }
    return is_done();
  }

  using answers = std::shared_ptr<std::vector<http_response>>;

  // The call waits until the loops run.
  answers submit(const hooks::dialect& as, const std::string& body, const grant_ptr& by = nullptr,
                 steady_clock::time_point arrived = steady_clock::now()) {
    auto call = hooks::read_call(as, body);
    REQUIRE(call.has_value());
    const auto answer = std::make_shared<std::vector<http_response>>();
    hooks.submit({.dialect = as,
                  .mode = mode::enforce,
                  .call = std::move(*call),
                  .grant = by,
                  .arrived = arrived,
                  .answer = [answer](http_response&& response) { answer->push_back(std::move(response)); }});
    return answer;
  }

  // The answer to a call.
  http_response send(const hooks::dialect& as, const std::string& body, const grant_ptr& by = nullptr,
                     steady_clock::time_point arrived = steady_clock::now(), engine_thread* only = nullptr) {
    const answers answer = submit(as, body, by, arrived);
    runs_until([&] { return !answer->empty(); }, only);
    run_ready();
    REQUIRE(answer->size() == 1);
    return std::move(answer->front());
  }

  std::uint64_t open_runs() const { return engine.counts.open.load(); }
};

std::string model_call(const std::string& trace, const std::string& call = "c1") {
  return R"({"input_type":"request","litellm_call_id":")" + call + R"(","litellm_trace_id":")" + trace +
         R"(","structured_messages":[{"role":"user","content":"hi"}],"texts":["hi"],"model":"m"})";
}

std::string prompt(const std::string& session, const std::string& id = "p1") {
  return R"({"hook_event_name":"UserPromptSubmit","prompt":"go","session_id":")" + session + R"(","prompt_id":")" + id +
         R"("})";
}

// A call that begins no run.
std::string tool_done(const std::string& session) {
  return R"({"hook_event_name":"PostToolUse","tool_name":"Read","tool_use_id":"t1","session_id":")" + session +
         R"(","prompt_id":"p1"})";
}

std::string session_end(const std::string& session) {
  return R"({"hook_event_name":"SessionEnd","session_id":")" + session + R"("})";
}

}  // namespace

TEST_CASE("a_model_call_without_a_trace_ends_its_run_with_its_answer") {
  hooked_daemon daemon;
  for (int i = 0; i < 20; ++i) {
    REQUIRE(daemon.send(hooks::litellm, model_call("", "call" + std::to_string(i))).body() == R"({"action":"NONE"})");
  }
  REQUIRE(daemon.open_runs() == 0);
  REQUIRE(daemon.hooks.counted().sessions == 0);
  REQUIRE(daemon.hooks.counted().skipped == 0);
}

TEST_CASE("a_run_of_model_calls_ends_when_no_call_comes_and_a_later_call_begins_another_run") {
  hooked_daemon daemon(milliseconds(200));
  REQUIRE(daemon.send(hooks::litellm, model_call("t1")).result_int() == 200);
  REQUIRE(daemon.open_runs() == 1);
  REQUIRE(daemon.runs_until([&] { return daemon.open_runs() == 0; }));
  REQUIRE(daemon.hooks.counted().idle_runs == 1);
  std::vector<std::string> actions;
  for (int i = 0; i < 4; ++i) {
    const json::value answer = json::parse(daemon.send(hooks::litellm, model_call("t1")).body());
    actions.emplace_back(answer.at("action").as_string());
  }
  REQUIRE(actions.back() == "BLOCKED");  // the guards judge the new run too
  REQUIRE(daemon.hooks.counted().skipped == 0);
}

TEST_CASE("digd_ends_the_run_of_a_coding_agent_that_reports_no_end") {
  hooked_daemon daemon(milliseconds(200));
  daemon.send(hooks::claude_code, prompt("s1"));
  REQUIRE(daemon.open_runs() == 1);
  REQUIRE(daemon.runs_until([&] { return daemon.open_runs() == 0; }));
  REQUIRE(daemon.hooks.counted().idle_runs == 1);
  REQUIRE(daemon.hooks.counted().sessions == 0);
}

TEST_CASE("a_session_that_makes_room_leaves_no_run_open") {
  hooked_daemon daemon;
  constexpr std::size_t most = 2 * hook_server::max_sessions;  // on two threads
  for (std::size_t i = 0; i < most + 5; ++i) daemon.send(hooks::litellm, model_call("trace" + std::to_string(i)));
  REQUIRE(daemon.hooks.counted().evicted >= 5);
  REQUIRE(daemon.hooks.counted().idle_runs == daemon.hooks.counted().evicted);
  REQUIRE(daemon.open_runs() == daemon.hooks.counted().sessions);
}

TEST_CASE("a_session_belongs_to_the_token_whose_call_began_its_run") {
  hooked_daemon daemon;
  const grant_ptr first = token("first"), other = token("other");
  REQUIRE(daemon.send(hooks::claude_code, prompt("s1"), first).result_int() == 200);
  const http_response refused = daemon.send(hooks::claude_code, prompt("s1", "p2"), other);
  REQUIRE(refused.result_int() == 403);
  REQUIRE(refused.body().find("the session belongs to another token") != std::string::npos);
  REQUIRE(daemon.send(hooks::claude_code, session_end("s1"), other).result_int() == 403);
  REQUIRE(daemon.open_runs() == 1);
  REQUIRE(daemon.send(hooks::claude_code, prompt("s1", "p2"), first).result_int() == 200);
  REQUIRE(daemon.hooks.counted().forbidden == 2);
}

TEST_CASE("a_session_of_a_revoked_token_goes_to_the_next_token") {
  // The SHA-256 of "test".
  constexpr std::string_view entry =
      "[[token]]\nname = \"old\"\nrights = [\"ingest\"]\n"
      "sha256 = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"\n";
  hooked_daemon daemon;
  token_table before, after;
  REQUIRE(token_table::parse(entry, "tokens.toml", before).empty());
  const grant_ptr renamed = token("new"), other = token("other");
  REQUIRE(daemon.send(hooks::claude_code, prompt("s1"), before.find("test")).result_int() == 200);
  REQUIRE(daemon.send(hooks::claude_code, tool_done("s1"), renamed).result_int() == 403);
  after.succeed(before);
  REQUIRE(daemon.send(hooks::claude_code, tool_done("s1"), renamed).result_int() == 200);
  REQUIRE(daemon.send(hooks::claude_code, tool_done("s1"), other).result_int() == 403);
  REQUIRE(daemon.send(hooks::claude_code, prompt("s1", "p2"), renamed).result_int() == 200);
}

TEST_CASE("a_call_that_needs_no_run_does_not_own_the_session") {
  hooked_daemon daemon;
  const grant_ptr first = token("first"), other = token("other");
  REQUIRE(daemon.send(hooks::claude_code, tool_done("s1"), other).result_int() == 200);
  const auto mine = daemon.submit(hooks::claude_code, prompt("s1"), first);
  const auto foreign = daemon.submit(hooks::claude_code, tool_done("s1"), other);  // before the run is open
  REQUIRE(daemon.runs_until([&] { return !mine->empty() && !foreign->empty(); }));
  REQUIRE(mine->front().result_int() == 200);
  REQUIRE(foreign->front().result_int() == 403);
  REQUIRE(daemon.send(hooks::claude_code, tool_done("s1"), other).result_int() == 403);
  REQUIRE(daemon.send(hooks::claude_code, tool_done("s1"), first).result_int() == 200);
}

TEST_CASE("a_call_behind_the_end_of_a_session_does_not_keep_the_session") {
  hooked_daemon daemon;
  const auto first = daemon.submit(hooks::claude_code, prompt("s1"));
  const auto end = daemon.submit(hooks::claude_code, session_end("s1"));
  const auto after = daemon.submit(hooks::claude_code, tool_done("s1"));
  REQUIRE(daemon.runs_until([&] { return !first->empty() && !end->empty() && !after->empty(); }));
  REQUIRE(daemon.runs_until([&] { return daemon.hooks.counted().sessions == 0; }));
  REQUIRE(daemon.open_runs() == 0);
}

TEST_CASE("a_prompt_behind_the_end_of_a_session_continues_the_session") {
  hooked_daemon daemon;
  const auto first = daemon.submit(hooks::claude_code, prompt("s1"));
  const auto end = daemon.submit(hooks::claude_code, session_end("s1"));
  const auto next = daemon.submit(hooks::claude_code, prompt("s1", "p2"));
  REQUIRE(daemon.runs_until([&] { return !first->empty() && !end->empty() && !next->empty(); }));
  daemon.run_ready();
  REQUIRE(daemon.hooks.counted().sessions == 1);
  REQUIRE(daemon.open_runs() == 1);
  daemon.send(hooks::claude_code, session_end("s1"));
  REQUIRE(daemon.open_runs() == 0);
}

TEST_CASE("runs_of_hooks_count_towards_the_max_runs_of_the_token") {
  hooked_daemon daemon;
  const grant_ptr limited = token("limited", 1), other = token("other", 1);
  daemon.send(hooks::claude_code, prompt("s1"), limited);
  REQUIRE(daemon.send(hooks::claude_code, prompt("s2"), limited).body() == "{}");  // the agent continues
  REQUIRE(daemon.open_runs() == 1);
  REQUIRE(daemon.hooks.counted().skipped == 1);
  daemon.send(hooks::claude_code, prompt("s3"), other);
  REQUIRE(daemon.open_runs() == 2);
  daemon.send(hooks::claude_code, session_end("s1"), limited);
  daemon.send(hooks::claude_code, prompt("s2", "p2"), limited);
  REQUIRE(daemon.open_runs() == 2);
  REQUIRE(daemon.hooks.counted().skipped == 1);
}

TEST_CASE("the_deadline_of_a_hook_begins_with_its_arrival_and_ends_before_the_program_gives_up") {
  hooked_daemon daemon;
  const auto owner_of = [&](const std::string& name) { return &daemon.engine.threads.owner_of(name); };
  std::string trace = "t";
  while (owner_of("litellm-" + trace) == owner_of("litellm-" + trace + "/calls")) trace += 't';
  // The run's thread does not run, so there is no verdict. The verdict deadline is longer.
  const auto long_ago = steady_clock::now() - hook_session::max_wait;
  const auto answer = daemon.send(hooks::litellm, model_call(trace), nullptr, long_ago, owner_of("litellm-" + trace));
  REQUIRE(answer.body() == R"({"action":"NONE"})");
  REQUIRE(daemon.hooks.counted().late == 1);
}

TEST_CASE("a_late_model_call_without_a_trace_ends_its_run_too") {
  hooked_daemon daemon;
  const auto owner_of = [&](const std::string& name) { return &daemon.engine.threads.owner_of(name); };
  std::string id = "c";
  const auto session = [&] { return hooks::read_call(hooks::litellm, model_call("", id))->session; };
  while (owner_of(session()) == owner_of(session() + "/calls")) id += 'c';
  const auto long_ago = steady_clock::now() - hook_session::max_wait;
  daemon.send(hooks::litellm, model_call("", id), nullptr, long_ago, owner_of(session()));
  REQUIRE(daemon.hooks.counted().late == 1);
  REQUIRE(daemon.runs_until([&] { return daemon.hooks.counted().sessions == 0; }));
  REQUIRE(daemon.runs_until([&] { return daemon.open_runs() == 0; }));
}

}  // namespace digd::daemon
