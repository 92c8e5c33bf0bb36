// Private to the trace generator: one simulated run. An oracle evaluates each line as it is added, so that the
// simulator knows which events are pending where and which events digd created.
#pragma once

#include "dice.h"
#include "oracle.h"

#include <boost/json.hpp>

namespace oracle {

class trace_simulator {
 public:
  trace_simulator(std::uint64_t seed, std::size_t messages);
  std::vector<std::string> run();

 private:
  using object = boost::json::object;
  using array = boost::json::array;

  // The state in which a run ends: any; with all activations ended; also with a window fired; or with all work done.
  enum class ending { at_once, at_rest, waited, done };

  // The behaviour of a run, drawn once.
  struct behaviour {
    unsigned mistakes_per_mille_ = 0;
    unsigned oddities_per_mille_ = 0;  // valid but unusual: placeholders, unknown agents, repeats, gaps
    unsigned submit_per_mille_ = 0;
    unsigned as_is_percent_ = 0;
    std::size_t step_ms_ = 1;
    std::size_t jump_ms_ = 1;
    unsigned jump_percent_ = 0;
    std::size_t end_at_ = 0;  // the number of the message that ends the run
    unsigned fyi_percent_ = 6;
    unsigned long_id_percent_ = 0;
    bool longest_ids_ = false;  // long ids have the maximum length
    ending ending_ = ending::at_once;
  };

  // trace_setup.cpp
  static const std::vector<std::string>& staff();
  static const std::vector<std::string>& strangers();
  void draw_behaviour(std::size_t messages);
  object draw_rules();
  object draw_rule(std::size_t index);
  object draw_limits();
  object draw_healing();
  object repeat_rules() const;
  object draw_capabilities();
  boost::json::value draw_actions(bool stall);
  object draw_guard(rule guard);
  object draw_guards();
  array draw_agents();
  void send_first_hello();
  void send_further_hello();

  // trace_generator.cpp: the acts of agents
  void act();
  bool odd_act();
  void wind_down();
  void end_run();
  bool start_on_pending();
  object new_event(bool output);
  unsigned submit_per_mille() const;
  array draw_recipients();
  std::string draw_agent();
  std::string draw_new_id();
  std::optional<std::string> some_placeholder();
  void post_root();
  void post_late_root();
  void start();
  array draw_inputs(const std::string& agent);
  void output();
  void end();
  object draw_reactions(const activation_record& v);
  void report_delivery();
  object draw_usage();
  void add_usage(object& line);
  void report_usage();
  void decide();
  void take_returned(const hold_record& hold);
  void reroute_held();
  void resend_or_run_ahead();
  void flood();
  void burst();
  std::string pad(const std::string& id);

  // trace_mistakes.cpp: invalid messages, each for one reason; false if the run has no occasion for it
  bool mistake();
  bool bad_frame();
  bool bad_field_in_event();
  bool bad_field_in_activation();
  bool bad_field_elsewhere();
  bool unknown_name();
  bool closed_activation();
  bool used_name();
  bool reserved_name();
  bool settled_reroute();
  bool foreign_reaction();
  bool failure_with_results();
  bool rootless_submit();

  // common
  object begin(const char* type);
  void send(object line);
  void send_text(const std::string& line);
  std::vector<std::size_t> activations(bool open) const;
  const history& seen() const { return judge_.seen(); }

  dice dice_;
  behaviour behaviour_;
  std::size_t messages_;
  std::vector<std::string> sessions_;          // have sent a hello
  std::vector<std::string> further_sessions_;  // have not sent a hello yet
  object first_guards_;                        // of the first hello; empty: no guards
  object first_rules_;                         // of the first hello
  bool waited_ = false;                        // at the end: time has passed for a window
  bool retries_soon_ = false;                  // an answer was just given back, so agents submit again soon
  std::size_t winding_down_ = 0;               // remaining messages in which agents only finish pending work
  std::size_t last_name_ = 0;
  std::size_t after_end_ = 0;
  evaluator judge_;
  std::vector<std::string> trace_;
};

}  // namespace oracle
