// What must hold at every step of a simulation. Broken, it ends that world, and the seed is printed.
#pragma once

#include <stdexcept>
#include <string>

namespace digd::simulation {

struct broken_promise : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class Words>
void must(bool holds, Words&& words) {
  if (!holds) throw broken_promise(std::string(words()));
}
inline void must(bool holds, const char* words) {
  if (!holds) throw broken_promise(words);
}

}  // namespace digd::simulation
