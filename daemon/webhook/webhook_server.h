// Webhooks: posts the archive's detections and interventions to the receivers that the configuration names.
// docs/webhooks.md lists the promises to a receiver.
//
// It has a thread of its own, for sockets and webhooks.db too: neither an engine thread nor the archive's writer waits
// for a receiver. Each commit wakes the thread, so it posts nothing that is not on disk and synced.
//
// Threads: one thread calls `start`, `change` and `stop`, in turn; any thread may call `wake`, `forget`, `run`,
// `counted` and `read_link`; everything else runs on its own. Lifetime: stopped before the archive closes. Bounds:
// `max_webhooks`, and those of each webhook (webhook.h). Failure: `start` and `change` return a sentence; later errors
// are logged and tried again.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "archive/callback_reader.h"
#include "daemon/settings/webhook_settings.h"
#include "daemon/webhook/hold_links.h"
#include "daemon/webhook/webhook.h"
#include "daemon/webhook/webhook_store.h"

namespace digd::daemon {

class webhook_server {
 public:
  static constexpr std::chrono::seconds max_stop_wait{2};  // for posts in progress

  // `store_path`: the path of webhooks.db, which it creates for the first webhook. `key_path`: of the key for the links
  // to holds, which it creates for the first webhook with links.
  webhook_server(std::string archive_path, std::string store_path, std::string key_path);
  ~webhook_server() { stop(); }

  // Returns a problem in words, and then nothing runs; otherwise an empty string.
  std::string start(const std::vector<webhook_settings>& settings);
  // Replaces the webhooks. Returns a problem in words, and then nothing has changed; otherwise an empty string.
  std::string change(const std::vector<webhook_settings>& settings);
  void stop();

  void wake();
  void forget(std::uint64_t run_number);  // the run was deleted: drops its callbacks and dead letters

  // Calls `work` on the webhooks' thread; once stopped, calls `if_stopped` at once instead.
  void run(std::function<void(webhook_server&)> work, const std::function<void()>& if_stopped);
  std::vector<std::shared_ptr<const webhook_counts>> counted() const;
  // Opens a link to a hold; any thread.
  hold_links::state read_link(std::string_view link, hold_link& into) const;

  // For `run`, on the webhooks' thread.
  const std::vector<std::shared_ptr<webhook>>& webhooks() const { return webhooks_; }
  webhook* find(std::string_view name) const;
  webhook_store& store() { return store_; }
  archive::callback_reader& reads() { return *reads_; }

 private:
  using targets = std::vector<std::shared_ptr<const target>>;

  std::string make_targets(const std::vector<webhook_settings>& settings, targets& configured) const;
  std::string open_and_apply(const targets& targets);
  std::string open();
  void close();
  std::string apply(const targets& targets);
  std::shared_ptr<webhook> running_webhook(const target& target) const;
  archive::failure prepare(const targets& targets, const archive::callback_position& end,
                           std::vector<std::shared_ptr<webhook>>& next, std::vector<std::string>& removed);
  archive::failure remove_deleted_runs();
  void publish();
  void pump_soon();
  void pump();
  void pump_later();

  const std::string archive_path_, store_path_, key_path_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::unique_ptr<archive::callback_reader> reads_;
  webhook_store store_;
  hold_links links_;
  std::vector<std::shared_ptr<webhook>> webhooks_;
  net::steady_timer retry_timer_;
  std::atomic<bool> any_{false}, is_woken_{false}, stopped_{true};
  mutable std::mutex mutex_;  // guards `published_`
  std::vector<std::shared_ptr<const webhook_counts>> published_;
  std::thread thread_;
};

}  // namespace digd::daemon
