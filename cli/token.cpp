// digctl token: makes a bearer token. The token goes to standard output and nowhere else; what digd keeps of it, its
// SHA-256 with name, rights and runs, goes to the tokens file.
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quote.h"
#include "cli/commands.h"
#include "cli/config_edit.h"
#include "cli/daemon_options.h"
#include "cli/files.h"
#include "net/new_token.h"

namespace digd::cli {

namespace {

struct token_options {
  std::string name, file;
  std::vector<std::string> rights, runs;
  std::uint64_t rate = 0, byte_rate = 0, max_connections = 0, max_runs = 0, max_bytes = 0;  // 0: no limit
};

std::string entry_of(const token_options& asked, const net::new_token& token) {
  std::string out = "[[token]]\nname = " + toml_text(asked.name) + "\nsha256 = \"" + token.sha256 +
                    "\"\nrights = " + toml_list(asked.rights) + '\n';
  if (!asked.runs.empty()) out += "runs = " + toml_list(asked.runs) + '\n';
  const std::pair<std::string_view, std::uint64_t> limits[] = {{"rate", asked.rate},
                                                               {"byte_rate", asked.byte_rate},
                                                               {"max_connections", asked.max_connections},
                                                               {"max_runs", asked.max_runs},
                                                               {"max_bytes", asked.max_bytes}};
  for (const auto& [name, limit] : limits) {
    if (limit > 0) out.append(name).append(" = ").append(std::to_string(limit)).append("\n");
  }
  return out;
}

bool ends_within_line(const std::string& file) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none)) return false;
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in || in.tellg() <= 0) return false;
  in.seekg(-1, std::ios::end);
  return in.get() != '\n';
}

// Returns an error sentence; empty on success.
std::string append(const std::string& file, const std::string& entry) {
  const bool needs_line_end = ends_within_line(file);
  errno = 0;
  const mode_t before = ::umask(0077);
  std::ofstream out(file, std::ios::app);
  ::umask(before);
  if (out) out << (needs_line_end ? "\n" : "") << entry << '\n' << std::flush;
  if (out) return {};
  return shown(file) + ": " + (errno != 0 ? std::strerror(errno) : "it cannot be written");
}

int make_token(const token_options& asked) {
  const std::optional<net::new_token> token = net::make_token();
  if (!token) {
    std::cerr << "digctl: the system has no random numbers\n";
    return wrong_use;
  }
  const std::string entry = entry_of(asked, *token);
  if (asked.file.empty()) {
    std::cerr << "# Put this into the file that `tokens` in digd.toml names, then reload digd:\n" << entry;
  } else if (const std::string problem = append(asked.file, entry); problem.empty()) {
    std::cerr << "added to " << digd::quoted(asked.file) << "; reload digd (SIGHUP) to let it take effect\n";
  } else {
    return complain("token", problem);
  }
  std::cout << token->secret << '\n';
  return done;
}

}  // namespace

void add_token(CLI::App& app, int& status) {
  CLI::App* sub = app.add_subcommand("token", "Makes a bearer token; digd keeps only its SHA-256");
  const auto asked = std::make_shared<token_options>();
  sub->add_option("NAME", asked->name, "the token's name in logs: 1 to 64 bytes")
      ->required()
      ->check([](const std::string& given) {
        return given.size() <= 64 && !given.empty() ? "" : "expected 1 to 64 bytes";
      });
  sub->add_option("--rights", asked->rights, "rights: ingest, watch, read, operate; several with commas")
      ->required()
      ->delimiter(',')
      ->check(CLI::IsMember({"ingest", "watch", "read", "operate"}));
  sub->add_option("--runs", asked->runs, "only runs whose id begins with this; may be repeated. Default: all runs")
      ->delimiter(',');
  sub->add_option("--rate", asked->rate, "messages a second over all its connections. Default: no limit")
      ->check(CLI::Range(1, 10'000'000));
  sub->add_option("--byte-rate", asked->byte_rate, "bytes a second over all its connections. Default: no limit")
      ->check(CLI::Range(std::int64_t{1'000}, std::int64_t{10'000'000'000}));
  sub->add_option("--max-connections", asked->max_connections,
                  "maximum number of open sessions and readers of the feed. Default: no limit")
      ->check(CLI::Range(1, 1'000'000));
  sub->add_option("--max-runs", asked->max_runs,
                  "maximum number of runs that it opened and that have not ended. Default: no limit")
      ->check(CLI::Range(1, 10'000'000));
  sub->add_option("--max-bytes", asked->max_bytes,
                  "maximum bytes in the archive of the runs that it opened. Default: no limit")
      ->check(CLI::Range(std::int64_t{1'000}, std::int64_t{1'000'000'000'000'000}));
  sub->add_option("--append", asked->file, "add the token to this file");
  sub->callback([&status, asked] { status = make_token(*asked); });
}

}  // namespace digd::cli
