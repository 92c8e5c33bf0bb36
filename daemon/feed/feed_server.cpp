#include "daemon/feed/feed_server.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/quote.h"
#include "base/thread_name.h"
#include "report/stored_runs/feed_frames.h"

namespace digd::daemon {

namespace {
using net::close_code;
constexpr std::chrono::seconds max_close_wait{3};
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
    for (const auto& reader : std::vector(readers_)) reader->close(close_code::going_away, "the daemon stops");
    work_.reset();
  });
  // Each reader ends by its own deadline; this one only guards against an error in the readers.
  const auto deadline = std::chrono::steady_clock::now() + max_close_wait;
  while (counted_.readers.load() > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  context_.stop();
  thread_.join();
  readers_.clear();
}

ticket_ptr feed_server::take_place(const std::string& client) {
  ticket_ptr place = places_.take(client);
  if (!place) counted_.refused.fetch_add(1);
  return place;
}

void feed_server::admit(net::batched_stream stream, const net::upgrade_request& request, feed_request asked,
                        connection_ticket ticket) {
  if (stopping_) return;
  const auto reader =
      std::make_shared<feed_reader>(*this, context_, std::move(stream), std::move(asked), std::move(ticket));
  reader->watch_memory();
  readers_.push_back(reader);
  counted_.readers.store(readers_.size());
  // Sets the position before the client is connected, so that it gets every entry committed after that.
  const bool placed = open_archive() && set_start(*reader);
  reader->accept(request);
  if (!placed) reader->close(close_code::going_away, "the archive cannot be read");
}

bool feed_server::set_start(feed_reader& reader) {
  const auto last = reads_->last_seq();
  if (!last) return false;
  const std::int64_t highest = std::max(*last, tail_);
  if (!tail_known_) {
    tail_known_ = true;
    shared_from_ = tail_ = *last;
  }
  // The archive never reuses numbers, so a reader beyond the highest one can miss nothing.
  reader.at = std::min(reader.asked().since.value_or(highest), highest);
  return true;
}

bool feed_server::open_archive() {
  if (reads_) return true;
  std::string problem;
  auto opened = archive::browser::open(path_, &problem);
  if (opened) reads_ = std::move(*opened);
  if (!opened) spdlog::error("feed_cannot_read reason={}", digd::quoted(problem));
  return reads_ != nullptr;
}

// ---- calls of readers

void feed_server::opened(feed_reader& reader) {
  spdlog::info("feed_open run={} at={}", reader.asked().run ? digd::quoted(*reader.asked().run) : "all", reader.at);
  pump_soon();
}

void feed_server::wants_more() { pump_soon(); }

void feed_server::drop(feed_reader& reader) {
  counted_.dropped.fetch_add(1);
  spdlog::warn("feed_dropped run={} at={}", reader.asked().run ? digd::quoted(*reader.asked().run) : "all", reader.at);
  reader.close(close_code::too_slow, "too slow: reconnect with ?since= and the last seq you have");
}

void feed_server::closed(feed_reader& reader) {
  std::erase_if(readers_, [&](const auto& open) { return open.get() == &reader; });
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
  if (!pump_posted_.exchange(true)) boost::asio::post(context_, [this] { pump(); });
}

void feed_server::forget(std::uint64_t run_number) {
  boost::asio::post(context_, [this, run_number] {
    for (tail_entry& deleted : shared_) {
      if (deleted.entry.run_number != run_number) continue;
      bytes_ -= deleted.bytes;
      deleted.bytes = 0;
      deleted.plain.clear();
      deleted.full.clear();
      deleted.has_plain = deleted.has_full = true;  // there are no frames
      archive::watched_entry forgotten;
      forgotten.id = deleted.entry.id;
      forgotten.run_number = run_number;
      deleted.entry = std::move(forgotten);
    }
  });
}

// Reads one piece of the tail and serves each reader once. Posts itself again while there is more to do.
void feed_server::pump() {
  pump_posted_.store(false);
  if (readers_.empty() || stopping_ || !open_archive()) return;
  bool more = tail_known_ && read_tail();
  for (const auto& reader : std::vector(readers_)) more = serve(*reader) || more;
  if (more) pump_soon();
}

bool feed_server::read_tail() {
  auto piece = reads_->entries_after(tail_, 0);
  if (!piece) {
    close_all(piece.error());
    return false;
  }
  for (archive::watched_entry& entry : *piece) {
    tail_ = entry.id;
    tail_entry& added = shared_.emplace_back();
    added.bytes = entry.bytes() * 2;  // the entry, and its frames
    bytes_ += added.bytes;
    added.entry = std::move(entry);
  }
  const bool more = !piece->empty();  // a piece has a maximum size, so more entries may follow
  // Readers with room get their entries before the oldest ones are dropped.
  for (const auto& reader : std::vector(readers_)) {
    if (reader->is_open() && is_shared(reader->at)) serve_shared(*reader);
  }
  while (shared_.size() > max_shared_entries || bytes_ > max_shared_bytes) {
    shared_from_ = shared_.front().entry.id;
    bytes_ -= shared_.front().bytes;
    shared_.pop_front();
  }
  return more;
}

// Returns whether the reader has room and there is more for it.
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
                             [](std::int64_t seq, const tail_entry& shared) { return seq < shared.entry.id; });
  for (; at != shared_.end() && reader.has_room(); ++at) {
    send_entry(reader, *at);
    reader.at = at->entry.id;
  }
  if (at == shared_.end()) reader.live = true;
  return false;  // a reader without room asks for the rest later
}

bool feed_server::catch_up(feed_reader& reader) {
  if (reader.asked().run && reader.run_number == 0) {
    const auto found = reads_->find(*reader.asked().run);
    if (!found) {
      close_all(found.error());
      return false;
    }
    if (!*found) {  // the run does not exist yet, so the reader missed nothing
      reader.at = tail_;
      return true;
    }
    reader.run_number = (*found)->number;
  }
  const std::int64_t upto = tail_;
  auto piece = reads_->entries_after(reader.at, reader.run_number);
  if (!piece) {
    close_all(piece.error());
    return false;
  }
  for (archive::watched_entry& entry : *piece) {
    tail_entry own;  // read for this reader alone
    reader.at = entry.id;
    own.entry = std::move(entry);
    send_entry(reader, own);
  }
  if (piece->empty()) reader.at = std::max(reader.at, upto);
  return true;
}

void feed_server::send_entry(feed_reader& reader, tail_entry& tail_entry) {
  if (reader.asked().run && *reader.asked().run != tail_entry.entry.run) return;
  if (const grant_ptr& grant = reader.asked().grant) {
    if (grant->is_revoked()) return reader.close(close_code::fatal_error, "unauthorized");
    if (!grant->covers(tail_entry.entry.run)) return;
  }
  for (const auto& frame : frames_of(tail_entry, reader.asked().payloads)) {
    counted_.frames.fetch_add(1, std::memory_order_relaxed);
    reader.send(frame);
  }
}

const std::vector<std::shared_ptr<const std::string>>& feed_server::frames_of(tail_entry& tail_entry, bool payloads) {
  auto& frames = payloads ? tail_entry.full : tail_entry.plain;
  bool& has = payloads ? tail_entry.has_full : tail_entry.has_plain;
  if (!has) {
    has = true;
    for (std::string& frame : stored::feed_frames(tail_entry.entry, payloads)) {
      frames.push_back(std::make_shared<const std::string>(std::move(frame)));
    }
  }
  return frames;
}

void feed_server::close_all(const boost::system::error_code& ec) {
  spdlog::error("feed_cannot_read reason={}", digd::quoted(ec.message()));
  for (const auto& reader : std::vector(readers_)) reader->close(close_code::going_away, "the archive cannot be read");
}

}  // namespace digd::daemon
