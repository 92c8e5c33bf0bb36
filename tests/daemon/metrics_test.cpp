// /metrics counts refusals, its gauges never wrap around, and it never reads the disk.
#include <catch2/catch.hpp>
#include <string>

#include "daemon/api/health.h"
#include "daemon/metrics/metrics.h"
#include "daemon/runs/overload.h"
#include "tests/archive/support.h"
#include "tests/daemon/offline_daemon.h"

namespace digd::daemon {

namespace {

std::string sample_of(const std::string& text, const std::string& name) {
  const std::size_t at = text.find('\n' + name + ' ');
  if (at == std::string::npos) return "missing";
  const std::size_t begin = at + name.size() + 2;
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

TEST_CASE("gauges_stay_at_zero_if_more_ended_than_began", "[metrics]") {
  thread_counts counts;  // as a scrape may see them: a session ended after its opening was read
  counts.sessions_closed.add();
  counts.runs_unloaded.add(2);
  const thread_counts* threads[] = {&counts};
  const std::string text = metrics_text(threads, {});
  CHECK(sample_of(text, "digd_sessions") == "0");
  CHECK(sample_of(text, "digd_runs_in_memory") == "0");
}

TEST_CASE("reads_that_the_pool_refused_are_counted_as_a_limit", "[metrics]") {
  const std::string text = metrics_text({}, {.reads_refused = 3});
  CHECK(sample_of(text, "digd_limits_hit_total{limit=\"archive_reads\"}") == "3");
}

TEST_CASE("a_scrape_shows_the_archive_sizes_of_the_last_check", "[metrics]") {
  const archive::testing::temporary_folder folder;
  archive::options options;
  options.path = folder.file();
  offline_daemon daemon(std::move(*archive::archive::open(options, {})));
  CHECK(sample_of(metrics(daemon.services.metrics).body(), "digd_archive_file_bytes") == "0");
  overload manager(daemon.engine.live, folder.file(), daemon.engine.threads, daemon.without_tokens,
                   daemon.engine.overload, daemon.memory);
  manager.check();
  CHECK(sample_of(metrics(daemon.services.metrics).body(), "digd_archive_file_bytes") != "0");
}

TEST_CASE("runs_recovering_stay_at_zero_if_more_were_recovered_than_found", "[metrics]") {
  offline_daemon daemon;
  daemon.engine.counts.recovery.done = 1;
  CHECK(sample_of(metrics(daemon.services.metrics).body(), "digd_runs_recovering") == "0");
}

TEST_CASE("refusals_at_the_operators_address_count_too", "[metrics]") {
  offline_daemon daemon;
  daemon.connections.tls_refused = 1;
  daemon.operator_connections.tls_refused = 2;
  daemon.operator_connections.peers_refused = 3;
  const std::string text = metrics(daemon.services.metrics).body();
  CHECK(sample_of(text, "digd_tls_refused_total") == "3");
  CHECK(sample_of(text, "digd_strangers_refused_total") == "3");
}

}  // namespace digd::daemon
