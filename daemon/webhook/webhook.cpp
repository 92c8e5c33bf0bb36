#include "daemon/webhook/webhook.h"

#include <algorithm>
#include <spdlog/spdlog.h>

#include "base/quote.h"
#include "base/unix_time.h"
#include "daemon/webhook/backoff.h"
#include "daemon/webhook/callback_body.h"

namespace digd::daemon {

namespace {

constexpr std::chrono::seconds after_trouble{1};  // the archive or webhooks.db cannot be read or written

std::uint64_t rows_between(const archive::callback_position& from, const archive::callback_position& to) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, to.detection - from.detection) +
                                    std::max<std::int64_t>(0, to.intervention - from.intervention));
}

}  // namespace

webhook::webhook(boost::asio::io_context& on, archive::callback_reader& reads, webhook_store& store,
                 std::shared_ptr<const target> to, archive::callback_position at, std::function<void()> wants_more)
    : context_(on),
      reads_(reads),
      store_(store),
      to_(std::move(to)),
      at_(at),
      names_(std::make_shared<host_lookup>(on)),
      wants_more_(std::move(wants_more)),
      timer_(on.get_executor()),
      counts_(std::make_shared<webhook_counts>(to_->settings.name)) {}

archive::failure webhook::load() {
  std::vector<stored_callback> callbacks;
  archive::failure why = store_.waiting(name(), callbacks);
  if (!why) enqueue(std::move(callbacks));
  count_dead();
  return why;
}

void webhook::change(std::shared_ptr<const target> to) {
  to_ = std::move(to);
  send();
}

// ---- from the archive

bool webhook::read_on(const archive::callback_position& end) {
  counts_->unread = rows_between(at_, end);
  if (stopping_ || waiting_ >= most_waiting || counts_->unread == 0) return false;
  auto piece = reads_.after(at_);
  if (!piece) {
    check(archive::failure::other("the archive cannot be read: " + piece.error().message()));
    return false;
  }
  std::vector<stored_callback> mine;
  for (const archive::callback_row& row : piece->rows) {
    bool unreadable = false;
    if (is_taken(row, unreadable)) {
      mine.push_back({.run_number = row.run_number,
                      .kind = row.kind,
                      .row = row.row,
                      .rule = first_rule(row.symptoms),
                      .since_ms = row.archived_ms});
    }
    if (unreadable) return false;
  }
  // Before any of them is sent: who was sent something is never asked for again from the start.
  if (piece->upto != at_) {
    if (archive::failure why = store_.take(name(), piece->upto, mine)) {
      check(why);
      return false;
    }
  }
  at_ = piece->upto;
  counts_->unread = rows_between(at_, end);
  enqueue(std::move(mine));
  return piece->more && waiting_ < most_waiting;
}

bool webhook::is_taken(const archive::callback_row& row, bool& unreadable) {
  const callback_filter& filter = to_->filter;
  if (!filter.takes(row)) return false;
  if (!filter.asks_for_labels()) return true;
  const auto labels = reads_.labels_of(row.run_number);
  if (!labels) {
    unreadable = true;
    check(archive::failure::other("the archive cannot be read: " + labels.error().message()));
    return false;
  }
  return filter.takes_labels(*labels);
}

void webhook::enqueue(std::vector<stored_callback>&& callbacks) {
  for (stored_callback& callback : callbacks) {
    const std::uint64_t run = callback.run_number;
    auto& of = lines_[run];
    const bool is_new = of == nullptr;
    if (is_new) of = std::make_unique<line>();
    of->waiting.push_back(std::move(callback));
    ++waiting_;
    if (is_new) make_due(run, *of, clock::now());
  }
  counts_->waiting = waiting_;
  if (!callbacks.empty()) send();
}

// ---- posting

void webhook::make_due(std::uint64_t run_number, line& of, clock::time_point when) {
  of.due = when;
  due_.emplace(when, run_number);
}

void webhook::send() {
  const auto concurrency = static_cast<std::size_t>(to_->settings.concurrency);
  while (!stopping_ && under_way_ < concurrency && !due_.empty() && due_.begin()->first <= clock::now()) {
    const std::uint64_t run = due_.begin()->second;
    due_.erase(due_.begin());
    begin(run);
  }
  counts_->under_way = under_way_;
  if (!stopping_ && under_way_ < concurrency && !due_.empty()) wait();
}

void webhook::wait() {
  timer_.expires_at(due_.begin()->first);
  timer_.async_wait([me = weak_from_this()](boost::system::error_code ec) {
    const auto self = me.lock();
    if (!ec && self) self->send();
  });
}

void webhook::begin(std::uint64_t run_number) {
  line& of = *lines_.at(run_number);
  const stored_callback& head = of.waiting.front();
  if (unix_ms() - head.since_ms > to_->settings.max_age_ms) {
    return bury(run_number, of, "older than max_age_ms" + (last_failure_.empty() ? "" : "; " + last_failure_));
  }
  auto result = reads_.text_of(head.kind, head.row);
  if (!result) {
    check(archive::failure::other("the archive cannot be read: " + result.error().message()));
    return make_due(run_number, of, clock::now() + after_trouble);
  }
  if (!*result) {  // its run was deleted
    check(store_.done(head.id));
    return leave(run_number, of);
  }
  post(run_number, of, std::move(**result));
}

void webhook::post(std::uint64_t run_number, line& of, archive::callback_text&& callback) {
  const stored_callback& head = of.waiting.front();
  std::string body = to_->settings.format == "slack"
                         ? slack_body(head.kind, callback)
                         : generic_body(callback_id(store_.prefix(), head.kind, head.row), head.kind, callback);
  if (head.attempts > 0) ++counts_->retried;
  ++under_way_;
  of.attempt =
      std::make_shared<post_attempt>(context_, names_, to_, std::move(body),
                                     [me = weak_from_this(), run_number, id = head.id](const post_result& result) {
                                       if (const auto self = me.lock()) self->finished(run_number, id, result);
                                     });
  of.attempt->start();
}

void webhook::finished(std::uint64_t run_number, std::int64_t id, const post_result& result) {
  --under_way_;
  const auto found = lines_.find(run_number);
  // Forgotten meanwhile: its attempt was cancelled and cannot come here.
  if (found != lines_.end() && found->second->waiting.front().id == id) {
    line& of = *found->second;
    of.attempt.reset();
    if (result.is_delivered()) {
      delivered(run_number, of);
    } else {
      failed(run_number, of, result);
    }
  }
  send();
}

void webhook::delivered(std::uint64_t run_number, line& of) {
  ++counts_->posted;
  last_posted_ms_ = unix_ms();
  std::uint64_t kept_back = 0;
  const bool is_recovery = !std::exchange(last_failure_, {}).empty();
  if (is_recovery && recoveries_said_.allows(kept_back)) spdlog::info("webhook_well name={}", digd::quoted(name()));
  check(store_.done(of.waiting.front().id));
  leave(run_number, of);
}

void webhook::failed(std::uint64_t run_number, line& of, const post_result& result) {
  stored_callback& head = of.waiting.front();
  ++counts_->failed;
  ++head.attempts;
  last_failed_ms_ = unix_ms();
  last_failure_ = result.why;
  if (head.attempts >= to_->settings.attempts) return bury(run_number, of, result.why);
  check(store_.tried(head.id, head.attempts));
  say_failed(head, result.why);
  const webhook_settings& settings = to_->settings;
  const double part = std::uniform_real_distribution<double>(0, 1)(chance_);
  std::int64_t pause = backoff_ms(head.attempts, settings.retry_ms, settings.retry_most_ms, part);
  // A receiver may ask for more time, within what is configured.
  if (result.retry_after_s) pause = std::max(pause, std::min(*result.retry_after_s * 1'000, settings.retry_most_ms));
  make_due(run_number, of, clock::now() + std::chrono::milliseconds(pause));
}

void webhook::bury(std::uint64_t run_number, line& of, const std::string& why) {
  const stored_callback& head = of.waiting.front();
  std::int64_t dropped = 0;
  ++counts_->died;
  std::uint64_t kept_back = 0;
  if (failures_said_.allows(kept_back)) {
    spdlog::error("webhook_dead name={} id={} attempts={} why={} kept_back={}", digd::quoted(name()),
                  callback_id(store_.prefix(), head.kind, head.row), head.attempts, digd::quoted(why), kept_back);
  }
  const archive::failure fault = store_.died(name(), head, unix_ms(), why, to_->settings.dead_letters, dropped);
  check(fault);
  if (!fault) {
    counts_->dead_dropped += static_cast<std::uint64_t>(dropped);
    counts_->dead += static_cast<std::uint64_t>(1 - dropped);
  }
  leave(run_number, of);
}

void webhook::leave(std::uint64_t run_number, line& of) {
  of.waiting.pop_front();
  counts_->waiting = --waiting_;
  if (of.waiting.empty()) {
    lines_.erase(run_number);
  } else {
    make_due(run_number, of, clock::now());
  }
  if (counts_->unread > 0 && waiting_ == most_waiting / 2) wants_more_();
}

void webhook::forget(std::uint64_t run_number) {
  const auto found = lines_.find(run_number);
  if (found != lines_.end()) {
    line& of = *found->second;
    if (of.attempt) {
      of.attempt->cancel();
      --under_way_;
    } else {
      due_.erase({of.due, run_number});
    }
    waiting_ -= of.waiting.size();
    counts_->waiting = waiting_;
    lines_.erase(found);
  }
  count_dead();
  send();
}

archive::failure webhook::revive(std::uint64_t& revived) {
  std::vector<stored_callback> risen;
  const std::size_t room = most_waiting - std::min(most_waiting, waiting_);
  archive::failure why = store_.revive(name(), unix_ms(), room, risen);
  revived = risen.size();
  count_dead();
  enqueue(std::move(risen));
  return why;
}

// ---- telling

webhook_status webhook::status() {
  const webhook_settings& s = to_->settings;
  webhook_status out{.name = s.name,
                     .shown_url = to_->where.shown(),
                     .format = s.format,
                     .send = s.send,
                     .rules = s.rules,
                     .severities = s.severities,
                     .labels = s.labels};
  out.posted = counts_->posted;
  out.failed = counts_->failed;
  out.retried = counts_->retried;
  out.died = counts_->died;
  out.dead_dropped = counts_->dead_dropped;
  out.waiting = waiting_;
  out.under_way = under_way_;
  out.unread = counts_->unread;
  out.dead = counts_->dead;
  for (const auto& [run, of] : lines_) out.retrying += of->waiting.front().attempts > 0;
  out.last_posted_ms = last_posted_ms_;
  out.last_failed_ms = last_failed_ms_;
  out.last_failure = last_failure_;
  return out;
}

void webhook::say_failed(const stored_callback& callback, const std::string& why) {
  std::uint64_t kept_back = 0;
  if (!failures_said_.allows(kept_back)) return;
  spdlog::warn("webhook_failed name={} id={} attempt={} why={} kept_back={}", digd::quoted(name()),
               callback_id(store_.prefix(), callback.kind, callback.row), callback.attempts, digd::quoted(why), kept_back);
}

void webhook::check(const archive::failure& why) {
  std::uint64_t kept_back = 0;
  if (!why || !troubles_said_.allows(kept_back)) return;
  spdlog::error("webhook_trouble name={} why={} kept_back={}", digd::quoted(name()), digd::quoted(why.words), kept_back);
}

void webhook::count_dead() {
  std::int64_t count = 0;
  const archive::failure why = store_.dead_count(name(), count);
  check(why);
  if (!why) counts_->dead = static_cast<std::uint64_t>(count);
}

// ---- the end

void webhook::stop() {
  stopping_ = true;
  timer_.cancel();
}

void webhook::abort() {
  stop();
  for (auto& [run, of] : lines_) {
    if (of->attempt) of->attempt->cancel();
  }
  under_way_ = 0;
  names_->close();
}

}  // namespace digd::daemon
