// How a webhook reads the archive: new rows, and the ends of runs.
#include <spdlog/spdlog.h>
#include <algorithm>
#include <utility>

#include "base/quote.h"
#include "daemon/webhook/webhook.h"

namespace digd::daemon {

namespace {

constexpr std::chrono::seconds end_check_pause{1};

std::uint64_t rows_between(const archive::callback_position& from, const archive::callback_position& to) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, to.detection - from.detection) +
                                    std::max<std::int64_t>(0, to.intervention - from.intervention));
}

}  // namespace

archive::failure webhook::load_ended_runs() {
  std::vector<std::uint64_t> awaited;
  archive::failure failed = store_.awaited_runs(name(), awaited);
  if (failed) return failed;
  std::optional<std::int64_t> known_ms;
  if (position_.run < -1) known_ms = -1 - position_.run;
  const auto found = position_.run < 0
                         ? ended_runs::begin(reads_, known_ms)
                         : ended_runs::restore(reads_, static_cast<std::uint64_t>(position_.run), awaited);
  if (!found) return archive::failure::other("the archive cannot be read: " + found.error().message());
  ends_.take(*found);
  position_.run = static_cast<std::int64_t>(found->upto);
  return store_.move(name(), position_, found->runs);
}

bool webhook::read_archive(const archive::callback_position& end) {
  counts_->unread = rows_between(position_, end);
  if (stopping_ || counts_->unread == 0 || !has_room()) return false;
  delete_stored();
  auto piece = reads_.after(position_);
  if (!piece) {
    log_unreadable(piece.error());
    return false;
  }
  std::vector<stored_callback> callbacks;
  std::optional<alert_limits> changed;  // replaces `alerts_` once the callbacks are stored
  std::uint64_t left_out = 0;
  for (const archive::callback_row& row : piece->rows) {
    boost::system::error_code ec;
    std::uint64_t joined = 0;
    const bool is_wanted = matches(row, ec);
    if (ec) {
      log_unreadable(ec);
      return false;
    }
    if (!is_wanted) continue;
    if (joins_group(row, changed, joined)) {
      ++left_out;
      continue;
    }
    callbacks.push_back({.run_number = row.run_number,
                         .kind = row.kind,
                         .row = row.row,
                         .rule = first_rule(row.symptoms),
                         .since_ms = row.archived_ms,
                         .joined = joined});
  }
  // Store the callbacks before any is sent: after a restart, stored ones are not read from the archive again.
  if (piece->upto != position_) {
    if (archive::failure failed = store_.add_callbacks(name(), piece->upto, callbacks)) {
      log_if_failed(failed);
      return false;
    }
  }
  position_ = piece->upto;
  if (changed) alerts_ = std::move(*changed);
  counts_->joined += left_out;
  counts_->unread = rows_between(position_, end);
  enqueue(std::move(callbacks));
  return piece->more && has_room();
}

bool webhook::read_ended_runs() {
  if (!exports_spans() || stopping_) return false;
  if (clock::now() < next_end_check_) return true;
  next_end_check_ = clock::now() + end_check_pause;
  if (!has_room()) return true;
  const auto found = ends_.find(reads_, max_waiting - waiting_);
  if (!found) {
    log_unreadable(found.error());
    return true;
  }
  if (found->is_empty(ends_.upto())) return found->more;
  std::vector<stored_callback> callbacks;
  for (const archive::ended_run& run : found->ended) {
    callbacks.push_back({.run_number = run.number,
                         .kind = archive::callback_kind::run,
                         .row = static_cast<std::int64_t>(run.number),
                         .rule = {},
                         .since_ms = run.ended_ms});
  }
  archive::callback_position upto = position_;
  upto.run = static_cast<std::int64_t>(found->upto);
  if (archive::failure failed = store_.add_callbacks(name(), upto, callbacks, found->runs)) {
    log_if_failed(failed);
    return true;
  }
  position_ = upto;
  ends_.take(*found);
  enqueue(std::move(callbacks));
  return found->more;
}

bool webhook::matches(const archive::callback_row& row, boost::system::error_code& ec) {
  const callback_filter& filter = target_->filter;
  if (!filter.matches(row)) return false;
  if (filter.needs_run()) {
    const auto run = reads_.run_of(row.run_number);
    if (!run) ec = run.error();
    if (!run || !*run || !filter.matches_run(**run)) return false;  // none: it was just deleted
  }
  if (!filter.needs_labels()) return true;
  const auto labels = reads_.labels_of(row.run_number);
  if (!labels) ec = labels.error();
  return labels && filter.matches_labels(*labels);
}

bool webhook::joins_group(const archive::callback_row& row, std::optional<alert_limits>& changed,
                          std::uint64_t& joined) const {
  if (!is_for_people() || row.has_hold) return false;
  const std::string group = std::string(to_string(row.kind)) + ' ' + first_rule(row.symptoms) + ' ' + row.agent;
  if (!changed) changed = alerts_;
  return changed->joins(group, row.archived_ms, target_->settings.group_ms, joined);
}

// False from `max_waiting` callbacks until half of them are done.
bool webhook::has_room() {
  if (waiting_ >= max_waiting && !is_full_) {
    is_full_ = true;
    spdlog::warn("webhook_full name={} waiting={}: digd continues to read the archive when half of them are done",
                 digd::quoted(name()), waiting_);
  }
  return !is_full_;
}

}  // namespace digd::daemon
