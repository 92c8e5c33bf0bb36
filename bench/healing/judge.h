// A stand-in for the paper's baseline, a language model as judge that knows the paper's taxonomy and sees the log. As
// in the study with real agents, it judges each answer and each rest, and acts at most three times. Everybody waits
// while it judges.
//
// It reads labels as agents do, so it can see what an answer lacks; digd cannot. It overlooks gaps and raises false
// alarms at stated rates. Thread: the run's. Bounds: its log grows with the events of the run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/healing/control.h"

namespace digd::bench {

class judge final : public control {
 public:
  explicit judge(const draws& chance) : chance_(chance) {}
  instruction hear(const report& message) override;

 private:
  struct entry {  // of the log
    std::string id;
    cover label;
    std::string holder;  // the agent that it waits at; empty: nobody
  };

  void read(const report& message);
  instruction judge_answer(const report& message, int answer);
  void judge_rest(milliseconds now, instruction& response);
  bool objects(const cover& label, std::vector<range>& gaps);
  std::string advice_on(const std::vector<range>& gaps) const;
  void spend_time(milliseconds now, instruction& response);

  static constexpr int max_acts = 3;
  const draws chance_;
  std::vector<entry> log_;
  std::map<std::string, milliseconds> open_;  // activations, with their start
  range whole_;
  milliseconds last_message_ = 0;
  std::uint64_t judged_ = 0;
  int acts_ = 0;
};

}  // namespace digd::bench
