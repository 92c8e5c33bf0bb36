// The frame of a benchmark program: prints an exception with the program's name and returns exit status 2.
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
