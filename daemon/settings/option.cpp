#include "daemon/settings/option.h"

namespace digd::daemon {

std::string_view to_string(applies when) {
  constexpr std::string_view names[] = {"at restart", "at once", "to new connections", "to new runs"};
  return names[static_cast<std::size_t>(when)];
}

std::string_view option::section() const {
  const std::size_t dot = name.rfind('.');
  return std::string_view(name).substr(0, dot == std::string::npos ? 0 : dot);
}

std::string_view option::key() const { return std::string_view(name).substr(name.rfind('.') + 1); }

}  // namespace digd::daemon
