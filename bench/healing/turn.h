// One activation of an agent, step by step (agent.h). The rules follow the prompt of the paper's agents (DIG to Heal,
// appendix B): an action for every pending event; aggregation first; one kind of task an activation.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "bench/healing/agent.h"

namespace digd::bench {

// Numbers of an agent's own results start here, above those of the items.
inline constexpr std::uint64_t own_results = std::uint64_t{1} << 27;

class turn {
 public:
  turn(agent& self, const std::vector<presented>& inputs, const surroundings& about);
  decision take();

 private:
  // Steps in order; a step that returns true ends the activation.
  void read_hints();
  void read_notices();
  void see_to_orphans();
  bool see_to_answer();
  bool put_together();
  bool compute();
  bool take_up();
  bool finish();

  // Hints that the agent follows.
  bool follows(const hint& h) const;
  bool is_asked(rule_id rule) const { return asked_[index_of(rule)]; }
  void apply_request(const request& asks);
  int number_of(const std::string& name) const;  // of an agent; `none` if it does not exist
  bool hands_on(const cover& have) const;        // whether to pass on an answer with so little

  // Results.
  std::vector<std::size_t> results_at_hand() const;
  solution merge(const std::vector<std::size_t>& fresh) const;
  bool sees_overlap(const held_result& result, const cover& so_far) const;
  bool is_whole(const cover& c) const { return c.missing_in(about_.task.whole()).empty(); }
  double share_of(const cover& c) const;
  void keep(const std::vector<std::size_t>& fresh);
  void drop_duplicates(const std::vector<std::size_t>& fresh);
  void pass_on(const std::vector<std::size_t>& fresh, const solution& sum);
  void hand_back(const std::vector<std::size_t>& fresh);
  void hand_on(std::size_t answer, const std::vector<std::size_t>& fresh);

  // Acts.
  void consume(std::size_t i) { out_.reactions[i].reaction = reaction::consume; }
  void reroute(std::size_t i, int to);
  void submit(const solution& answer);
  void complete(const solution& answer);
  void hand_out_missing(const cover& have);
  void split(std::size_t i, range part);
  void fetch(std::size_t i);
  void send(item item, std::vector<int> to);
  void share(const solution& result, int author);
  std::vector<int> receivers_of_result(int author);
  bool would_pass_on(std::size_t i) const;

  int other_agent(purpose why, std::uint64_t sub) const;
  random_stream draw(purpose why, std::uint64_t sub = 0) const;
  bool alone() const { return about_.agents == 1; }
  const item& item_at(std::size_t i) const { return about_.items[static_cast<std::size_t>(in_[i].number)]; }

  agent& me_;
  const std::vector<presented>& in_;
  const surroundings& about_;
  const parameters& parameters_;
  decision out_;
  std::array<bool, rule_count> asked_{};                // by rule: a followed hint asks for it
  std::vector<std::array<bool, rule_count>> asked_of_;  // by input and rule
  request request_;                                     // the combined requests of followed hints
  bool answer_waits_ = false;                           // it keeps its answer until the missing results arrive
};

}  // namespace digd::bench
