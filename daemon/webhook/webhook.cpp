#include "daemon/webhook/webhook.h"

#include <spdlog/spdlog.h>
#include <algorithm>

#include "base/quote.h"
#include "base/unix_time.h"
#include "daemon/webhook/backoff.h"
#include "daemon/webhook/otlp_body.h"
#include "healing/callback_body.h"
#include "healing/holds.h"

namespace digd::daemon {

namespace {

constexpr std::chrono::seconds error_pause{1};  // after an error of the archive or webhooks.db
constexpr std::int64_t max_error_pause_ms = 60'000;
// Callbacks that become dead letters are written one by one. Thousands may become too old at the same time.
constexpr std::size_t max_begun_at_once = 64;
constexpr std::int64_t max_known_age_ms = 10LL * 365 * 24 * 3'600'000;  // limits the age under a wrong wall clock

// A time of the wall clock as one of the steady clock. The wall clock may be set while a callback waits, so the steady
// clock measures its age from here.
std::chrono::steady_clock::time_point steady_time_of(std::int64_t since_ms) {
  const std::int64_t age_ms = std::clamp<std::int64_t>(unix_ms() - since_ms, 0, max_known_age_ms);
  return std::chrono::steady_clock::now() - std::chrono::milliseconds(age_ms);
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
  if (failed) return failed;
  add_to_queues(std::move(callbacks));
  count_dead();
  return exports_spans() ? load_ended_runs() : failed;
}

void webhook::change(std::shared_ptr<const target> target) {
  const bool is_other = target->settings != target_->settings || target->secret != target_->secret;
  target_ = std::move(target);
  for (const auto& [run, queue] : queues_) {
    if (!is_other || queue->attempt) continue;
    due_.erase({queue->due, run});
    schedule(run, *queue, clock::now());
  }
  send();
}

// ---- the queues

void webhook::count_waiting() {
  counts_->waiting = waiting_;
  if (!is_full_ || waiting_ > max_waiting / 2) return;
  is_full_ = false;
  wants_more_();
}

bool webhook::is_for_people() const {
  return target_->settings.format == "slack" || target_->settings.format == "pagerduty";
}

// Whether the rate allows no post yet. If so, a timer calls `send` again. Counts each post that has to wait once.
bool webhook::waits_for_rate() {
  const clock::time_point now = clock::now();
  const clock::time_point next = is_for_people() ? alerts_.next_post(now, target_->settings.rate) : now;
  if (next <= now) return waits_for_rate_ = false;
  if (!std::exchange(waits_for_rate_, true)) ++counts_->rate_waits;
  send_at(next);
  return true;
}

// Writes to webhooks.db may take seconds to fail. Pauses between them leave the thread time for other work.
bool webhook::waits_after_error() {
  if (pause_until_ <= clock::now()) return false;
  send_at(pause_until_);
  return true;
}

void webhook::add_to_queues(std::vector<stored_callback>&& callbacks) {
  for (stored_callback& callback : callbacks) {
    const std::uint64_t run = callback.run_number;
    callback.steady_since = steady_time_of(callback.since_ms);
    auto& queue = queues_[run];
    const bool is_new = queue == nullptr;
    if (is_new) queue = std::make_unique<run_queue>();
    queue->waiting.push_back(std::move(callback));
    ++waiting_;
    if (is_new) schedule(run, *queue, clock::now());
  }
  counts_->waiting = waiting_;
}

void webhook::enqueue(std::vector<stored_callback>&& callbacks) {
  if (callbacks.empty()) return;
  add_to_queues(std::move(callbacks));
  send();
}

// ---- posting

void webhook::schedule(std::uint64_t run_number, run_queue& queue, clock::time_point due) {
  queue.due = due;
  due_.emplace(due, run_number);
}

void webhook::send() {
  const auto concurrency = static_cast<std::size_t>(target_->settings.concurrency);
  std::size_t begun = 0;
  while (!stopping_ && in_progress_ < concurrency && !due_.empty() && due_.begin()->first <= clock::now()) {
    if (++begun > max_begun_at_once) break;  // the timer continues, after other work of the thread
    if (waits_after_error() || waits_for_rate()) {
      counts_->under_way = in_progress_;
      return;
    }
    const std::uint64_t run = due_.begin()->second;
    due_.erase(due_.begin());
    begin(run);
  }
  counts_->under_way = in_progress_;
  if (!stopping_ && in_progress_ < concurrency && !due_.empty()) send_at(due_.begin()->first);
}

void webhook::send_at(clock::time_point time) {
  timer_.expires_at(time);
  timer_.async_wait([me = weak_from_this()](boost::system::error_code ec) {
    const auto self = me.lock();
    if (!ec && self) self->send();
  });
}

void webhook::begin(std::uint64_t run_number) {
  run_queue& queue = *queues_.at(run_number);
  const stored_callback& head = queue.waiting.front();
  if (!queue.final_problem.empty()) return make_dead_letter(run_number, queue, std::exchange(queue.final_problem, {}));
  if (clock::now() - head.steady_since > std::chrono::milliseconds(target_->settings.max_age_ms)) {
    return make_dead_letter(run_number, queue,
                            "older than max_age_ms" + (last_failure_.empty() ? "" : "; " + last_failure_));
  }
  auto text = reads_.text_of(head.kind, head.row);
  if (!text) return read_again_later(run_number, queue, text.error());
  if (!*text) {  // the run was deleted
    delete_stored(head.id);
    return remove_first(run_number, queue);
  }
  archive::callback_reader::labels labels;  // name the trace of a span
  if (exports_spans()) {
    auto read = reads_.labels_of(run_number);
    if (!read) return read_again_later(run_number, queue, read.error());
    labels = std::move(*read);
  }
  queue.failed_reads = 0;
  post(run_number, queue, std::move(**text), labels);
}

void webhook::read_again_later(std::uint64_t run_number, run_queue& queue, const boost::system::error_code& ec) {
  log_unreadable(ec);
  const std::int64_t first_ms = std::chrono::milliseconds(error_pause).count();
  const std::int64_t pause = backoff_ms(++queue.failed_reads, first_ms, max_error_pause_ms, random_.uniform());
  schedule(run_number, queue, clock::now() + std::chrono::milliseconds(pause));
}

std::string webhook::body_of(const stored_callback& about, const archive::callback_text& callback,
                             const archive::callback_reader::labels& labels) const {
  const webhook_settings& settings = target_->settings;
  const std::string id = callback_id(store_.prefix(), about.kind, about.row);
  if (settings.format == "slack") return slack_body(about.kind, callback, settings.dashboard);
  if (settings.format == "pagerduty")
    return pagerduty_body(id, about.kind, callback, target_->secret, settings.dashboard);
  if (!exports_spans()) return generic_body(id, about.kind, callback);
  const otlp_context context = otlp_context_of(store_.prefix(), about.run_number, callback.run, labels);
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

void webhook::post(std::uint64_t run_number, run_queue& queue, archive::callback_text&& callback,
                   const archive::callback_reader::labels& labels) {
  const stored_callback& head = queue.waiting.front();
  callback.link = link_of(head, callback);
  callback.joined = head.joined;
  if (is_for_people()) alerts_.count_post(clock::now(), target_->settings.rate);
  std::string body = body_of(head, callback, labels);
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
  delete_stored(queue.waiting.front().id);
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
  const archive::failure fault =
      store_.make_dead(name(), head, unix_ms(), problem, target_->settings.dead_letters, dropped);
  log_if_failed(fault);
  if (fault) {
    queue.final_problem = problem;
    pause_until_ = clock::now() + error_pause;
    return schedule(run_number, queue, pause_until_);
  }
  ++counts_->died;
  counts_->dead_dropped += static_cast<std::uint64_t>(dropped);
  counts_->dead += static_cast<std::uint64_t>(1 - dropped);
  std::uint64_t suppressed = 0;
  if (failure_log_.allows(suppressed)) {
    spdlog::error("webhook_dead name={} id={} attempts={} reason={} suppressed={}", digd::quoted(name()),
                  callback_id(store_.prefix(), head.kind, head.row), head.attempts, digd::quoted(problem), suppressed);
  }
  remove_first(run_number, queue);
}

void webhook::remove_first(std::uint64_t run_number, run_queue& queue) {
  queue.waiting.pop_front();
  --waiting_;
  if (queue.waiting.empty()) {
    queues_.erase(run_number);
  } else {
    schedule(run_number, queue, clock::now());
  }
  count_waiting();
}

// Callbacks that webhooks.db cannot delete now are deleted with a later one.
void webhook::delete_stored(std::int64_t id) {
  undeleted_.push_back(id);
  delete_stored();
}

void webhook::delete_stored() {
  while (!undeleted_.empty()) {
    if (const archive::failure failed = store_.remove_callback(undeleted_.back())) return log_if_failed(failed);
    undeleted_.pop_back();
  }
}

void webhook::remove_run(std::uint64_t run_number) {
  ends_.forget(run_number);
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
    queues_.erase(found);
    count_waiting();
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

void webhook::log_unreadable(const boost::system::error_code& ec) {
  log_if_failed(archive::failure::other("the archive cannot be read: " + ec.message()));
}

void webhook::count_dead() {
  std::int64_t count = 0;
  const archive::failure failed = store_.dead_count(name(), count);
  log_if_failed(failed);
  if (!failed) counts_->dead = static_cast<std::uint64_t>(count);
}

// ---- stopping

void webhook::stop() {
  if (std::exchange(stopping_, true)) return;
  delete_stored();
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
