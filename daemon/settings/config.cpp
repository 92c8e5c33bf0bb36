#include "daemon/settings/config.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace digd::daemon {

namespace {

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

std::size_t thread_count(const config& c) {
  if (c.threads != 0) return c.threads;
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 2);
}

std::string find_data_dir() {
  std::string given = from_environment("STATE_DIRECTORY");
  given.resize(std::min(given.size(), given.find(':')));  // systemd may give a list; digd's is the first
  if (!given.empty()) return given;
  if (const std::string state = from_environment("XDG_STATE_HOME"); !state.empty()) return state + "/digd";
  if (const std::string home = from_environment("HOME"); !home.empty()) return home + "/.local/state/digd";
  return {};
}

bool operator==(const config& a, const config& b) {
  return a.listen == b.listen && a.operator_listen == b.operator_listen && a.data_dir == b.data_dir &&
         a.threads == b.threads && a.archive == b.archive && a.hosts == b.hosts && a.origins == b.origins &&
         a.tokens == b.tokens && a.unix_users == b.unix_users && a.tls == b.tls && a.payloads == b.payloads &&
         a.verdict_deadline_ms == b.verdict_deadline_ms && a.credits == b.credits && a.runs == b.runs &&
         a.run_bytes == b.run_bytes && a.over_run_bytes == b.over_run_bytes && a.enforce_share == b.enforce_share &&
         a.overload == b.overload && a.retention == b.retention && a.log == b.log && a.connections == b.connections &&
         a.otlp == b.otlp && a.transcript_roots == b.transcript_roots && a.fleet == b.fleet &&
         a.otlp_export == b.otlp_export && a.policy.defaults == b.policy.defaults &&
         a.policy.strongest_mode == b.policy.strongest_mode && a.policy.caps == b.policy.caps && a.prices == b.prices &&
         a.webhooks == b.webhooks;
}

}  // namespace digd::daemon
