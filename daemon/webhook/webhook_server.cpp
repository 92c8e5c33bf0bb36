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
  return at.detection > highest.detection || at.intervention > highest.intervention;
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
  if (wrong.empty() && (!configured.empty() || std::filesystem::exists(store_path_, ignored))) wrong = open();
  if (wrong.empty() && store_.is_open()) wrong = apply(configured);
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
    std::string wrong;
    if (!store_.is_open() && !configured.empty()) wrong = open();
    if (wrong.empty() && store_.is_open()) wrong = apply(configured);
    answer.set_value(wrong);
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

// A new webhook begins at the end of the archive. Removes webhooks that are no longer configured, with their callbacks.
std::string webhook_server::apply_to_store(const targets& targets,
                                           std::vector<webhook_store::webhook_position>& known) {
  auto end = reads_->highest_ever();
  if (!end) return digd::quoted(archive_path_) + ": " + end.error().message();
  end->run_end_ms = unix_ms();
  archive::failure failed = store_.webhooks(known);
  const auto is_known = [&](const std::string& name) {
    return std::any_of(known.begin(), known.end(), [&](const auto& stored) { return stored.name == name; });
  };
  for (const webhook_store::webhook_position& stored : std::vector(known)) {
    const bool stays = std::any_of(targets.begin(), targets.end(),
                                   [&](const auto& target) { return target->settings.name == stored.name; });
    if (failed || stays) continue;
    failed = store_.remove_webhook(stored.name);
    std::erase_if(known, [&](const auto& entry) { return entry.name == stored.name; });
    if (!failed) spdlog::warn("webhook_removed name={}", digd::quoted(stored.name));
  }
  for (const auto& target : targets) {
    if (failed || is_known(target->settings.name)) continue;
    failed = store_.add_webhook(target->settings.name, *end);
    known.push_back({target->settings.name, *end});
  }
  return failed.about(store_path_);
}

hold_links::state webhook_server::read_link(std::string_view link, hold_link& into) const {
  return links_.read(link, unix_ms(), into);
}

std::string webhook_server::apply(const targets& targets) {
  const auto has_links = [](const auto& target) { return target->settings.hold_links; };
  if (std::any_of(targets.begin(), targets.end(), has_links)) {
    if (std::string wrong = links_.open(key_path_); !wrong.empty()) return wrong;
  }
  std::vector<webhook_store::webhook_position> known;
  if (std::string wrong = apply_to_store(targets, known); !wrong.empty()) return wrong;
  std::vector<std::shared_ptr<webhook>> next;
  for (const auto& target : targets) {
    const auto running = std::find_if(webhooks_.begin(), webhooks_.end(),
                                      [&](const auto& webhook) { return webhook->name() == target->settings.name; });
    if (running != webhooks_.end()) {
      (*running)->change(target);
      next.push_back(*running);
      continue;
    }
    const auto place = std::find_if(known.begin(), known.end(),
                                    [&](const auto& stored) { return stored.name == target->settings.name; });
    next.push_back(
        std::make_shared<webhook>(context_, *reads_, store_, links_, target, place->position, [this] { pump_soon(); }));
    if (archive::failure failed = next.back()->load()) return failed.about(store_path_);
    spdlog::info("webhook name={} to={} format={} signed={}", digd::quoted(target->settings.name),
                 digd::quoted(target->where.shown()), target->settings.format, !target->secret.empty());
  }
  for (const auto& webhook : webhooks_) {
    if (std::find(next.begin(), next.end(), webhook) == next.end()) webhook->abort();
  }
  webhooks_ = std::move(next);
  std::set<std::string> with_links;
  for (const auto& target : targets) {
    if (target->settings.hold_links) with_links.insert(target->settings.name);
  }
  links_.set_webhooks(std::move(with_links));
  publish();
  return {};
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
  store_.close();
  reads_.reset();
}

}  // namespace digd::daemon
