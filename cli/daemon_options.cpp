#include "cli/daemon_options.h"

#include <cstdlib>
#include <iostream>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/printable.h"

namespace digd::cli {

namespace {

constexpr std::size_t max_token_bytes = 4096;

bool find_token(const daemon_options& options, std::string& token, std::string& problem) {
  if (options.token_file.empty()) {
    const char* given = std::getenv("DIGD_TOKEN");
    token = given ? given : "";
    return true;
  }
  const std::optional<std::string> text = read_file(options.token_file, max_token_bytes, problem);
  if (!text) {
    problem.insert(0, shown(options.token_file) + ": ");
    return false;
  }
  token = text->substr(0, text->find_first_of("\r\n"));
  return true;
}

}  // namespace

void add_daemon_options(CLI::App& app, daemon_options& options) {
  app.add_option("--to", options.to, "the daemon: HOST:PORT, ws://HOST:PORT, wss://HOST:PORT or unix:/PATH")
      ->envname("DIGD_URL")
      ->capture_default_str();
  app.add_option("--token-file", options.token_file,
                 "a file with the daemon's token; default: the variable DIGD_TOKEN");
  app.add_option("--ca", options.authority,
                 "with TLS: the authority of the daemon's certificate (PEM); default: the system's");
  app.add_option("--timeout", options.timeout_s, "seconds to wait for an answer or a connection")
      ->check(CLI::Range(0.01, 86'400.0))
      ->capture_default_str();
}

void add_data_dir_option(CLI::App& app, daemon_options& options) {
  app.add_option("--data-dir", options.data_dir, "read the archive in this folder of a daemon, and ask no daemon");
  add_fleet_options(app, options.fleet);
}

int complain(const std::string& command, const std::string& text) {
  std::cerr << "digctl " << command << ": " << text << '\n';
  return wrong_use;
}

std::optional<daemon_end> find_daemon(const daemon_options& options, std::string& problem) {
  std::string expected;  // set even if the address is good
  const std::optional<net::server_address> to = net::parse_address(options.to, expected);
  if (!to) {
    problem = "--to or DIGD_URL: " + expected;
    return {};
  }
  daemon_end end{.to = *to, .token = {}};
  end.to.authority = options.authority;
  if (!find_token(options, end.token, problem)) return {};
  return end;
}

std::optional<daemon_end> find_daemon(const std::string& command, const daemon_options& options) {
  std::string problem;
  std::optional<daemon_end> end = find_daemon(options, problem);
  if (!end) complain(command, problem);
  return end;
}

std::optional<daemon_client> http_to(const daemon_options& options, std::string& problem) {
  std::optional<daemon_end> end = find_daemon(options, problem);
  if (!end) return {};
  return std::make_optional<daemon_client>(std::move(*end), options.patience());
}

std::optional<daemon_client> http_to(const std::string& command, const daemon_options& options) {
  std::optional<daemon_end> end = find_daemon(command, options);
  if (!end) return {};
  return std::make_optional<daemon_client>(std::move(*end), options.patience());
}

std::string complaint_of(const daemon_client& asked, const net::http_answer& answer) {
  std::string message = printable(net::error_message(answer.body));
  if (answer.status == 401 && !asked.has_token())
    return asked.to().shown() + " requires a token; pass it with --token-file or DIGD_TOKEN";
  if (answer.status == 401 && message.empty()) return asked.to().shown() + " refuses the token";
  if (!message.empty()) return message;
  return asked.to().shown() + " answered " + std::to_string(answer.status) + "; is that digd?";
}

std::string run_path(const std::string& run, const std::string& rest) {
  return "/v1/runs/" + percent_encoded(run) + rest;
}

}  // namespace digd::cli
