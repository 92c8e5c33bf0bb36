// digd: start-up is an ordered list of steps, each with its undo. When the daemon stops, or a later step fails, the
// steps are undone in reverse order.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/quote.h"
#include "daemon/process/failures.h"
#include "daemon/process/log.h"
#include "daemon/process/new_setup.h"
#include "daemon/process/server.h"
#include "daemon/process/service_manager.h"
#include "daemon/process/stop_limit.h"
#include "daemon/process/supervisor.h"
#include "daemon/settings/access_warnings.h"
#include "daemon/settings/address.h"
#include "daemon/settings/config.h"
#include "daemon/settings/option_files.h"
#include "daemon/settings/settings_source.h"
#include "daemon/settings/webhook_options.h"

namespace digd::daemon {
namespace {

constexpr int exit_done = 0, exit_failed = 1, exit_wrong_use = 2;
constexpr std::chrono::seconds max_close_time{5};
constexpr std::chrono::seconds max_backlog_time{5};
constexpr std::chrono::seconds max_release_time{4};  // of a fleet's homes
constexpr std::chrono::seconds max_stop_time{25};    // less than TimeoutStopSec= of systemd/digd.service

// Wrong usage or an invalid configuration; the message is for people.
struct wrong_use : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct app {
  std::optional<stop_limit> stop_within;  // set when digd is asked to stop; destroyed last
  int argc = 0;
  char** argv = nullptr;
  settings_source source;
  bool only_check = false;
  config settings;
  listen_address where;
  mode_t umask_before = 0;
  service_manager manager;
  std::unique_ptr<server> daemon;
  std::optional<caught_signals> signals;
};

enum class next_step : std::uint8_t { proceed, stop };

std::vector<std::string> warnings_about(config settings, const service_manager& manager) {
  if (manager.sockets().size() == 1) {  // digd uses the passed socket instead of `listen`
    try {
      settings.listen = to_string(name_of(manager.sockets().front()));
    } catch (const std::runtime_error&) {  // the start reports it when it listens
    }
  }
  std::vector<std::string> texts = webhook_warnings(settings);
  for (std::string& text : access_warnings(settings)) texts.push_back(std::move(text));
  return texts;
}

// ---- the steps

next_step parse_arguments(app& a) {
  CLI::App cli("digd watches multi-agent systems of language-model agents at run time and heals what goes wrong.",
               "digd");
  cli.add_option("--config", a.source.file, "configuration, TOML; config/digd.toml explains every option");
  cli.add_option("--listen", a.source.listen,
                 "the address to listen on: 127.0.0.1:7344, [::1]:7344 or unix:/path; port 0: any");
  cli.add_option("--data-dir", a.source.data_dir, "the folder of the archive");
  cli.add_flag("--check-config", a.only_check,
               "check the configuration, print the effective configuration or the errors, and exit");
  bool print_config = false, print_schema = false;
  cli.add_flag("--print-config", print_config, "print the default configuration with its explanations, and exit");
  cli.add_flag("--print-schema", print_schema, "print the JSON schema of the configuration, and exit");
  cli.set_version_flag("--version", "digd " DIGD_VERSION);
  new_setup setup;
  CLI::App* init = cli.add_subcommand("init", "Write a configuration, a token and a systemd user unit, and exit");
  init->add_option("FOLDER", setup.folder, "the folder to write them into")->required();
  init->add_option("--listen", setup.listen, "the address for the configuration")->capture_default_str();
  try {
    cli.parse(a.argc, a.argv);
  } catch (const CLI::Success& e) {
    cli.exit(e);
    return next_step::stop;
  } catch (const CLI::ParseError& e) {
    throw wrong_use(std::string(e.what()) + "\ndigd --help explains the options");
  }
  if (init->parsed()) {
    listen_address where;
    std::string problem;
    if (!parse_address(setup.listen, where, problem)) throw wrong_use("digd init: --listen: " + problem);
    if (problem = write_setup(setup, std::cout); !problem.empty()) throw wrong_use("digd init: " + problem);
    return next_step::stop;
  }
  if (print_config) std::cout << commented_config();
  if (print_schema) std::cout << config_schema();
  return print_config || print_schema ? next_step::stop : next_step::proceed;
}

next_step read_config(app& a) {
  if (const std::string wrong = read_settings(a.source, a.settings); !wrong.empty()) throw wrong_use(wrong);
  std::string problem;
  static_cast<void>(parse_address(a.settings.listen, a.where, problem));
  if (!a.only_check) return next_step::proceed;
  for (const std::string& warning : warnings_about(a.settings, a.manager)) std::cerr << "warning: " << warning << '\n';
  std::cout << effective_config(a.settings);
  std::cerr << "the configuration is fine\n";
  return next_step::stop;
}

next_step begin_log(app& a) {
  expect_signals();
  open_log(a.settings.log);
  for (const std::string& warning : warnings_about(a.settings, a.manager)) spdlog::warn("{}", warning);
  return next_step::proceed;
}
void end_log(app&) { close_log(); }

// Files of digd that other users can read: written by an older digd, or restored from a backup.
void close_to_others(const std::string& dir) {
  std::error_code ec;
  for (const auto& file : std::filesystem::directory_iterator(dir, ec)) {
    const std::string name = file.path().filename();
    const bool is_own = name.starts_with("digd.sqlite") || name.find(".db") != name.npos || name.ends_with(".key");
    struct stat found {};
    if (!is_own || ::lstat(file.path().c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
    if ((found.st_mode & 077) == 0) continue;
    if (::chmod(file.path().c_str(), 0600) == 0) {
      spdlog::warn("made_private file={}: other users could read it", digd::quoted(file.path().string()));
    } else {
      spdlog::warn("not_private file={}: other users can read it", digd::quoted(file.path().string()));
    }
  }
}

next_step make_data_dir(app& a) {
  a.umask_before = ::umask(077);  // what digd writes is for its owner only, also in a folder that others can read
  std::string& dir = a.settings.data_dir;
  if (dir.empty()) dir = find_data_dir();
  if (dir.empty()) throw wrong_use("no data directory: give --data-dir, or set HOME or STATE_DIRECTORY");
  std::error_code ec;
  const bool made = std::filesystem::create_directories(dir, ec);
  if (ec) throw cannot_use("cannot make the data directory " + digd::quoted(dir) + ": " + ec.message());
  if (made) std::filesystem::permissions(dir, std::filesystem::perms::owner_all, ec);
  const std::string probe = dir + "/.digd-probe";
  std::filesystem::remove(probe, ec);  // of a digd that was killed
  // Exclusively: a link that another user placed there is not followed.
  const int file = ::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) throw cannot_use("the data directory " + digd::quoted(dir) + " is not writable");
  ::close(file);
  std::filesystem::remove(probe, ec);
  close_to_others(dir);
  return next_step::proceed;
}

// A file for each connection, and some for digd. Shells often allow 1,024, fewer than `connections.max` needs.
void raise_file_limit(const config& settings) {
  constexpr rlim_t own_files = 128, files_a_thread = 4;
  const rlim_t wanted = settings.connections.max + own_files + files_a_thread * (settings.threads + 8);
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur >= wanted) return;
  const rlimit more{std::min(wanted, now.rlim_max), now.rlim_max};
  const rlim_t allowed = ::setrlimit(RLIMIT_NOFILE, &more) == 0 ? more.rlim_cur : now.rlim_cur;
  if (allowed >= wanted) return;
  spdlog::warn("few_files: {} may be open, {} connections need {}; raise it with ulimit -n or LimitNOFILE", allowed,
               settings.connections.max, wanted);
}

next_step allow_files(app& a) {
  raise_file_limit(a.settings);
  return next_step::proceed;
}

next_step make_server(app& a) {
  a.daemon = std::make_unique<server>(a.settings);
  return next_step::proceed;
}
void unmake_server(app& a) { a.daemon.reset(); }

next_step open_archive(app& a) {
  if (a.settings.fleet.is_view()) {
    a.daemon->open_view(a.settings.data_dir);
  } else if (a.settings.archive) {
    a.daemon->open_archive(a.settings.data_dir);
  } else {
    spdlog::warn("archive_off: nothing is durable; digd acknowledges every message at once");
  }
  return next_step::proceed;
}
void close_archive(app& a) { a.daemon->close_archive(); }

next_step make_threads(app& a) {
  a.daemon->make_threads();
  return next_step::proceed;
}

next_step recover(app& a) {
  a.daemon->recover();
  return next_step::proceed;
}

next_step listen(app& a) {
  const std::vector<int>& handed_over = a.manager.sockets();
  if (handed_over.size() > 1) throw cannot_use("systemd must pass one socket, not several");
  if (handed_over.empty()) {
    a.daemon->listen(a.where);
  } else {
    a.daemon->adopt(handed_over.front());
  }
  return next_step::proceed;
}

next_step catch_signals(app& a) {
  a.signals.emplace();
  return next_step::proceed;
}

std::string address_file(const app& a) { return a.settings.data_dir + "/digd.address"; }

next_step start(app& a) {
  a.daemon->start();
  return next_step::proceed;
}
void end_threads(app& a) {
  a.daemon->stop_listening();
  if (!a.daemon->close_connections(max_close_time)) spdlog::warn("stop: some clients did not close in time");
  a.daemon->stop_threads(max_backlog_time);
  a.daemon->release_homes(max_release_time);
}

// Written by renaming, so that a program waiting for the file never reads half an address.
next_step write_address(app& a) {
  const std::string bound = to_string(a.daemon->bound());
  const std::string draft = address_file(a) + ".new";
  if (!(std::ofstream(draft) << bound << '\n' << std::flush))
    throw std::runtime_error("cannot write " + digd::quoted(draft));
  ::chmod(draft.c_str(), 0666 & ~a.umask_before);  // not a secret: any user with access to the folder may find digd
  std::filesystem::rename(draft, address_file(a));
  spdlog::info("listening address={} data_dir={}", digd::quoted(bound), digd::quoted(a.settings.data_dir));
  return next_step::proceed;
}
void remove_address(app& a) {
  std::error_code ignored;
  std::filesystem::remove(address_file(a), ignored);
}

// On SIGHUP. An invalid configuration changes nothing.
void reload(app& a) {
  a.manager.reloading();
  config read;
  if (const std::string wrong = read_settings(a.source, read); !wrong.empty()) {
    spdlog::error("reload_refused reason={}", digd::quoted(wrong));
    return a.manager.ready("the new configuration was refused: " + wrong);
  }
  // Tokens, secrets and certificates are read from files, which may be invalid.
  std::string wrong = a.daemon->check_access(read);
  if (wrong.empty()) wrong = a.daemon->change_webhooks(read);
  if (wrong.empty()) wrong = a.daemon->change_access(read);
  if (!wrong.empty()) {
    spdlog::error("reload_refused reason={}", digd::quoted(wrong));
    return a.manager.ready("the new configuration was refused: " + wrong);
  }
  reload_plan plan = plan_reload(a.settings, read);
  for (const std::string& change : plan.changed) spdlog::info("reload {}", change);
  for (const std::string& name : plan.need_a_restart) spdlog::warn("reload needs_a_restart option={}", name);
  a.settings = std::move(plan.next);
  for (const std::string& warning : warnings_about(a.settings, a.manager)) spdlog::warn("{}", warning);
  set_log_level(a.settings.log);
  raise_file_limit(a.settings);
  a.daemon->change_settings(a.settings);
  spdlog::info("reloaded changed={} need_a_restart={}", plan.changed.size(), plan.need_a_restart.size());
  a.manager.ready(a.daemon->status());
}

next_step wait_for_signal(app& a) {
  a.manager.ready(a.daemon->status());
  supervise(a.manager, heartbeat(a.daemon->loops()),
            {.reload = [&a] { reload(a); }, .status = [&a] { return a.daemon->status(); }}, *a.signals);
  a.stop_within.emplace(max_stop_time, exit_failed);
  a.signals.reset();  // the next signal ends the process at once
  return next_step::proceed;
}

struct step {
  const char* name;
  next_step (*run)(app&);
  void (*undo)(app&);  // null: nothing to undo
};

constexpr step steps[] = {
    {"arguments", parse_arguments, nullptr},
    {"config", read_config, nullptr},
    {"log", begin_log, end_log},
    {"data directory", make_data_dir, nullptr},
    {"files", allow_files, nullptr},
    {"server", make_server, unmake_server},
    {"archive", open_archive, close_archive},
    {"threads", make_threads, nullptr},
    {"recovery", recover, nullptr},
    {"signals", catch_signals, nullptr},
    {"listen", listen, nullptr},
    {"start", start, end_threads},
    {"address", write_address, remove_address},
    {"run", wait_for_signal, nullptr},
};

int run(app& a) {
  std::vector<const step*> taken;
  int result = exit_done;
  for (const step& step : steps) {
    try {
      const next_step next = step.run(a);
      taken.push_back(&step);
      if (next == next_step::stop) break;
    } catch (const wrong_use& e) {
      std::cerr << e.what() << '\n';
      result = exit_wrong_use;
      break;
    } catch (const cannot_use& e) {
      std::cerr << "digd: " << step.name << ": " << e.what() << '\n';
      result = exit_wrong_use;
      break;
    } catch (const std::exception& e) {
      std::cerr << "digd: " << step.name << ": " << e.what() << '\n';
      result = exit_failed;
      break;
    }
  }
  for (auto at = taken.rbegin(); at != taken.rend(); ++at) {
    if ((*at)->undo != nullptr) (*at)->undo(a);
  }
  return result;
}

}  // namespace
}  // namespace digd::daemon

int main(int argc, char** argv) {
  digd::daemon::app a{.argc = argc, .argv = argv};
  return digd::daemon::run(a);
}
