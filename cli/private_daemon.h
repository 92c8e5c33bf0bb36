// A digd that digctl starts for itself, in a private temporary folder that is removed at the end; and the signals that
// end it.
//
// Thread: one; calls block. Failure: sentences for people. Bounds: `max_start_time` until the daemon listens.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/child_process.h"

namespace digd::cli {

// Blocks SIGINT and SIGTERM, so that Ctrl-C ends the work in order.
class stop_signals {
 public:
  static constexpr std::chrono::milliseconds poll_time{50};

  stop_signals();
  ~stop_signals();
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;

  // Waits at most `poll_time`. True: one arrived, now or before.
  bool arrived();

 private:
  sigset_t set_{}, before_{};
  bool arrived_ = false;
};

class private_daemon {
 public:
  static constexpr std::chrono::seconds max_start_time{60};

  // `name`: a part of the folder's name.
  explicit private_daemon(const std::string& name);
  ~private_daemon();
  private_daemon(const private_daemon&) = delete;
  private_daemon& operator=(const private_daemon&) = delete;

  struct settings {
    std::string listen;
    std::string config = {};                                          // a file; empty: none
    std::vector<std::pair<std::string, std::string>> variables = {};  // added to the environment
  };
  // Returns when the daemon listens, after a problem, or after a signal. Returns an error sentence; empty: the daemon
  // listens. After a signal the sentence means nothing.
  std::string start(const settings& with, stop_signals& signals);
  // Why the daemon has ended; empty: it runs.
  std::string problem();

  const std::filesystem::path& folder() const { return folder_; }
  const std::string& address() const { return address_; }
  std::string url() const { return "http://" + address_ + "/"; }

 private:
  std::string last_log() const;

  std::filesystem::path folder_;
  child_process process_;
  std::string program_, address_;
};

// Opens the page with the desktop's browser. Without a desktop, asks the reader on standard error to open it.
void open_page(const std::string& url);

}  // namespace digd::cli
