#include "cli/daemon_options.h"

#include <cstdlib>
#include <iostream>

#include "cli/commands.h"
#include "cli/files.h"
#include "cli/printable.h"

namespace digd::cli {

namespace {

constexpr std::size_t most_token_bytes = 4096;

bool find_token(const std::string& command, const daemon_options& how, std::string& token) {
  if (how.token_file.empty()) {
    const char* given = std::getenv("DIGD_TOKEN");
    token = given ? given : "";
    return true;
  }
  std::string why;
  const std::optional<std::string> text = read_file(how.token_file, most_token_bytes, why);
  if (!text) {
    complain(command, shown(how.token_file) + ": " + why);
    return false;
  }
  token = text->substr(0, text->find_first_of("\r\n"));
  return true;
}

}  // namespace

void add_daemon_options(CLI::App& app, daemon_options& how) {
  app.add_option("--to", how.to, "the daemon: HOST:PORT, ws://HOST:PORT, wss://HOST:PORT or unix:/PATH")
      ->envname("DIGD_URL")
      ->capture_default_str();
  app.add_option("--token-file", how.token_file, "a file with the daemon's token; else the environment's DIGD_TOKEN");
  app.add_option("--ca", how.authority, "with TLS: who signs the daemon's certificate, PEM; else whom the system trusts");
  app.add_option("--timeout", how.timeout_s, "seconds to wait for an answer or a connection")
      ->check(CLI::Range(0.01, 86'400.0))
      ->capture_default_str();
}

void add_data_dir_option(CLI::App& app, daemon_options& how) {
  app.add_option("--data-dir", how.data_dir, "read the archive in this folder of a daemon's, and ask no daemon");
}

int complain(const std::string& command, const std::string& what) {
  std::cerr << "digctl " << command << ": " << what << '\n';
  return wrong_use;
}

std::optional<daemon_end> find_daemon(const std::string& command, const daemon_options& how) {
  std::string why;
  const std::optional<ingest::server_address> to = ingest::parse_address(how.to, why);
  if (!to) {
    complain(command, "--to or DIGD_URL: " + why);
    return {};
  }
  daemon_end end{.to = *to, .token = {}};
  end.to.authority = how.authority;
  if (!find_token(command, how, end.token)) return {};
  return end;
}

std::optional<ingest::http_client> http_to(const std::string& command, const daemon_options& how) {
  std::optional<daemon_end> end = find_daemon(command, how);
  if (!end) return {};
  return ingest::http_client(std::move(end->to), std::move(end->token), how.patience());
}

std::string complaint_of(const ingest::http_client& asked, const ingest::http_answer& answer) {
  const std::string said = printable(ingest::error_message(answer.body));
  if (answer.status == 401) return asked.to().shown() + " wants a token; give it with --token-file or DIGD_TOKEN";
  if (!said.empty()) return said;
  return asked.to().shown() + " answered " + std::to_string(answer.status) + "; is that digd?";
}

std::string run_path(const std::string& run, const std::string& rest) {
  return "/v1/runs/" + ingest::percent_encoded(run) + rest;
}

}  // namespace digd::cli
