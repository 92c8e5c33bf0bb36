// One activation of an agent, step by step (agent.h). The rules follow the prompt of the paper's agents (DIG to Heal,
// appendix B): an action for every pending event; aggregation first; one kind of task an activation.
//
// Thread: the run's. Lifetime: one activation; what it is given outlives it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/healing/agent.h"

namespace digd::bench {

// Numbers of an agent's own results start here, above those of the items.
inline constexpr std::uint64_t own_results = std::uint64_t{1} << 27;
// After it has handed out gaps this many times, an agent submits its results.
inline constexpr std::uint64_t max_chases = 3;

class turn {
 public:
  turn(agent& self, const std::vector<presented>& inputs, const surroundings& about);
  decision take();

 private:
  // An agent's view of some results together.
  struct view {
    solution sum;             // what it adds up; its cover is the truth and decides nothing
    cover label;              // the elements that the labels name
    bool vague = false;       // some result had no label
    std::vector<range> gaps;  // the gaps that it sees
    double share = 0;         // the share of the whole that the labels name
    bool complete() const { return gaps.empty(); }
  };

  // Steps in order; a step that returns true ends the activation.
  void read_texts();
  void read_notices();
  void answer_requests();
  void see_to_returned_events();
  bool see_to_answer();
  bool combine();
  bool compute();
  bool take_up();
  bool finish();

  // Interventions.
  bool follows(const hint& h, std::size_t texts_at_once);
  void take_note(const hint& h, std::size_t input);
  bool reconsider(std::size_t answer, const view& now);

  // Results.
  std::vector<std::size_t> results_at_hand() const;
  view count_visited(const std::vector<std::size_t>& fresh) const;
  void see_gaps(view& v) const;
  bool sees_overlap(const held_result& result, const view& known) const;
  void keep(const std::vector<std::size_t>& fresh);
  void keep_only(const view& v);
  void drop_duplicates(const std::vector<std::size_t>& fresh);
  void pass_on(const std::vector<std::size_t>& fresh, const view& v);
  void hand_back(const std::vector<std::size_t>& fresh);
  std::vector<int> silent_mates(const view& v) const;

  // Acts.
  void consume(std::size_t i) { out_.reactions[i].reaction = reaction::consume; }
  void reroute(std::size_t i, int to);
  void submit(const view& answer);
  void complete(const view& answer);
  void hand_out(const std::vector<range>& gaps);
  void ask(const std::vector<int>& agents);
  void split(std::size_t i, range part);
  void fetch(std::size_t i);
  void send(item item, std::vector<int> to);
  void send_result(const view& v, int to);
  void share(const solution& result, range part, int author);
  std::vector<int> receivers_of_result(int author);
  bool would_pass_on(std::size_t i) const;

  int other_agent(purpose purpose, std::uint64_t sub) const;
  random_stream draw(purpose purpose, std::uint64_t sub = 0) const;
  bool alone() const { return about_.agents == 1; }
  bool stirred() const { return stirred_; }
  const item& item_at(std::size_t i) const { return about_.items[static_cast<std::size_t>(in_[i].number)]; }

  agent& me_;
  const std::vector<presented>& in_;
  const surroundings& about_;
  const parameters& parameters_;
  decision out_;
  bool careful_ = false;                // it follows some text
  bool stirred_ = false;                // it follows a notice
  bool answer_waits_ = false;           // it keeps its returned answer until something arrives
  std::vector<bool> pressed_;           // by input: a followed text came with it or names it
  std::vector<bool> minded_;            // by input: the text that came with it is followed
  std::vector<int> named_agents_;       // other agents in followed texts, in order, each once
  std::set<std::string> named_events_;  // in followed texts
};

}  // namespace digd::bench
