// Private to the trace generator: one simulated run, with an oracle alongside that tells what is pending where and
// which events the monitor made.
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

  // How a run gets to its end: as it is, with no activation open any more, after a window has fired as well, or with
  // its work done.
  enum class ending { at_once, at_rest, waited, done };

  // How a run behaves; drawn once.
  struct temper {
    unsigned mistakes_per_mille_ = 0;
    unsigned oddities_per_mille_ = 0;  // legal but strange: placeholders, unknown agents, resends, gaps
    unsigned submit_per_mille_ = 0;
    unsigned as_is_percent_ = 0;
    std::size_t step_ms_ = 1;
    std::size_t jump_ms_ = 1;
    unsigned jump_percent_ = 0;
    std::size_t end_at_ = 0;  // the message that ends the run, if reached
    unsigned fyi_percent_ = 6;
    unsigned long_id_percent_ = 0;
    bool longest_ids_ = false;  // long ids are as long as they may be
    ending ending_ = ending::at_once;
  };

  // trace_setup.cpp
  static const std::vector<std::string>& staff();
  static const std::vector<std::string>& strangers();
  void draw_temper(std::size_t messages);
  object draw_rules();
  object draw_rule(std::size_t index);
  object draw_limits();
  object draw_healing();
  object repeat_rules() const;
  object draw_capabilities();
  array draw_agents();
  void say_first_hello();
  void say_further_hello();

  // trace_generator.cpp: what agents do
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
  void resend_or_run_ahead();
  void flood();
  void burst();
  std::string pad(const std::string& id);

  // trace_mistakes.cpp: messages to be refused, each for one reason; false if there is no occasion for it
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
  void say(object line);
  void say_text(const std::string& line);
  std::vector<std::size_t> activations(bool open) const;
  const history& seen() const { return judge_.seen(); }

  dice dice_;
  temper temper_;
  std::size_t messages_;
  std::vector<std::string> sessions_;         // said hello
  std::vector<std::string> silent_sessions_;  // yet to
  object first_rules_;                        // as the first hello has them
  bool waited_ = false;                       // at the end, for a window
  bool eager_ = false;                        // an answer was just given back: agents try again soon
  std::size_t winding_down_ = 0;              // messages left in which agents only finish what there is
  std::size_t names_ = 0;
  std::size_t after_end_ = 0;
  evaluator judge_;
  std::vector<std::string> trace_;
};

}  // namespace oracle
