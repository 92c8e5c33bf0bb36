#include "daemon/fleet/restorer.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "base/json_writer.h"

namespace digd::daemon {

namespace {

constexpr std::chrono::milliseconds retry_push{1};

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

void restorer::mark(stream& to, std::vector<part>& parts) {
  for (part& at : parts) {
    const std::string text = body(at.home, "run_moved", 0);
    const std::string id =
        archive_name_ + ":moved:" + std::to_string(at.home.number) + ':' + std::to_string(at.home.epoch);
    at.done.problem = to.publish_marker({id, text}, at.done.marker);
  }
}

std::vector<restorer::result> restorer::restore(stream& from, const std::vector<run_record>& runs) {
  std::vector<part> parts;
  parts.reserve(runs.size());
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
  if (problem.empty() && !durable_()) problem = "digd stops";
  for (part& at : parts) {
    if (at.done.problem.empty()) at.done.problem = problem;
  }
  complete(from, parts);
  std::vector<result> results;
  results.reserve(parts.size());
  for (part& at : parts) results.push_back(std::move(at.done));
  return results;
}

void restorer::take(std::vector<part>& parts, const stream_message_fields& message) {
  const stream_line line = message.line();
  for (part& at : parts) {
    if (!at.done.problem.empty()) continue;
    switch (at.parts.take(line)) {
      case run_parts::use::foreign:
      case run_parts::use::repeated:
      case run_parts::use::stale: continue;
      case run_parts::use::early: at.done.problem = "entries of the run are missing in the stream"; continue;
      case run_parts::use::next: break;
    }
    archive::entry_ptr entry = entry_of(message, at.done.problem);
    if (!entry) continue;
    entry->run_number = at.home.number;
    if (!push(std::move(entry))) at.done.problem = "digd stops";
  }
}

bool restorer::push(archive::entry_ptr entry) {
  while (!producer_.try_push(entry)) {
    if (stopping_()) return false;
    std::this_thread::sleep_for(retry_push);  // the archive's queue is full
  }
  return true;
}

void restorer::complete(stream& to, std::vector<part>& parts) {
  stream_bounds has;
  const std::string problem = to.read_bounds(has);  // after the scan: what it had then, it had during the scan
  for (part& at : parts) {
    if (at.done.problem.empty()) at.done.problem = problem;
    at.done.entries = at.parts.is_deleted() ? 0 : at.parts.entries();
    if (at.done.problem.empty()) complete(to, at, has);
    if (!at.done.problem.empty() || at.done.entries == 0) remove(at.home.number);
  }
}

// Where the stream has forgotten messages since the run began, 0 entries say nothing: the files may have some.
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

void restorer::remove(std::uint64_t run_number) {
  auto deletion = std::make_unique<archive::entry>();
  deletion->kind = archive::entry_kind::run_deleted;
  deletion->run_number = run_number;
  static_cast<void>(push(std::move(deletion)));
  static_cast<void>(store_.forget(run_number));
}

}  // namespace digd::daemon
