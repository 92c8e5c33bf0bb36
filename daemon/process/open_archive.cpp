#include "daemon/process/open_archive.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "archive/salvage.h"
#include "base/quote.h"
#include "daemon/process/failures.h"
#include "daemon/settings/config.h"

namespace digd::daemon {

namespace {

// Returns the number of runs lost.
std::uint64_t set_damage_aside(const std::string& path, const std::string& damage) {
  std::string problem;
  const auto done = archive::set_damage_aside(path, {}, &problem);
  if (!done)
    throw std::runtime_error("the archive is damaged (" + damage + "), and could not be set aside: " + problem);
  spdlog::error(
      "archive_damaged reason={} set_aside={} runs_kept={} runs_cut={} entries_kept={} runs_lost={} readable={}",
      digd::quoted(damage), digd::quoted(done->aside), done->runs_kept, done->runs_cut, done->entries_kept,
      done->runs_lost, done->was_readable);
  return done->runs_lost;
}

archive::options options_for(const std::string& data_dir, std::uint64_t credits) {
  archive::options options;
  options.path = archive_file(data_dir);
  options.max_producers = config::max_threads + 1;  // one more restores the runs of a fleet
  options.look_for_damage_ms = 1'000;
  // A session that has used up its credits must not wait for other sessions to fill the batch.
  options.gather_entries = std::clamp<std::size_t>(credits / 4, 1, options.gather_entries);
  options.on_health = [](const std::string& problem) {
    if (problem.empty()) {
      spdlog::info("archive_recovered");
    } else {
      spdlog::error("archive_failing {}", problem);
    }
  };
  options.on_migration = [](int from, int to) {
    spdlog::warn("archive_migrating from={} to={}: this reads every run once and may take a while", from, to);
  };
  return options;
}

}  // namespace

std::string archive_file(const std::string& data_dir) { return data_dir + "/digd.sqlite"; }

opened_archive open_archive(const std::string& data_dir, std::uint64_t credits,
                            const std::function<void(std::span<const archive::durable>)>& on_durable) {
  using archive::archive_error;
  const archive::options options = options_for(data_dir, credits);
  opened_archive result;
  std::string problem;
  auto opened = archive::archive::open(options, on_durable, &problem);
  if (!opened && opened.error() == archive::make_error_code(archive_error::corrupt)) {
    result.runs_lost_to_damage = set_damage_aside(options.path, problem);
    opened = archive::archive::open(options, on_durable, &problem);
  }
  if (opened) {
    result.archive = std::move(*opened);
    return result;
  }
  const std::string message = "cannot open the archive in " + digd::quoted(data_dir) + ": " + problem;
  const auto is = [&](archive_error e) { return opened.error() == archive::make_error_code(e); };
  if (is(archive_error::io) || is(archive_error::corrupt)) throw std::runtime_error(message);
  throw cannot_use(message);
}

}  // namespace digd::daemon
