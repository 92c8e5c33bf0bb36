#include "daemon/process/new_setup.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "net/new_token.h"

namespace digd::daemon {

namespace fs = std::filesystem;

namespace {

// Creates the file with access for its owner only. Fails if it exists.
std::string write_new(const fs::path& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return digd::quoted(path.string()) + ": " + std::strerror(errno);
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int reason = errno;
  ::close(file);
  return written ? std::string() : digd::quoted(path.string()) + ": " + std::strerror(reason);
}

std::string config_text(const fs::path& folder, const std::string& listen) {
  return "# The configuration of this digd. `digd --print-config` explains every option; options that are missing "
         "here\n"
         "# have their defaults. `digd --config FILE --check-config` checks a change, SIGHUP applies it.\n\n"
         "# Clients find this address in DIGD_URL. The dashboard is at http://ADDRESS/.\n"
         "listen = " +
         digd::quoted(listen) +
         "\n\n"
         "# The archive of all runs.\n"
         "data_dir = " +
         digd::quoted((folder / "data").string()) +
         "\n\n"
         "# Every request needs a token of this file. `digctl token NAME --rights LIST --append FILE` adds one.\n"
         "tokens = " +
         digd::quoted((folder / "tokens.toml").string()) +
         "\n\n"
         "# Share of the shadow runs that digd heals (docs/pilot.md). 0: digd only reports.\n"
         "# enforce_share = 0.1\n";
}

std::string tokens_text(const net::new_token& token) {
  return "# The token itself is in the file `token`.\n[[token]]\nname = \"init\"\nsha256 = \"" + token.sha256 +
         "\"\nrights = [\"ingest\", \"watch\", \"read\", \"operate\"]\n";
}

// A word of ExecStart=: in quotes, with systemd's own characters doubled.
std::string unit_word(const std::string& word) {
  std::string out = "\"";
  for (const char c : word) {
    if (c == '%' || c == '$') out += c;
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string unit_text(const std::string& program, const fs::path& config) {
  return "# A systemd user unit: systemctl --user enable --now FILE\n"
         "[Unit]\nDescription=Runtime monitor for multi-agent systems of language-model agents\n\n"
         "[Service]\nType=notify\nExecStart=" +
         unit_word(program) + " --config " + unit_word(config.string()) +
         "\nExecReload=/bin/kill -HUP $MAINPID\nRestart=on-failure\n"
         "# Exit status 2 is a configuration error; a restart would not fix it.\n"
         "RestartPreventExitStatus=2\nTimeoutStartSec=10min\nWatchdogSec=30\nTimeoutStopSec=30\nUMask=0077\n\n"
         "[Install]\nWantedBy=default.target\n";
}

}  // namespace

std::string write_setup(const new_setup& wanted, std::ostream& out) {
  std::error_code ec;
  const fs::path folder = fs::absolute(wanted.folder, ec).lexically_normal();
  if (folder.string().find_first_of("\n\r") != std::string::npos) return "the folder's name has a line break";
  const fs::path config = folder / "digd.toml";
  const fs::path program = fs::read_symlink("/proc/self/exe", ec);
  const auto token = net::make_token();
  if (!token) return "the system has no random numbers";
  const std::vector<std::pair<fs::path, std::string>> files{{config, config_text(folder, wanted.listen)},
                                                            {folder / "tokens.toml", tokens_text(*token)},
                                                            {folder / "token", token->secret + '\n'},
                                                            {folder / "digd.service", unit_text(program, config)}};
  for (const auto& [path, text] : files) {
    if (fs::exists(path, ec)) return digd::quoted(path.string()) + " exists; digd init replaces no file";
  }
  const bool made = fs::create_directories(folder, ec);
  if (ec) return "cannot make the folder " + digd::quoted(folder.string()) + ": " + ec.message();
  if (made) fs::permissions(folder, fs::perms::owner_all, ec);
  for (const auto& [path, text] : files) {
    if (std::string problem = write_new(path, text); !problem.empty()) return problem;
    out << "wrote " << path.string() << '\n';
  }
  out << "\nStart digd:       digd --config " << config.string() << "\n  or as a unit:   systemctl --user enable --now "
      << (folder / "digd.service").string() << "\nList its runs:    digctl runs --to " << wanted.listen
      << " --token-file " << (folder / "token").string() << "\nAttach a client:  DIGD_URL=" << wanted.listen
      << " DIGD_TOKEN=$(cat " << (folder / "token").string() << ") python your_system.py\n";
  return {};
}

}  // namespace digd::daemon
