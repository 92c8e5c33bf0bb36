// Healing callbacks: a tail of the archive's detections and interventions, posted to the receivers that the
// configuration names. docs/webhooks.md says what they are promised.
//
// One thread of its own does it all, sockets and webhooks.db included: no engine thread waits for a receiver or does
// anything for one, and the archive's writer neither. Woken after each commit: nothing is posted that is not on disk
// and synced. Threads: `start`, `change`, `stop` one thread, in turn; `wake`, `forget`, `ask`, `counted` any;
// everything else its own. Lifetime: stopped before the archive closes. Bounds: `most_webhooks`, and those of each
// (webhook.h).
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
#include "daemon/webhook/webhook.h"
#include "daemon/settings/webhook_settings.h"
#include "daemon/webhook/webhook_store.h"

namespace digd::daemon {

class webhook_server {
 public:
  static constexpr std::chrono::seconds goodbye_within{2};  // for posts under way

  // `store_path`: webhooks.db; made when there is a first webhook.
  webhook_server(std::string archive_path, std::string store_path);
  ~webhook_server() { stop(); }

  // What is wrong comes back in words, and then nothing runs; empty if nothing is.
  std::string start(const std::vector<webhook_settings>& settings);
  // From now on these. What is wrong comes back in words, and then nothing has changed.
  std::string change(const std::vector<webhook_settings>& settings);
  void stop();

  void wake();
  void forget(std::uint64_t run_number);  // deleted: what waits of it and its dead letters go

  // Calls `with` on the webhooks' thread; once stopped, `instead`, at once.
  void ask(std::function<void(webhook_server&)> with, const std::function<void()>& instead);
  std::vector<std::shared_ptr<const webhook_counts>> counted() const;

  // For those who ask, on the webhooks' thread.
  const std::vector<std::shared_ptr<webhook>>& all() const { return webhooks_; }
  webhook* find(std::string_view name) const;
  webhook_store& store() { return store_; }
  archive::callback_reader& reads() { return *reads_; }

 private:
  using targets = std::vector<std::shared_ptr<const target>>;

  std::string make_targets(const std::vector<webhook_settings>& settings, targets& made) const;
  std::string open();
  std::string apply(const targets& targets);
  std::string apply_to_store(const targets& targets, std::vector<webhook_store::known>& known);
  archive::failure forget_deleted_runs();
  void publish();
  void pump_soon();
  void pump();
  void pump_later();

  const std::string archive_path_, store_path_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::unique_ptr<archive::callback_reader> reads_;
  webhook_store store_;
  std::vector<std::shared_ptr<webhook>> webhooks_;
  net::steady_timer again_;
  std::atomic<bool> any_{false}, woken_{false}, stopped_{true};
  mutable std::mutex mutex_;  // of what is published
  std::vector<std::shared_ptr<const webhook_counts>> published_;
  std::thread thread_;
};

}  // namespace digd::daemon
