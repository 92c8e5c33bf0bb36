// Checks of what digd promises, made during a simulation. A broken promise ends the world and prints its seed.
#pragma once

#include <stdexcept>
#include <string>

namespace digd::simulation {

struct broken_promise : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws broken_promise with the text, which `describe` makes only if it is needed.
template <class Describe>
void must(bool holds, Describe&& describe) {
  if (!holds) throw broken_promise(std::string(describe()));
}
inline void must(bool holds, const char* promise) {
  if (!holds) throw broken_promise(promise);
}

}  // namespace digd::simulation
