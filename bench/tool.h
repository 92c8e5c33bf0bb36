// A benchmark's program as people and scripts meet it: what goes wrong is said, with the program's name, and the exit
// status is 2.
#pragma once

#include <exception>
#include <iostream>

namespace digd::bench {

template <class Run>
int as_tool(const char* name, Run&& run) {
  try {
    return run();
  } catch (const std::exception& e) {
    std::cerr << name << ": " << e.what() << '\n';
    return 2;
  }
}

}  // namespace digd::bench
