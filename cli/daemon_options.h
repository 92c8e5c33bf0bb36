// The options of commands that talk to a daemon or read its archive.
//
// Thread: one; calls block. Failure: a `problem` in words, or a message on standard error. Bounds: those of
// net/http_client.h.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "cli/fleet_options.h"
#include "net/client.h"
#include "net/http_client.h"

namespace digd::cli {

struct daemon_options {
  std::string to = "127.0.0.1:7344";
  std::string token_file;
  std::string authority;
  std::string data_dir;  // of commands that can do without a daemon; empty: ask one
  fleet_options fleet;   // likewise
  double timeout_s = 30;

  std::chrono::milliseconds patience() const {
    return std::chrono::milliseconds(static_cast<std::int64_t>(timeout_s * 1000));
  }
};

void add_daemon_options(CLI::App& app, daemon_options& options);
void add_data_dir_option(CLI::App& app, daemon_options& options);

struct daemon_end {
  net::server_address to;
  std::string token;
};

// nullopt, with `problem` set: the address or the token file is unusable. The token comes from --token-file, else from
// DIGD_TOKEN.
std::optional<daemon_end> find_daemon(const daemon_options& options, std::string& problem);
// nullopt, after a message on standard error.
std::optional<daemon_end> find_daemon(const std::string& command, const daemon_options& options);

// A client for HTTP that knows whether it sends a token.
class daemon_client : public net::http_client {
 public:
  daemon_client(daemon_end end, std::chrono::milliseconds patience)
      : net::http_client(std::move(end.to), end.token, patience), has_token_(!end.token.empty()) {}
  bool has_token() const { return has_token_; }

 private:
  const bool has_token_;
};

// As `find_daemon`.
std::optional<daemon_client> http_to(const daemon_options& options, std::string& problem);
std::optional<daemon_client> http_to(const std::string& command, const daemon_options& options);

// The error of an answer, as a sentence.
std::string complaint_of(const daemon_client& asked, const net::http_answer& answer);

// Prints the error to standard error; returns the exit status for it.
int complain(const std::string& command, const std::string& text);

// "/v1/runs/RUN" and the rest of the path.
std::string run_path(const std::string& run, const std::string& rest = {});

}  // namespace digd::cli
