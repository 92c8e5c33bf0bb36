// Serves /v1/feed: reads each commit of the archive once for all readers, and writes it to their sockets.
//
// All this happens on a thread of its own, so no engine thread waits for a reader or works for one. Each commit wakes
// the thread. Readers behind the shared tail read the archive in pieces of their own, in turn.
//
// Threads: `admit` and the calls of readers on its own thread; all other public calls on any. Lifetime: stopped before
// the archive closes. Bounds: `max_readers`, and `max_readers_of_client` of one client; `max_shared_entries` and
// `max_shared_bytes` of the decoded tail; each reader has its own. Failure: if it cannot read the archive, it logs that
// and closes its readers with 1001.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "archive/browser.h"
#include "daemon/access/client_slots.h"
#include "daemon/feed/feed_reader.h"

namespace digd::daemon {

class feed_server final : public feed_listener {
 public:
  static constexpr std::size_t max_readers = 256;
  static constexpr std::size_t max_readers_of_client = max_readers / 2;
  static constexpr std::size_t max_shared_entries = 16'384;
  static constexpr std::size_t max_shared_bytes = 16u << 20;

  struct counters {
    std::atomic<std::uint64_t> readers{0}, frames{0}, dropped{0}, refused{0};
  };

  explicit feed_server(std::string archive_path);
  ~feed_server() { stop(); }

  void start();
  // Closes all readers and waits for them for a few seconds.
  void stop();

  boost::asio::io_context& context() { return context_; }
  // A place for a reader of that client; null: all readers together, or those of the client, have reached their limit.
  ticket_ptr take_place(const std::string& client);
  // On the feed's thread, with a socket of its io_context.
  void admit(net::batched_stream stream, const net::upgrade_request& request, feed_request asked,
             connection_ticket ticket);
  void wake();
  void forget(std::uint64_t run_number);  // the run was deleted: drops its entries from the shared tail
  const counters& counted() const { return counted_; }

  void opened(feed_reader& reader) override;
  void wants_more() override;
  void drop(feed_reader& reader) override;
  void closed(feed_reader& reader) override;

 private:
  // An entry of the tail with its frames, without and with payloads. Frames are made when a reader needs them.
  struct tail_entry {
    archive::watched_entry entry;
    std::vector<std::shared_ptr<const std::string>> plain, full;
    bool has_plain = false, has_full = false;
    std::size_t bytes = 0;
  };

  bool open_archive();
  bool set_start(feed_reader& reader);
  void pump_soon();
  void pump();
  bool read_tail();
  bool serve(feed_reader& reader);
  bool serve_shared(feed_reader& reader);
  bool catch_up(feed_reader& reader);
  void send_entry(feed_reader& reader, tail_entry& tail_entry);
  const std::vector<std::shared_ptr<const std::string>>& frames_of(tail_entry& tail_entry, bool payloads);
  bool is_shared(std::int64_t after) const { return after >= shared_from_; }
  void close_all(const boost::system::error_code& ec);

  const std::string path_;
  counters counted_;  // before the loop: a handler that the loop destroys still counts
  client_slots places_{max_readers, max_readers_of_client};
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::unique_ptr<archive::browser> reads_;
  std::vector<std::shared_ptr<feed_reader>> readers_;
  std::deque<tail_entry> shared_;
  std::size_t bytes_ = 0;
  std::int64_t shared_from_ = 0;  // the shared tail begins after this entry
  std::int64_t tail_ = 0;         // the shared tail ends with this entry
  bool tail_known_ = false;
  std::atomic<bool> pump_posted_{false};
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace digd::daemon
