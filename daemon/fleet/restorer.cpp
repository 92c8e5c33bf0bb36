#include "daemon/fleet/restorer.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "base/json_writer.h"

namespace digd::daemon {

namespace {

constexpr const char* missing_entries = "entries of the run are missing in the stream";

}  // namespace

std::string restorer::body(const run_record& run, std::string_view kind, std::uint64_t entries) const {
  std::string out;
  json_writer to(out);
  to.open_object().key("format").integer(1).key("kind").text(kind).key("run").text(run.run);
  to.key("run_number").integer(run.number).key("epoch").integer(run.epoch);
  to.key("origin_archive").text(run.origin_archive).key("origin_run_number").integer(run.origin_number);
  if (kind == "run_restored") to.key("entries").integer(entries);
  to.close_object();
  return out;
}

void restorer::mark(stream& to, std::deque<part>& parts) {
  for (part& at : parts) {
    const std::string text = body(at.home, "run_moved", 0);
    const std::string id =
        archive_name_ + ":moved:" + std::to_string(at.home.number) + ':' + std::to_string(at.home.epoch);
    at.done.problem = to.publish_marker({id, text}, at.done.marker);
  }
}

std::vector<restorer::result> restorer::restore(stream& from, const std::vector<run_record>& runs) {
  std::deque<part> parts;
  std::vector<adopted_run> adopted;
  for (const run_record& run : runs) {
    parts.push_back({run, run_parts(run.run, run.origin_archive, run.origin_number), {}});
    adopted.push_back({.number = run.number,
                       .epoch = run.epoch,
                       .origin_archive = run.origin_archive,
                       .origin_number = run.origin_number});
  }
  std::string problem;
  if (archive::failure failed = store_.begin_adoption(adopted)) problem = "homes.db: " + failed.words;
  if (problem.empty()) mark(from, parts);
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max(), last = 0;
  for (const part& at : parts) {
    if (!at.done.problem.empty()) continue;
    first = std::min(first, at.home.start);
    last = std::max(last, at.done.marker);
  }
  if (problem.empty() && last > 0) {
    problem = from.scan(first, last, [&](std::string_view id, std::string_view text) {
      if (const auto message = read_stream_message(id, text)) take(parts, *message);
      return !stopping_();
    });
  }
  if (problem.empty()) problem = durable_();
  for (part& at : parts) {
    if (at.done.problem.empty()) at.done.problem = problem;
  }
  complete(from, parts);
  std::vector<result> results;
  results.reserve(parts.size());
  for (part& at : parts) results.push_back(std::move(at.done));
  return results;
}

void restorer::take(std::deque<part>& parts, const stream_message_fields& message) {
  const stream_line line = message.line();
  for (part& at : parts) {
    if (at.done.problem.empty()) take(at, message, line);
  }
}

void restorer::take(part& at, const stream_message_fields& message, const stream_line& line) {
  const std::uint64_t epoch = at.parts.epoch();
  const run_parts::use use = at.parts.take(line);
  if (at.parts.epoch() != epoch) end_epoch(at);
  if (use != run_parts::use::next && use != run_parts::use::early) return;
  if (use == run_parts::use::early && at.early.size() >= max_early) {
    at.done.problem = missing_entries;
    return;
  }
  archive::entry_ptr entry = entry_of(message, at.done.problem);
  if (!entry) return;
  if (use == run_parts::use::early) {
    at.early.try_emplace(line.n, std::move(entry));
    return;
  }
  at.done.problem = keep(at, std::move(entry));
  while (at.done.problem.empty() && at.early.contains(at.parts.entries() + 1)) {
    at.parts.take_early();
    at.done.problem = keep(at, std::move(at.early.extract(at.parts.entries()).mapped()));
  }
}

// The stream drops its oldest messages first. So at a gap after the first entry, the earlier home never published the
// missing entries, and no client got an ack for those after the gap.
void restorer::end_epoch(part& at) {
  if (at.parts.entries() == 0 && !at.early.empty()) at.done.problem = missing_entries;
  at.early.clear();
}

std::string restorer::keep(part& at, archive::entry_ptr entry) {
  entry->run_number = at.home.number;
  return push(std::move(entry)) ? std::string() : "digd stops";
}

bool restorer::push(archive::entry_ptr entry) {
  while (!producer_.try_push(entry)) {
    if (stopping_()) return false;
    std::this_thread::sleep_for(retry_push);  // the archive's queue is full
  }
  return true;
}

void restorer::complete(stream& to, std::deque<part>& parts) {
  stream_bounds has;
  // Read after the scan: what the stream has now, it also had during the scan.
  const std::string problem = to.read_bounds(has);
  for (part& at : parts) {
    if (at.done.problem.empty()) at.done.problem = problem;
    at.done.entries = at.parts.is_deleted() ? 0 : at.parts.entries();
    if (at.done.problem.empty()) complete(to, at, has);
  }
}

// If the stream has dropped messages since the run began, 0 entries prove nothing: the Parquet files may have some.
void restorer::complete(stream& to, part& at, const stream_bounds& has) {
  const bool had_none = !at.parts.is_deleted() && has.first <= at.home.start + 1;
  if (at.done.entries == 0 && !had_none) return;
  std::uint64_t sequence = 0;
  const std::string text = body(at.home, "run_restored", at.done.entries);
  const std::string id =
      archive_name_ + ":restored:" + std::to_string(at.home.number) + ':' + std::to_string(at.home.epoch);
  at.done.problem = to.publish_marker({id, text}, sequence);
  if (!at.done.problem.empty() || at.done.entries == 0) return;
  if (archive::failure failed = store_.complete_adoption(at.home.number, at.done.entries)) {
    at.done.problem = "homes.db: " + failed.words;
  }
}

// Forgets an adoption only once the deletion is durable. Otherwise a restart would take the rest of the run for a run
// of this daemon.
std::string restorer::remove_incomplete() {
  const std::vector<std::uint64_t> numbers = store_.incomplete();
  if (numbers.empty()) return {};
  for (const std::uint64_t number : numbers) {
    auto deletion = std::make_unique<archive::entry>();
    deletion->kind = archive::entry_kind::run_deleted;
    deletion->run_number = number;
    if (!push(std::move(deletion))) return "digd stops";
  }
  if (std::string problem = durable_(); !problem.empty()) return problem;
  for (const std::uint64_t number : numbers) {
    if (archive::failure failed = store_.forget(number)) return "homes.db: " + failed.words;
  }
  return {};
}

}  // namespace digd::daemon
