#include "cli/interrupt.h"

#include <signal.h>

namespace digd::cli {

namespace {

std::atomic<bool> interrupted{false};

void on_interrupt(int) {
  interrupted.store(true);
  ::signal(SIGINT, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& stop_asked() {
  [[maybe_unused]] static const auto before = ::signal(SIGINT, on_interrupt);
  return interrupted;
}

}  // namespace digd::cli
