#include "daemon/webhook/webhook_server.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <future>
#include <set>
#include <utility>

#include "base/quote.h"
#include "base/thread_name.h"
#include "base/unix_time.h"

namespace digd::daemon {

namespace {

namespace asio = boost::asio;
constexpr std::chrono::seconds retry_pause{1};

bool is_beyond(const archive::callback_position& at, const archive::callback_position& highest) {
  return at.detection > highest.detection || at.intervention > highest.intervention || at.run > highest.run;
}

}  // namespace

webhook_server::webhook_server(std::string archive_path, std::string store_path, std::string key_path)
    : archive_path_(std::move(archive_path)),
      store_path_(std::move(store_path)),
      key_path_(std::move(key_path)),
      work_(context_.get_executor()),
      retry_timer_(context_.get_executor()) {}

// ---- configuration

std::string webhook_server::start(const std::vector<webhook_settings>& settings) {
  targets configured;
  std::string wrong = make_targets(settings, configured);
  std::error_code ignored;
  // Without webhooks, an existing file is opened too, to remove the former webhooks from it.
  if (wrong.empty() && (!configured.empty() || std::filesystem::exists(store_path_, ignored)))
    wrong = open_and_apply(configured);
  if (!wrong.empty()) return wrong;
  stopped_ = false;
  thread_ = std::thread([this] {
    name_this_thread("webhook");
    context_.run();
  });
  pump_soon();
  return {};
}

std::string webhook_server::change(const std::vector<webhook_settings>& settings) {
  targets configured;
  if (std::string wrong = make_targets(settings, configured); !wrong.empty()) return wrong;
  if (stopped_) return {};
  std::promise<std::string> answer;
  asio::post(context_, [&] {
    answer.set_value(store_.is_open() || !configured.empty() ? open_and_apply(configured) : std::string());
    pump_soon();
  });
  return answer.get_future().get();
}

std::string webhook_server::make_targets(const std::vector<webhook_settings>& settings, targets& configured) const {
  std::string problem;
  for (const webhook_settings& webhook : settings) {
    auto target = make_target(webhook, problem);
    if (!target) return problem;
    configured.push_back(std::move(target));
  }
  return {};
}

std::string webhook_server::open_and_apply(const targets& targets) {
  const bool was_open = store_.is_open();
  std::string wrong = was_open ? std::string() : open();
  if (wrong.empty()) wrong = apply(targets);
  if (!wrong.empty() && !was_open) close();
  return wrong;
}

void webhook_server::close() {
  store_.close();
  reads_.reset();
}

// After a problem, the caller must `close`.
std::string webhook_server::open() {
  std::string problem;
  auto opened = archive::callback_reader::open(archive_path_, &problem);
  if (!opened) return digd::quoted(archive_path_) + ": " + problem;
  reads_ = std::move(*opened);
  const auto highest = reads_->highest_ever();
  if (!highest) return digd::quoted(archive_path_) + ": " + highest.error().message();
  if (archive::failure fault = store_.open(store_path_)) {
    return fault.about(store_path_) + "; move the file away to start with an empty one";
  }
  std::vector<webhook_store::webhook_position> known;
  archive::failure fault = store_.webhooks(known);
  const bool is_other_archive =
      std::any_of(known.begin(), known.end(),
                  [&](const webhook_store::webhook_position& stored) { return is_beyond(stored.position, *highest); });
  if (!fault && is_other_archive) {
    spdlog::warn("webhooks_restarted reason=\"the archive is not the same as before\"");
    fault = store_.clear();
  }
  if (!fault) fault = remove_deleted_runs();
  links_.set_archive(store_.prefix());
  return fault.about(store_path_);
}

// Runs that were deleted while the daemon stopped.
archive::failure webhook_server::remove_deleted_runs() {
  std::vector<std::uint64_t> runs;
  archive::failure failed = store_.runs(runs);
  for (const std::uint64_t number : runs) {
    if (failed) break;
    const auto found = reads_->run_of(number);
    if (found && !*found) failed = store_.remove_run(number);
  }
  return failed;
}

hold_links::state webhook_server::read_link(std::string_view link, hold_link& into) const {
  return links_.read(link, unix_ms(), into);
}

// All steps that can fail come first. A failure changes nothing, except that the key's file may be new.
std::string webhook_server::apply(const targets& targets) {
  std::set<std::string> with_links;
  for (const auto& target : targets) {
    if (target->settings.hold_links) with_links.insert(target->settings.name);
  }
  if (!with_links.empty()) {
    if (std::string wrong = links_.open(key_path_); !wrong.empty()) return wrong;
  }
  const auto end = reads_->highest_ever();
  if (!end) return digd::quoted(archive_path_) + ": " + end.error().message();
  std::vector<std::shared_ptr<webhook>> next;
  std::vector<std::string> removed;
  const archive::failure failed = store_.transaction([&] { return prepare(targets, *end, next, removed); });
  if (failed) return failed.about(store_path_);

  links_.set_webhooks(std::move(with_links));
  for (const std::string& name : removed) spdlog::warn("webhook_removed name={}", digd::quoted(name));
  for (const auto& webhook : webhooks_) {
    if (std::find(next.begin(), next.end(), webhook) == next.end()) webhook->abort();
  }
  const std::vector<std::shared_ptr<webhook>> before = std::exchange(webhooks_, std::move(next));
  publish();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const target& target = *targets[i];
    if (std::find(before.begin(), before.end(), webhooks_[i]) != before.end()) {
      webhooks_[i]->change(targets[i]);
      continue;
    }
    spdlog::info("webhook name={} to={} format={} signed={}", digd::quoted(target.settings.name),
                 digd::quoted(target.where.shown()), target.settings.format, !target.secret.empty());
    webhooks_[i]->send();
  }
  return {};
}

// The webhook that continues with this target. Null: there is none, or its format becomes or was otlp.
std::shared_ptr<webhook> webhook_server::running_webhook(const target& target) const {
  for (const auto& webhook : webhooks_) {
    if (webhook->name() == target.settings.name && webhook->exports_spans() == (target.settings.format == "otlp"))
      return webhook;
  }
  return nullptr;
}

// Makes `next`, a webhook for each target, and brings webhooks.db up to date. A new webhook begins at the end of the
// archive. `removed` gets the webhooks that are no longer configured; webhooks.db loses their callbacks too.
archive::failure webhook_server::prepare(const targets& targets, const archive::callback_position& end,
                                         std::vector<std::shared_ptr<webhook>>& next,
                                         std::vector<std::string>& removed) {
  std::vector<webhook_store::webhook_position> known;
  archive::failure failed = store_.webhooks(known);
  for (const webhook_store::webhook_position& stored : known) {
    const bool stays = std::any_of(targets.begin(), targets.end(),
                                   [&](const auto& target) { return target->settings.name == stored.name; });
    if (failed || stays) continue;
    failed = store_.remove_webhook(stored.name);
    removed.push_back(stored.name);
  }
  for (const auto& target : targets) {
    if (failed) break;
    next.push_back(running_webhook(*target));
    if (next.back() != nullptr) continue;
    const std::string& name = target->settings.name;
    const auto place =
        std::find_if(known.begin(), known.end(), [&](const auto& stored) { return stored.name == name; });
    const archive::callback_position from =
        place != known.end() ? place->position
                             : archive::callback_position{.detection = end.detection, .intervention = end.intervention};
    if (place == known.end()) failed = store_.add_webhook(name, from);
    next.back() = std::make_shared<webhook>(context_, *reads_, store_, links_, target, from, [this] { pump_soon(); });
    if (!failed) failed = next.back()->load();
  }
  return failed;
}

void webhook_server::publish() {
  std::vector<std::shared_ptr<const webhook_counts>> counts;
  counts.reserve(webhooks_.size());
  for (const auto& webhook : webhooks_) counts.push_back(webhook->counted());
  any_ = !counts.empty();
  const std::lock_guard lock(mutex_);
  published_ = std::move(counts);
}

std::vector<std::shared_ptr<const webhook_counts>> webhook_server::counted() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

webhook* webhook_server::find(std::string_view name) const {
  for (const auto& webhook : webhooks_) {
    if (webhook->name() == name) return webhook.get();
  }
  return nullptr;
}

// ---- the tail

void webhook_server::wake() {
  if (any_.load(std::memory_order_relaxed)) pump_soon();
}

void webhook_server::pump_soon() {
  if (!is_woken_.exchange(true)) asio::post(context_, [this] { pump(); });
}

// Reads one piece of the archive for each webhook. Posts itself again while there is more.
void webhook_server::pump() {
  is_woken_.store(false);
  if (stopped_ || webhooks_.empty()) return;
  const auto end = reads_->end();
  if (!end) {
    spdlog::error("webhooks_cannot_read reason={}", digd::quoted(end.error().message()));
    return pump_later();
  }
  bool more = false;
  for (const auto& webhook : webhooks_) more = webhook->read_archive(*end) || more;
  bool later = false;
  for (const auto& webhook : webhooks_) later = webhook->read_ended_runs() || later;
  if (more) return pump_soon();
  if (later) return pump_later();
  const auto is_behind = [](const auto& webhook) { return webhook->counted()->unread > 0; };
  if (std::any_of(webhooks_.begin(), webhooks_.end(), is_behind)) pump_later();
}

// A read or write failed, or a webhook is full. Until the next commit nothing else wakes this thread.
void webhook_server::pump_later() {
  retry_timer_.expires_after(retry_pause);
  retry_timer_.async_wait([this](boost::system::error_code ec) {
    if (!ec) pump_soon();
  });
}

void webhook_server::forget(std::uint64_t run_number) {
  run(
      [run_number](webhook_server& self) {
        if (!self.store_.is_open()) return;
        if (archive::failure failed = self.store_.remove_run(run_number)) {
          spdlog::error("webhook_storage_error reason={}", digd::quoted(failed.words));
        }
        for (const auto& webhook : self.webhooks_) webhook->remove_run(run_number);
      },
      [] {});
}

void webhook_server::run(std::function<void(webhook_server&)> work, const std::function<void()>& if_stopped) {
  if (stopped_) return if_stopped();
  asio::post(context_, [this, work = std::move(work)] { work(*this); });
}

// ---- stopping

void webhook_server::stop() {
  if (!thread_.joinable()) return;
  // Give posts in progress a little time, so that they need not be sent twice.
  std::atomic<bool> idle{false};
  const auto deadline = std::chrono::steady_clock::now() + max_stop_wait;
  asio::post(context_, [this] {
    retry_timer_.cancel();
    for (const auto& webhook : webhooks_) webhook->stop();
  });
  while (!idle && std::chrono::steady_clock::now() < deadline) {
    std::promise<bool> busy;
    asio::post(context_, [&] {
      busy.set_value(
          std::any_of(webhooks_.begin(), webhooks_.end(), [](const auto& webhook) { return webhook->is_busy(); }));
    });
    idle = !busy.get_future().get();
    if (!idle) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  stopped_ = true;
  asio::post(context_, [this] {
    for (const auto& webhook : webhooks_) webhook->abort();
    work_.reset();
    context_.stop();
  });
  thread_.join();
  // Run the handlers still queued, which answer requests or were cancelled, before their objects are destroyed.
  context_.restart();
  context_.poll();
  webhooks_.clear();
  close();
}

}  // namespace digd::daemon
