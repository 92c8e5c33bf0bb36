// A stand-in for the paper's baseline, a language model that judges: every n activations it reads the log, everybody
// waits meanwhile, and it names what it takes for symptoms, some real, some not. It speaks by system events; what has
// been delivered, a submitted answer above all, it cannot call back.
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
  engine_monitor observer_;  // its log
  parameters parameters_;
  std::vector<std::string> agents_;
  std::uint64_t ended_ = 0, judged_ = 0, spoken_ = 0;
  milliseconds speaks_at_ = -1;  // it is judging until then
};

}  // namespace digd::bench
