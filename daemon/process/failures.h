// Errors in the addresses and folders that the daemon got at start.
#pragma once

#include <stdexcept>

namespace digd::daemon {

// An address or a folder cannot be used: it is in use, or of the wrong kind. The message is for people.
struct cannot_use : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace digd::daemon
