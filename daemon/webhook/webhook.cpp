#include "daemon/webhook/webhook.h"

#include <spdlog/spdlog.h>
#include <algorithm>

#include "base/quote.h"
#include "base/unix_time.h"
#include "daemon/webhook/backoff.h"
#include "daemon/webhook/otlp_body.h"
#include "engine/holds.h"
#include "healing/callback_body.h"

namespace digd::daemon {

namespace {

constexpr std::chrono::seconds error_pause{1};  // after an error of the archive or webhooks.db

std::uint64_t rows_between(const archive::callback_position& from, const archive::callback_position& to) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, to.detection - from.detection) +
                                    std::max<std::int64_t>(0, to.intervention - from.intervention));
}

}  // namespace

webhook::webhook(boost::asio::io_context& context, archive::callback_reader& reads, webhook_store& store,
                 const hold_links& links, std::shared_ptr<const target> target, archive::callback_position position,
                 std::function<void()> wants_more)
    : context_(context),
      reads_(reads),
      store_(store),
      links_(links),
      target_(std::move(target)),
      position_(position),
      lookup_(std::make_shared<host_lookup>(context)),
      wants_more_(std::move(wants_more)),
      timer_(context.get_executor()),
      counts_(std::make_shared<webhook_counts>(target_->settings.name)) {}

archive::failure webhook::load() {
  std::vector<stored_callback> callbacks;
  archive::failure failed = store_.waiting(name(), callbacks);
  if (!failed) enqueue(std::move(callbacks));
  if (!failed && exports_spans()) {
    std::vector<archive::ended_run> known;
    const bool good = find_ended_runs(known);
    for (const archive::ended_run& run : known) {
      if (good && run.ended_ms <= position_.run_end_ms) recent_ends_.insert(run);
    }
  }
  count_dead();
  return failed;
}

void webhook::change(std::shared_ptr<const target> target) {
  target_ = std::move(target);
  send();
}

// ---- reading the archive

bool webhook::read_archive(const archive::callback_position& end) {
  counts_->unread = rows_between(position_, end);
  if (stopping_ || waiting_ >= max_waiting || counts_->unread == 0) return false;
  auto piece = reads_.after(position_);
  if (!piece) {
    log_if_failed(archive::failure::other("the archive cannot be read: " + piece.error().message()));
    return false;
  }
  std::vector<stored_callback> callbacks;
  for (const archive::callback_row& row : piece->rows) {
    bool unreadable = false;
    std::uint64_t joined = 0;
    if (matches(row, unreadable) && !joins_group(row, joined)) {
      callbacks.push_back({.run_number = row.run_number,
                           .kind = row.kind,
                           .row = row.row,
                           .rule = first_rule(row.symptoms),
                           .since_ms = row.archived_ms,
                           .joined = joined});
    }
    if (unreadable) return false;
  }
  // Store the callbacks before any is sent: after a restart, stored ones are not read from the archive again.
  if (piece->upto != position_) {
    if (archive::failure failed = store_.add_callbacks(name(), piece->upto, callbacks)) {
      log_if_failed(failed);
      return false;
    }
  }
  position_ = piece->upto;
  counts_->unread = rows_between(position_, end);
  enqueue(std::move(callbacks));
  return piece->more && waiting_ < max_waiting;
}

// Reads all ends since the position, less the overlap.
bool webhook::find_ended_runs(std::vector<archive::ended_run>& found) {
  archive::ended_run from{.ended_ms = position_.run_end_ms - end_overlap_ms, .number = 0};
  for (;;) {
    auto piece = reads_.ended_after(from);
    if (!piece) {
      log_if_failed(archive::failure::other("the archive cannot be read: " + piece.error().message()));
      return false;
    }
    if (piece->empty()) return true;
    from = piece->back();
    found.insert(found.end(), piece->begin(), piece->end());
    if (found.size() >= max_waiting + recent_ends_.size()) return true;
  }
}

bool webhook::read_ended_runs() {
  if (!exports_spans() || stopping_ || waiting_ >= max_waiting) return false;
  if (clock::now() < next_end_check_) return true;
  next_end_check_ = clock::now() + std::chrono::seconds(1);
  std::vector<archive::ended_run> found;
  if (!find_ended_runs(found)) return true;
  std::vector<stored_callback> callbacks;
  archive::callback_position upto = position_;
  std::vector<archive::ended_run> fresh;
  for (const archive::ended_run& run : found) {
    if (recent_ends_.contains(run)) continue;
    if (waiting_ + callbacks.size() >= max_waiting) break;
    fresh.push_back(run);
    upto.run_end_ms = std::max(upto.run_end_ms, std::min(run.ended_ms, unix_ms()));
    callbacks.push_back({.run_number = run.number,
                         .kind = archive::callback_kind::run,
                         .row = static_cast<std::int64_t>(run.number),
                         .rule = {},
                         .since_ms = run.ended_ms});
  }
  if (callbacks.empty()) return false;
  if (archive::failure failed = store_.add_callbacks(name(), upto, callbacks)) {
    log_if_failed(failed);
    return true;
  }
  position_ = upto;
  recent_ends_.insert(fresh.begin(), fresh.end());
  const archive::ended_run oldest{.ended_ms = position_.run_end_ms - end_overlap_ms, .number = 0};
  recent_ends_.erase(recent_ends_.begin(), recent_ends_.lower_bound(oldest));
  enqueue(std::move(callbacks));
  return false;
}

bool webhook::matches(const archive::callback_row& row, bool& unreadable) {
  const callback_filter& filter = target_->filter;
  if (!filter.matches(row)) return false;
  const auto give_up = [&](const boost::system::error_code& ec) {
    unreadable = true;
    log_if_failed(archive::failure::other("the archive cannot be read: " + ec.message()));
    return false;
  };
  if (filter.needs_run()) {
    const auto run = reads_.run_of(row.run_number);
    if (!run) return give_up(run.error());
    if (!*run || !filter.matches_run(**run)) return false;  // none: it was just deleted
  }
  if (!filter.needs_labels()) return true;
  const auto labels = reads_.labels_of(row.run_number);
  return labels ? filter.matches_labels(*labels) : give_up(labels.error());
}

bool webhook::is_for_people() const {
  return target_->settings.format == "slack" || target_->settings.format == "pagerduty";
}

bool webhook::joins_group(const archive::callback_row& row, std::uint64_t& joined) {
  if (!is_for_people() || row.has_hold) return false;
  const std::string group = std::string(to_string(row.kind)) + ' ' + first_rule(row.symptoms) + ' ' + row.agent;
  const bool joins = alerts_.joins(group, row.archived_ms, target_->settings.group_ms, joined);
  if (joins) ++counts_->joined;
  return joins;
}

// Whether no post may begin yet; then a timer continues. Each post that has to wait is counted once.
bool webhook::waits_for_rate() {
  const clock::time_point now = clock::now();
  const clock::time_point next = is_for_people() ? alerts_.next_post(now, target_->settings.rate) : now;
  if (next <= now) return waits_for_rate_ = false;
  if (!std::exchange(waits_for_rate_, true)) ++counts_->rate_waits;
  timer_.expires_at(next);
  timer_.async_wait([me = weak_from_this()](boost::system::error_code ec) {
    const auto self = me.lock();
    if (!ec && self) self->send();
  });
  return true;
}

void webhook::enqueue(std::vector<stored_callback>&& callbacks) {
  for (stored_callback& callback : callbacks) {
    const std::uint64_t run = callback.run_number;
    auto& queue = queues_[run];
    const bool is_new = queue == nullptr;
    if (is_new) queue = std::make_unique<run_queue>();
    queue->waiting.push_back(std::move(callback));
    ++waiting_;
    if (is_new) schedule(run, *queue, clock::now());
  }
  counts_->waiting = waiting_;
  if (!callbacks.empty()) send();
}

// ---- posting

void webhook::schedule(std::uint64_t run_number, run_queue& queue, clock::time_point due) {
  queue.due = due;
  due_.emplace(due, run_number);
}

void webhook::send() {
  const auto concurrency = static_cast<std::size_t>(target_->settings.concurrency);
  while (!stopping_ && in_progress_ < concurrency && !due_.empty() && due_.begin()->first <= clock::now()) {
    if (waits_for_rate()) {
      counts_->under_way = in_progress_;
      return;
    }
    const std::uint64_t run = due_.begin()->second;
    due_.erase(due_.begin());
    begin(run);
  }
  counts_->under_way = in_progress_;
  if (!stopping_ && in_progress_ < concurrency && !due_.empty()) wait_for_next();
}

void webhook::wait_for_next() {
  timer_.expires_at(due_.begin()->first);
  timer_.async_wait([me = weak_from_this()](boost::system::error_code ec) {
    const auto self = me.lock();
    if (!ec && self) self->send();
  });
}

void webhook::begin(std::uint64_t run_number) {
  run_queue& queue = *queues_.at(run_number);
  const stored_callback& head = queue.waiting.front();
  if (unix_ms() - head.since_ms > target_->settings.max_age_ms) {
    return make_dead_letter(run_number, queue,
                            "older than max_age_ms" + (last_failure_.empty() ? "" : "; " + last_failure_));
  }
  auto result = reads_.text_of(head.kind, head.row);
  if (!result) {
    log_if_failed(archive::failure::other("the archive cannot be read: " + result.error().message()));
    return schedule(run_number, queue, clock::now() + error_pause);
  }
  if (!*result) {  // the run was deleted
    log_if_failed(store_.remove_callback(head.id));
    return remove_first(run_number, queue);
  }
  post(run_number, queue, std::move(**result));
}

std::string webhook::body_of(const stored_callback& about, const archive::callback_text& callback) {
  const webhook_settings& settings = target_->settings;
  const std::string id = callback_id(store_.prefix(), about.kind, about.row);
  if (settings.format == "slack") return slack_body(about.kind, callback, settings.dashboard);
  if (settings.format == "pagerduty")
    return pagerduty_body(id, about.kind, callback, target_->secret, settings.dashboard);
  if (!exports_spans()) return generic_body(id, about.kind, callback);
  const auto labels = reads_.labels_of(about.run_number);
  if (!labels) log_if_failed(archive::failure::other("the archive cannot be read: " + labels.error().message()));
  const otlp_context context = otlp_context_of(store_.prefix(), about.run_number, callback.run,
                                               labels ? *labels : archive::callback_reader::labels{});
  return otlp_body(context, id, about.kind, callback, settings.dashboard);
}

// Every attempt makes the same link.
std::string webhook::link_of(const stored_callback& about, const archive::callback_text& callback) const {
  const auto number = callback.hold.empty() ? std::nullopt : number_in(callback.hold, "hold:");
  if (!target_->settings.hold_links || !number) return {};
  std::string base = target_->settings.dashboard;
  while (base.ends_with('/')) base.pop_back();
  return base + links_.path_of({.webhook = name(),
                                .run = callback.run,
                                .run_number = about.run_number,
                                .hold = *number,
                                .event = callback.event,
                                .expires_ms = about.since_ms + hold_links::valid_ms});
}

void webhook::post(std::uint64_t run_number, run_queue& queue, archive::callback_text&& callback) {
  const stored_callback& head = queue.waiting.front();
  callback.link = link_of(head, callback);
  callback.joined = head.joined;
  if (is_for_people()) alerts_.count_post(clock::now(), target_->settings.rate);
  std::string body = body_of(head, callback);
  if (head.attempts > 0) ++counts_->retried;
  ++in_progress_;
  queue.attempt =
      std::make_shared<post_attempt>(context_, lookup_, target_, std::move(body),
                                     [me = weak_from_this(), run_number, id = head.id](const post_result& result) {
                                       if (const auto self = me.lock()) self->finished(run_number, id, result);
                                     });
  queue.attempt->start();
}

void webhook::finished(std::uint64_t run_number, std::int64_t id, const post_result& result) {
  --in_progress_;
  const auto found = queues_.find(run_number);
  // A removed run is not in `queues_`; its attempt was cancelled and does not call this.
  if (found != queues_.end() && found->second->waiting.front().id == id) {
    run_queue& queue = *found->second;
    queue.attempt.reset();
    if (result.is_delivered()) {
      delivered(run_number, queue);
    } else {
      failed(run_number, queue, result);
    }
  }
  send();
}

void webhook::delivered(std::uint64_t run_number, run_queue& queue) {
  ++counts_->posted;
  last_posted_ms_ = unix_ms();
  std::uint64_t suppressed = 0;
  const bool is_recovery = !std::exchange(last_failure_, {}).empty();
  if (is_recovery && recovery_log_.allows(suppressed)) spdlog::info("webhook_recovered name={}", digd::quoted(name()));
  log_if_failed(store_.remove_callback(queue.waiting.front().id));
  remove_first(run_number, queue);
}

void webhook::failed(std::uint64_t run_number, run_queue& queue, const post_result& result) {
  stored_callback& head = queue.waiting.front();
  ++counts_->failed;
  ++head.attempts;
  last_failed_ms_ = unix_ms();
  last_failure_ = result.problem;
  if (head.attempts >= target_->settings.attempts || is_final(result))
    return make_dead_letter(run_number, queue, result.problem);
  log_if_failed(store_.set_attempts(head.id, head.attempts));
  log_failure(head, result.problem);
  const webhook_settings& settings = target_->settings;
  const double jitter = random_.uniform();
  std::int64_t pause = backoff_ms(head.attempts, settings.retry_ms, settings.retry_most_ms, jitter);
  // A receiver may ask for more time, up to the configured limit.
  if (result.retry_after_s) pause = std::max(pause, std::min(*result.retry_after_s * 1'000, settings.retry_most_ms));
  schedule(run_number, queue, clock::now() + std::chrono::milliseconds(pause));
}

// OTLP: a client must not retry a request that the receiver calls wrong.
bool webhook::is_final(const post_result& result) const {
  return exports_spans() && result.status >= 400 && result.status < 500 && result.status != 408 && result.status != 429;
}

void webhook::make_dead_letter(std::uint64_t run_number, run_queue& queue, const std::string& problem) {
  const stored_callback& head = queue.waiting.front();
  std::int64_t dropped = 0;
  ++counts_->died;
  std::uint64_t suppressed = 0;
  if (failure_log_.allows(suppressed)) {
    spdlog::error("webhook_dead name={} id={} attempts={} reason={} suppressed={}", digd::quoted(name()),
                  callback_id(store_.prefix(), head.kind, head.row), head.attempts, digd::quoted(problem), suppressed);
  }
  const archive::failure fault =
      store_.make_dead(name(), head, unix_ms(), problem, target_->settings.dead_letters, dropped);
  log_if_failed(fault);
  if (!fault) {
    counts_->dead_dropped += static_cast<std::uint64_t>(dropped);
    counts_->dead += static_cast<std::uint64_t>(1 - dropped);
  }
  remove_first(run_number, queue);
}

void webhook::remove_first(std::uint64_t run_number, run_queue& queue) {
  queue.waiting.pop_front();
  counts_->waiting = --waiting_;
  if (queue.waiting.empty()) {
    queues_.erase(run_number);
  } else {
    schedule(run_number, queue, clock::now());
  }
  if (counts_->unread > 0 && waiting_ == max_waiting / 2) wants_more_();
}

void webhook::remove_run(std::uint64_t run_number) {
  const auto found = queues_.find(run_number);
  if (found != queues_.end()) {
    run_queue& queue = *found->second;
    if (queue.attempt) {
      queue.attempt->cancel();
      --in_progress_;
    } else {
      due_.erase({queue.due, run_number});
    }
    waiting_ -= queue.waiting.size();
    counts_->waiting = waiting_;
    queues_.erase(found);
  }
  count_dead();
  send();
}

archive::failure webhook::revive(std::uint64_t& revived) {
  std::vector<stored_callback> callbacks;
  const std::size_t room = max_waiting - std::min(max_waiting, waiting_);
  archive::failure failed = store_.revive(name(), unix_ms(), room, callbacks);
  revived = callbacks.size();
  count_dead();
  enqueue(std::move(callbacks));
  return failed;
}

// ---- status and logs

webhook_status webhook::status() {
  const webhook_settings& s = target_->settings;
  webhook_status out{.name = s.name,
                     .shown_url = target_->where.shown(),
                     .format = s.format,
                     .send = s.send,
                     .rules = s.rules,
                     .severities = s.severities,
                     .labels = s.labels,
                     .runs = s.runs};
  out.posted = counts_->posted;
  out.failed = counts_->failed;
  out.retried = counts_->retried;
  out.died = counts_->died;
  out.dead_dropped = counts_->dead_dropped;
  out.joined = counts_->joined;
  out.rate_waits = counts_->rate_waits;
  out.waiting = waiting_;
  out.under_way = in_progress_;
  out.unread = counts_->unread;
  out.dead = counts_->dead;
  for (const auto& [run, queue] : queues_) out.retrying += queue->waiting.front().attempts > 0;
  out.last_posted_ms = last_posted_ms_;
  out.last_failed_ms = last_failed_ms_;
  out.last_failure = last_failure_;
  return out;
}

void webhook::log_failure(const stored_callback& callback, const std::string& problem) {
  std::uint64_t suppressed = 0;
  if (!failure_log_.allows(suppressed)) return;
  spdlog::warn("webhook_failed name={} id={} attempt={} reason={} suppressed={}", digd::quoted(name()),
               callback_id(store_.prefix(), callback.kind, callback.row), callback.attempts, digd::quoted(problem),
               suppressed);
}

void webhook::log_if_failed(const archive::failure& failed) {
  std::uint64_t suppressed = 0;
  if (!failed || !error_log_.allows(suppressed)) return;
  spdlog::error("webhook_storage_error name={} reason={} suppressed={}", digd::quoted(name()),
                digd::quoted(failed.words), suppressed);
}

void webhook::count_dead() {
  std::int64_t count = 0;
  const archive::failure failed = store_.dead_count(name(), count);
  log_if_failed(failed);
  if (!failed) counts_->dead = static_cast<std::uint64_t>(count);
}

// ---- stopping

void webhook::stop() {
  stopping_ = true;
  timer_.cancel();
}

void webhook::abort() {
  stop();
  for (auto& [run, queue] : queues_) {
    if (queue->attempt) queue->attempt->cancel();
  }
  in_progress_ = 0;
  lookup_->close();
}

}  // namespace digd::daemon
