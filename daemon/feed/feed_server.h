// /v1/feed: a tail of the archive. Reads what was committed, once for all readers, and writes it to each.
//
// One thread of its own does it all, sockets included: no engine thread waits for a reader, or does anything for one.
// Woken after each commit. Readers that are behind what is shared read the archive in pieces of their own, in turn.
// Threads: `admit`, `wake`, `forget`, `counted`, `start`, `stop` any; everything else its own. Lifetime: stopped before
// the archive closes. Bounds: `most_readers`; `shared_entries` and `shared_bytes` of decoded tail; a reader's own.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "archive/browser.h"
#include "daemon/feed/feed_reader.h"

namespace digd::daemon {

inline constexpr std::string_view feed_subprotocol = "digd.feed.v1";

class feed_server {
 public:
  static constexpr std::size_t most_readers = 256;
  static constexpr std::size_t shared_entries = 16'384;
  static constexpr std::size_t shared_bytes = 16u << 20;

  struct counters {
    std::atomic<std::uint64_t> readers{0}, frames{0}, dropped{0}, refused{0};
  };

  explicit feed_server(std::string archive_path);
  ~feed_server() { stop(); }

  void start();
  // Readers get a close; false if they did not all go in time.
  void stop();

  boost::asio::io_context& context() { return context_; }
  bool is_full();
  // On the feed's thread, with a socket that lives there.
  void admit(net::batched_stream stream, const net::upgrade_request& request, feed_request asked,
             ticket_ptr ticket);
  void wake();
  void forget(std::uint64_t run_number);  // deleted: what is shared of it goes
  const counters& counted() const { return counted_; }
  counters& counted() { return counted_; }

  // What readers tell.
  void opened(feed_reader& reader);
  void wants_more();
  void drop(feed_reader& reader);
  void closed(feed_reader& reader);

 private:
  // An entry in both shapes; the second is made when somebody asks for it.
  struct item {
    archive::watched_entry entry;
    std::vector<std::shared_ptr<const std::string>> plain, full;
    bool has_plain = false, has_full = false;
    std::size_t bytes = 0;
  };

  bool open_archive();
  bool place(feed_reader& reader);
  void pump_soon();
  void pump();
  bool read_tail();
  bool serve(feed_reader& reader);
  bool serve_shared(feed_reader& reader);
  bool catch_up(feed_reader& reader);
  void give(feed_reader& reader, item& item);
  const std::vector<std::shared_ptr<const std::string>>& frames_of(item& item, bool payloads);
  bool is_shared(std::int64_t after) const { return after >= shared_from_; }
  void cannot_read(const boost::system::error_code& ec);

  const std::string path_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::unique_ptr<archive::browser> reads_;
  std::vector<std::shared_ptr<feed_reader>> readers_;
  std::deque<item> shared_;
  std::size_t bytes_ = 0;
  std::int64_t shared_from_ = 0;  // what is shared begins after this entry
  std::int64_t tail_ = 0;         // and ends with this one
  bool tail_known_ = false;
  std::atomic<bool> woken_{false};
  bool stopping_ = false;
  counters counted_;
  std::thread thread_;
};

}  // namespace digd::daemon
