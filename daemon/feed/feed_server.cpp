#include "daemon/feed/feed_server.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "daemon/feed/frames.h"
#include "daemon/log.h"
#include "engine/quote.h"
#include "engine/thread_name.h"

namespace digd::daemon {

namespace {
using ingest::close_code;
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
    for (const auto& one : std::vector(readers_)) one->close(close_code::going_away, "the daemon stops", true);
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

void feed_server::admit(ingest::batched_stream stream, const ingest::upgrade_request& request, feed_request asked,
                        connection_ticket ticket) {
  if (stopping_) return;
  const auto one = std::make_shared<feed_reader>(*this, std::move(stream), std::move(asked), std::move(ticket));
  readers_.push_back(one);
  counted_.readers.store(readers_.size());
  // Placed before it hears that it is connected: what is committed from then on is told.
  const bool placed = open_archive() && place(*one);
  one->accept(request);
  if (!placed) one->close(close_code::going_away, "the archive cannot be read", true);
}

bool feed_server::place(feed_reader& one) {
  const auto last = reads_->last_seq();
  if (!last) return false;
  const std::int64_t highest = std::max(*last, tail_);
  if (!tail_known_) {
    tail_known_ = true;
    shared_from_ = tail_ = *last;
  }
  // Numbers are never used again: beyond the highest there is nothing that could be missed.
  one.at = std::min(one.asked().since.value_or(highest), highest);
  return true;
}

bool feed_server::open_archive() {
  if (reads_) return true;
  std::string why;
  auto opened = archive::browser::open(path_, &why);
  if (opened) reads_ = std::move(*opened);
  if (!opened) spdlog::error("feed_cannot_read why={}", quoted(why));
  return reads_ != nullptr;
}

// ---- what readers tell

void feed_server::opened(feed_reader& one) {
  spdlog::info("feed_open run={} at={}", one.asked().run ? quoted(*one.asked().run) : "all", one.at);
  pump_soon();
}

void feed_server::wants_more() { pump_soon(); }

void feed_server::drop(feed_reader& one) {
  counted_.dropped.fetch_add(1);
  spdlog::warn("feed_dropped run={} at={}", one.asked().run ? quoted(*one.asked().run) : "all", one.at);
  one.close(close_code::too_slow, "too slow: the feed waits for nobody; go on with ?since= the last seq you have", true);
}

void feed_server::closed(feed_reader& one) {
  std::erase_if(readers_, [&](const auto& each) { return each.get() == &one; });
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
    for (item& one : shared_) {
      if (one.entry.run_number != run_number) continue;
      bytes_ -= one.bytes;
      one.bytes = 0;
      one.plain.clear();
      one.full.clear();
      one.has_plain = one.has_full = true;  // nothing to tell
      one.entry.frame.clear();
      one.entry.detections.clear();
    }
  });
}

// One piece of the tail, and a turn for each reader; again while there is more to do.
void feed_server::pump() {
  woken_.store(false);
  if (readers_.empty() || stopping_ || !open_archive()) return;
  bool more = tail_known_ && read_tail();
  for (const auto& one : std::vector(readers_)) more = serve(*one) || more;
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
    item& one = shared_.emplace_back();
    one.bytes = entry.bytes() * 2;  // as it is, and as frames
    bytes_ += one.bytes;
    one.entry = std::move(entry);
  }
  const bool more = piece->size() >= archive::browser::most_entries;
  // Whoever has room takes its part before the oldest goes.
  for (const auto& one : std::vector(readers_)) {
    if (one->is_open() && is_shared(one->at)) serve_shared(*one);
  }
  while (shared_.size() > shared_entries || bytes_ > shared_bytes) {
    shared_from_ = shared_.front().entry.id;
    bytes_ -= shared_.front().bytes;
    shared_.pop_front();
  }
  return more;
}

// True: it has room, and there is more for it.
bool feed_server::serve(feed_reader& one) {
  if (!one.is_open()) return false;
  if (is_shared(one.at) || one.at >= tail_) return serve_shared(one);
  if (one.live) {
    drop(one);
    return false;
  }
  return one.has_room() && catch_up(one);
}

bool feed_server::serve_shared(feed_reader& one) {
  auto at = std::upper_bound(shared_.begin(), shared_.end(), one.at,
                             [](std::int64_t seq, const item& each) { return seq < each.entry.id; });
  for (; at != shared_.end() && one.has_room(); ++at) {
    give(one, *at);
    one.at = at->entry.id;
  }
  if (at == shared_.end()) one.live = true;
  return false;  // what it has no room for it asks for
}

bool feed_server::catch_up(feed_reader& one) {
  if (one.asked().run && one.run_number == 0) {
    const auto found = reads_->find(*one.asked().run);
    if (!found) {
      cannot_read(found.error());
      return false;
    }
    if (!*found) {  // not there yet: it has missed nothing
      one.at = tail_;
      return true;
    }
    one.run_number = (*found)->number;
  }
  const std::int64_t upto = tail_;
  auto piece = reads_->entries_after(one.at, one.run_number);
  if (!piece) {
    cannot_read(piece.error());
    return false;
  }
  for (archive::watched_entry& entry : *piece) {
    item alone;
    one.at = entry.id;
    alone.entry = std::move(entry);
    give(one, alone);
  }
  if (piece->empty()) one.at = std::max(one.at, upto);
  return true;
}

void feed_server::give(feed_reader& one, item& what) {
  if (one.asked().run && *one.asked().run != what.entry.run) return;
  if (const grant_ptr& with = one.asked().with) {
    if (with->is_revoked()) return one.close(close_code::fatal_error, "unauthorized", true);
    if (!with->covers(what.entry.run)) return;
  }
  for (const auto& frame : frames_of(what, one.asked().payloads)) {
    counted_.frames.fetch_add(1, std::memory_order_relaxed);
    one.send(frame);
  }
}

const std::vector<std::shared_ptr<const std::string>>& feed_server::frames_of(item& what, bool payloads) {
  auto& frames = payloads ? what.full : what.plain;
  bool& has = payloads ? what.has_full : what.has_plain;
  if (!has) {
    has = true;
    for (std::string& text : feed_frames(what.entry, payloads)) {
      frames.push_back(std::make_shared<const std::string>(std::move(text)));
    }
  }
  return frames;
}

void feed_server::cannot_read(const boost::system::error_code& ec) {
  spdlog::error("feed_cannot_read why={}", quoted(ec.message()));
  for (const auto& one : std::vector(readers_)) one->close(close_code::going_away, "the archive cannot be read", true);
}

}  // namespace digd::daemon
