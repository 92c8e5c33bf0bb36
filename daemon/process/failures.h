// The error for an address or a folder that the daemon was given at start.
#pragma once

#include <stdexcept>

namespace digd::daemon {

// An address or a folder cannot be used: it is in use, or of the wrong kind. The message is for people.
struct cannot_use : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace digd::daemon
