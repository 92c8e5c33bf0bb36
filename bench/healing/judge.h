// A stand-in for the paper's baseline, a language model as judge. Every n activations it reads the log while everybody
// waits, then names symptoms, some real, some not. It speaks through system events: it cannot call back anything that
// was delivered, in particular not a submitted answer.
#pragma once

#include <string>
#include <vector>

#include "bench/healing/engine_monitor.h"

namespace digd::bench {

class judge final : public monitor {
 public:
  explicit judge(const draws& chance);
  void open(const std::vector<std::string>& agents, const parameters& parameters) override;
  instruction hear(const report& report) override;
  tally counted() const override { return observer_.counted(); }

 private:
  void begin(milliseconds now, instruction& instruction);
  void speak(milliseconds now, instruction& instruction);
  void say(milliseconds now, std::vector<std::string> to, hint hint, instruction& instruction);

  const draws chance_;
  engine_monitor observer_;  // provides its log
  parameters parameters_;
  std::vector<std::string> agents_;
  std::uint64_t ended_ = 0, judged_ = 0, spoken_ = 0;
  milliseconds speaks_at_ = -1;  // end of the judgement in progress; -1: none
};

}  // namespace digd::bench
