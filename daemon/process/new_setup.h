// `digd init`: a configuration, a token and a systemd user unit for this host.
#pragma once

#include <iosfwd>
#include <string>

namespace digd::daemon {

struct new_setup {
  std::string folder;                     // for the files; created if it is missing, with access for its owner only
  std::string listen = "127.0.0.1:7344";  // checked by the caller
};

// Writes digd.toml, tokens.toml, token and digd.service into the folder, and the next steps to `out`. It replaces no
// file: if one of the four exists, it writes none. Returns an error sentence; empty on success.
std::string write_setup(const new_setup& wanted, std::ostream& out);

}  // namespace digd::daemon
