// A second, naive implementation of docs/rules.md, with which tests compare the engine. It keeps the whole history and
// answers each question by scanning it. It shares no code with the engine, so that both do not contain the same
// mistake.
#pragma once

#include "message.h"
#include "report.h"

#include <string>
#include <vector>

namespace oracle {

// An event of the current message that is judged. A late event only gets a verdict.
struct blocked_event {
  std::size_t event_ = 0;
  std::vector<std::string> recipients_;  // B
  bool output_ = false;
  bool rerouted_ = false;
  bool late_ = false;
};

struct finding {
  rule rule_;
  std::optional<std::string> agent_;
  std::set<std::string> evidence_;
};

// One run. `step` takes the lines of a trace in order and returns the answers to each; the status line comes last.
// Invalid lines are refused and never throw.
class evaluator {
 public:
  std::vector<std::string> step(const std::string& line);

  const history& seen() const { return h_; }
  std::int64_t expected_seq(const std::string& session) const;

 private:
  // oracle.cpp: sequence numbers and checks
  void take(const std::string& line);
  void hello(const boost::json::object& line, const std::string& session);
  void take_message(const boost::json::object& line, const std::string& session);
  void refuse(const std::string& session, error_code code, const std::optional<std::string>& field);
  std::optional<error_code> check(const message& m) const;
  void check_source(const message& m, std::set<error_code>& found) const;
  void check_new_events(const std::vector<event_fields>& events, std::set<error_code>& found) const;
  void check_start(const message& m, std::set<error_code>& found) const;
  void check_end(const message& m, std::set<error_code>& found) const;
  void accept(const message& m);

  // recording.cpp: changes of the graph
  std::vector<blocked_event> record(const message& m);
  void record_left(const message& m);
  void record_start(const message& m);
  std::vector<blocked_event> record_end(const message& m);
  std::vector<blocked_event> record_events(const std::vector<event_fields>& events, std::optional<std::size_t> source);
  void fix_used_inputs(activation_record& v);
  void record_delivery(const message& m);
  void record_gap();
  void name_agents(const std::vector<std::string>& agents);
  void give(std::size_t event, const std::string& agent, bool give_back = false);
  void settle_and_forget();

  // judging.cpp: blocked events
  void judge(const message& m, const std::vector<blocked_event>& blocked);
  std::vector<finding> findings_on(const blocked_event& b) const;
  void find_early_termination(const blocked_event& b, std::vector<finding>& found) const;
  void find_orphaned_event(const blocked_event& b, std::vector<finding>& found) const;
  void find_excessive_rerouting(const blocked_event& b, std::vector<finding>& found) const;
  void find_cross_lineage(const blocked_event& b, std::vector<finding>& found) const;
  void find_repeated_subproblem(const blocked_event& b, std::vector<finding>& found) const;
  std::set<rule> heal_blocked(const message& m, const blocked_event& b, const std::vector<finding>& findings);
  verdict verdict_on(const message& m, const blocked_event& b, const std::set<rule>& healed) const;
  void apply(const blocked_event& b, const std::vector<finding>& findings, const std::set<rule>& healed);
  std::optional<std::string> cause_but_mode(rule r, std::optional<std::size_t> event, bool as_is,
                                            const capabilities& can) const;
  std::optional<std::string> source_agent(std::size_t event) const;
  bool has_target(rule r, std::optional<std::size_t> event) const;
  std::optional<std::string> returned_to(rule r, std::optional<std::size_t> event) const;
  std::int64_t returns_of(const std::string& agent) const;
  mode mode_for(rule r, const std::optional<std::string>& agent, std::optional<std::size_t> event) const;
  bool report(detection d, std::optional<std::size_t> event, const std::optional<std::string>& stopped_by);
  void count_attempt(rule r, std::optional<std::size_t> event);

  // windows.cpp: stalls and windows
  struct due {
    std::int64_t at_ = 0;
    int order_ = 0;  // stalls, DL, MC, OE
    std::string id_;
    std::size_t index_ = 0;
  };
  void handle_due(std::int64_t now);
  std::optional<due> next_due() const;
  void fire(const due& item);
  void fire_window(rule r, std::optional<std::size_t> event, std::int64_t at);
  detection window_detection(rule r, std::optional<std::size_t> event, std::int64_t at) const;
  void report_at_end();
  void create_system_event(rule r);
  void give_back_orphan(std::size_t event);
  capabilities any_session_can() const;
  void update_windows(std::int64_t now);
  window& window_of(rule r, std::optional<std::size_t> event);
  bool condition_holds(rule r, std::optional<std::size_t> event) const;

  history h_;
  bool started_ = false;
  std::vector<std::string> out_;
};

// All answers to a whole trace, in order.
std::vector<std::string> evaluate(const std::vector<std::string>& trace_lines);

}  // namespace oracle
