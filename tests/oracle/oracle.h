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
  std::set<std::string> given_;  // the agents whose delivery became pending with this message
};

struct finding {
  rule rule_;
  std::optional<std::string> agent_;
  std::set<std::string> evidence_;
  bool warning_ = false;  // of a guard, like the members below
  std::vector<std::string> limits_;
};

// What a message's guards did with one blocked event.
struct guarded {
  std::optional<std::string> placed_;  // return, hold or cancel
  std::optional<std::string> back_to_;
  rule by_ = rule::budget;
  std::optional<std::string> spender_;
  std::size_t hold_ = 0;
  bool injects_ = false;  // some guard was healed
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
  void fix_repeats(std::size_t activation);
  void record_delivery(const message& m);
  void record_usage(const message& m, std::size_t activation);
  void give_in(blocked_event& b, const std::string& agent);
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
  std::set<rule> heal_blocked(const message& m, const blocked_event& b, const std::vector<finding>& findings,
                              guarded& by_guards);
  verdict verdict_on(const message& m, const blocked_event& b, const std::set<rule>& healed,
                     const guarded& by_guards) const;
  void apply(const blocked_event& b, const std::vector<finding>& findings, const std::set<rule>& healed);

  // guards.cpp: the guards on blocked events, messages without them, and silences
  std::optional<std::string> sender_of(const message& m) const;
  bool guard_is_on(rule guard) const;
  std::int64_t total(const std::string& limit, const std::optional<std::string>& agent) const;
  std::vector<std::string> limits_passed(const std::optional<std::string>& agent) const;
  std::vector<finding> guard_findings(const message& m, const std::vector<blocked_event>& blocked,
                                      std::size_t at) const;
  std::optional<finding> find_budget(const std::optional<std::string>& sender) const;
  std::optional<finding> find_fan_out(const message& m, const std::vector<blocked_event>& blocked,
                                      std::size_t at) const;
  std::optional<finding> find_repetition(const message& m, const blocked_event& b,
                                         const std::vector<blocked_event>& blocked, std::size_t at) const;
  std::string next_action(const finding& f, const std::optional<std::string>& sender);
  void heal_guard(const message& m, const blocked_event& b, const finding& f, const std::set<rule>& healed, bool& any,
                  guarded& out);
  void judge_spending(const message& m, const std::vector<blocked_event>& blocked);
  void apply_guard(const message& m, const blocked_event& b, const guarded& g);
  void cancel(const std::vector<std::string>& activations, bool inject);
  std::vector<std::string> open_activations(const std::optional<std::string>& agent) const;
  void fire_silence(std::size_t activation, std::int64_t at);

  // holds.cpp
  void withdraw(std::size_t event, const std::set<std::string>& agents);
  void end_hold(std::size_t number, const std::string& ending, bool with_text);
  void end_taken_holds(const message& m);
  void decide(const boost::json::object& line);
  std::optional<std::size_t> event_reported(const message& m) const;
  bool answers_guard(const message& m) const;
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
    int order_ = 0;  // stalls, DL, MC, OE, the guard stall, holds
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
  std::vector<std::string> hold_lines_;    // written after the windows
  std::vector<std::string> cancel_lines_;  // written after the detections of the message
  std::set<std::size_t> released_as_is_;   // holds
  std::size_t holds_ahead_ = 0;            // decided in this message, not recorded yet
};

// All answers to a whole trace, in order.
std::vector<std::string> evaluate(const std::vector<std::string>& trace_lines);

}  // namespace oracle
