#include "daemon/feed/feed_server.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>
#include <utility>

#include "base/quote.h"
#include "base/thread_name.h"
#include "daemon/feed/frames.h"

namespace digd::daemon {

namespace {
using net::close_code;
constexpr std::chrono::seconds goodbye_within{3};
}  // namespace

feed_server::feed_server(std::string archive_path) : path_(std::move(archive_path)), work_(context_.get_executor()) {}

void feed_server::start() {
  thread_ = std::thread([this] {
    name_this_thread("feed");
    context_.run();
  });
}

void feed_server::stop() {
  if (!thread_.joinable()) return;
  boost::asio::post(context_, [this] {
    stopping_ = true;
    for (const auto& reader : std::vector(readers_)) reader->close(close_code::going_away, "the daemon stops", true);
    work_.reset();
  });
  // Readers give up by themselves; this is for what nobody thought of.
  const auto deadline = std::chrono::steady_clock::now() + goodbye_within;
  while (counted_.readers.load() > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  context_.stop();
  thread_.join();
  readers_.clear();
}

bool feed_server::is_full() {
  if (counted_.readers.load() < most_readers) return false;
  counted_.refused.fetch_add(1);
  return true;
}

void feed_server::admit(net::batched_stream stream, const net::upgrade_request& request, feed_request asked,
                        ticket_ptr ticket) {
  if (stopping_) return;
  const auto reader = std::make_shared<feed_reader>(*this, std::move(stream), std::move(asked), std::move(ticket));
  readers_.push_back(reader);
  counted_.readers.store(readers_.size());
  // Placed before it hears that it is connected: what is committed from then on is told.
  const bool placed = open_archive() && place(*reader);
  reader->accept(request);
  if (!placed) reader->close(close_code::going_away, "the archive cannot be read", true);
}

bool feed_server::place(feed_reader& reader) {
  const auto last = reads_->last_seq();
  if (!last) return false;
  const std::int64_t highest = std::max(*last, tail_);
  if (!tail_known_) {
    tail_known_ = true;
    shared_from_ = tail_ = *last;
  }
  // Numbers are never used again: beyond the highest there is nothing that could be missed.
  reader.at = std::min(reader.asked().since.value_or(highest), highest);
  return true;
}

bool feed_server::open_archive() {
  if (reads_) return true;
  std::string why;
  auto opened = archive::browser::open(path_, &why);
  if (opened) reads_ = std::move(*opened);
  if (!opened) spdlog::error("feed_cannot_read why={}", digd::quoted(why));
  return reads_ != nullptr;
}

// ---- what readers tell

void feed_server::opened(feed_reader& reader) {
  spdlog::info("feed_open run={} at={}", reader.asked().run ? digd::quoted(*reader.asked().run) : "all", reader.at);
  pump_soon();
}

void feed_server::wants_more() { pump_soon(); }

void feed_server::drop(feed_reader& reader) {
  counted_.dropped.fetch_add(1);
  spdlog::warn("feed_dropped run={} at={}", reader.asked().run ? digd::quoted(*reader.asked().run) : "all", reader.at);
  reader.close(close_code::too_slow, "too slow: the feed waits for nobody; go on with ?since= the last seq you have",
               true);
}

void feed_server::closed(feed_reader& reader) {
  std::erase_if(readers_, [&](const auto& each) { return each.get() == &reader; });
  counted_.readers.store(readers_.size());
  if (!readers_.empty()) return;
  shared_.clear();
  bytes_ = 0;
  tail_known_ = false;
}

// ---- the tail

void feed_server::wake() {
  if (counted_.readers.load(std::memory_order_relaxed) > 0) pump_soon();
}

void feed_server::pump_soon() {
  if (!woken_.exchange(true)) boost::asio::post(context_, [this] { pump(); });
}

void feed_server::forget(std::uint64_t run_number) {
  boost::asio::post(context_, [this, run_number] {
    for (item& item : shared_) {
      if (item.entry.run_number != run_number) continue;
      bytes_ -= item.bytes;
      item.bytes = 0;
      item.plain.clear();
      item.full.clear();
      item.has_plain = item.has_full = true;  // nothing to tell
      item.entry.frame.clear();
      item.entry.detections.clear();
    }
  });
}

// One piece of the tail, and a turn for each reader; again while there is more to do.
void feed_server::pump() {
  woken_.store(false);
  if (readers_.empty() || stopping_ || !open_archive()) return;
  bool more = tail_known_ && read_tail();
  for (const auto& reader : std::vector(readers_)) more = serve(*reader) || more;
  if (more) pump_soon();
}

bool feed_server::read_tail() {
  auto piece = reads_->entries_after(tail_, 0);
  if (!piece) {
    cannot_read(piece.error());
    return false;
  }
  for (archive::watched_entry& entry : *piece) {
    tail_ = entry.id;
    item& item = shared_.emplace_back();
    item.bytes = entry.bytes() * 2;  // as it is, and as frames
    bytes_ += item.bytes;
    item.entry = std::move(entry);
  }
  const bool more = piece->size() >= archive::browser::most_entries;
  // Whoever has room takes its part before the oldest goes.
  for (const auto& reader : std::vector(readers_)) {
    if (reader->is_open() && is_shared(reader->at)) serve_shared(*reader);
  }
  while (shared_.size() > shared_entries || bytes_ > shared_bytes) {
    shared_from_ = shared_.front().entry.id;
    bytes_ -= shared_.front().bytes;
    shared_.pop_front();
  }
  return more;
}

// True: it has room, and there is more for it.
bool feed_server::serve(feed_reader& reader) {
  if (!reader.is_open()) return false;
  if (is_shared(reader.at) || reader.at >= tail_) return serve_shared(reader);
  if (reader.live) {
    drop(reader);
    return false;
  }
  return reader.has_room() && catch_up(reader);
}

bool feed_server::serve_shared(feed_reader& reader) {
  auto at = std::upper_bound(shared_.begin(), shared_.end(), reader.at,
                             [](std::int64_t seq, const item& each) { return seq < each.entry.id; });
  for (; at != shared_.end() && reader.has_room(); ++at) {
    give(reader, *at);
    reader.at = at->entry.id;
  }
  if (at == shared_.end()) reader.live = true;
  return false;  // what it has no room for it asks for
}

bool feed_server::catch_up(feed_reader& reader) {
  if (reader.asked().run && reader.run_number == 0) {
    const auto found = reads_->find(*reader.asked().run);
    if (!found) {
      cannot_read(found.error());
      return false;
    }
    if (!*found) {  // not there yet: it has missed nothing
      reader.at = tail_;
      return true;
    }
    reader.run_number = (*found)->number;
  }
  const std::int64_t upto = tail_;
  auto piece = reads_->entries_after(reader.at, reader.run_number);
  if (!piece) {
    cannot_read(piece.error());
    return false;
  }
  for (archive::watched_entry& entry : *piece) {
    item alone;
    reader.at = entry.id;
    alone.entry = std::move(entry);
    give(reader, alone);
  }
  if (piece->empty()) reader.at = std::max(reader.at, upto);
  return true;
}

void feed_server::give(feed_reader& reader, item& item) {
  if (reader.asked().run && *reader.asked().run != item.entry.run) return;
  if (const grant_ptr& grant = reader.asked().grant) {
    if (grant->is_revoked()) return reader.close(close_code::fatal_error, "unauthorized", true);
    if (!grant->covers(item.entry.run)) return;
  }
  for (const auto& frame : frames_of(item, reader.asked().payloads)) {
    counted_.frames.fetch_add(1, std::memory_order_relaxed);
    reader.send(frame);
  }
}

const std::vector<std::shared_ptr<const std::string>>& feed_server::frames_of(item& item, bool payloads) {
  auto& frames = payloads ? item.full : item.plain;
  bool& has = payloads ? item.has_full : item.has_plain;
  if (!has) {
    has = true;
    for (std::string& text : feed_frames(item.entry, payloads)) {
      frames.push_back(std::make_shared<const std::string>(std::move(text)));
    }
  }
  return frames;
}

void feed_server::cannot_read(const boost::system::error_code& ec) {
  spdlog::error("feed_cannot_read why={}", digd::quoted(ec.message()));
  for (const auto& reader : std::vector(readers_))
    reader->close(close_code::going_away, "the archive cannot be read", true);
}

}  // namespace digd::daemon
