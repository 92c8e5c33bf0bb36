#include "net/websocket_session.h"

#include <algorithm>
#include <boost/beast/http/field.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <utility>

#include "net/websocket_teardown.h"

namespace digd::net {

namespace {

namespace websocket = boost::beast::websocket;
using boost::system::error_code;

// The size at which the next batch begins. A client that does not read makes the server keep only this much of a batch.
constexpr std::size_t max_batch_bytes = 64 * 1024;

websocket::stream_base::timeout times_of(const websocket_session::options& options) {
  websocket::stream_base::timeout times;
  times.handshake_timeout = options.handshake;
  times.idle_timeout = websocket::stream_base::none();
  times.keep_alive_pings = false;
  return times;
}

}  // namespace

struct websocket_session::handshake {
  explicit handshake(batched_stream over) : stream(std::move(over)) {}
  websocket::stream<batched_stream, false> stream;
};

websocket_session::websocket_session(batched_stream stream, options options, std::shared_ptr<listener> to)
    : options_(std::move(options)),
      listener_(std::move(to)),
      closing_timer_(stream.get_executor()),
      idle_timer_(stream.get_executor()),
      ping_timer_(stream.get_executor()),
      handshake_(std::make_unique<handshake>(std::move(stream))),
      reader_(options_.message_bytes) {
  handshake_->stream.set_option(times_of(options_));
}

websocket_session::~websocket_session() = default;

void websocket_session::limit_messages(std::size_t bytes) { reader_.limit_messages(bytes); }

void websocket_session::accept(const upgrade_request& request) {
  handshake_->stream.set_option(
      websocket::stream_base::decorator([name = options_.subprotocol](websocket::response_type& response) {
        response.set(boost::beast::http::field::sec_websocket_protocol, name);
        response.set(boost::beast::http::field::server, "digd");
      }));
  handshake_->stream.async_accept(request, [self = shared_from_this()](error_code ec) { self->on_accept(ec); });
}

void websocket_session::on_accept(error_code ec) {
  if (finished_) return;
  if (ec) return finish(ec.message());
  batched_stream& stream = handshake_->stream.next_layer();
  socket_.emplace(std::move(stream.next_layer()));
  ahead_ = stream.take_unread();
  handshake_.reset();
  socket_->non_blocking(true, ec);
  if (ec) return finish(ec.message());
  open_ = true;
  watch_idleness();
  if (closing_) {
    send_close();
  } else {
    listener_->on_open();
  }
  read();
}

// ---- reading

void websocket_session::read() {
  if (finished_) return;
  if (!end_reason_.empty()) reader_.drop();
  const std::span<char> room = reader_.room();
  if (!ahead_.empty()) {
    const std::size_t bytes = ahead_.copy(room.data(), room.size());
    ahead_.erase(0, bytes);
    return asio::post(socket_->get_executor(), [self = shared_from_this(), bytes] { self->on_read({}, bytes); });
  }
  socket_->async_read_some(asio::buffer(room.data(), room.size()),
                           [self = shared_from_this()](error_code ec, std::size_t bytes) { self->on_read(ec, bytes); });
}

void websocket_session::on_read(error_code ec, std::size_t bytes) {
  if (finished_) return;
  if (ec) return finish(end_reason_.empty() ? ec.message() : end_reason_);
  if (!end_reason_.empty()) return read();
  received_since_check_ = true;
  read_at_ = std::chrono::steady_clock::now();
  reader_.filled(bytes);
  take_frames();
}

// One turn: the frames of the last read, until the listener pauses.
void websocket_session::take_frames() {
  if (finished_) return;
  in_turn_ = true;
  bool continues = true;
  while (continues && !finished_ && end_reason_.empty()) {
    const websocket_event event = reader_.next();
    if (event.kind == websocket_event::frame_kind::none) break;
    continues = take(event);
  }
  in_turn_ = false;
  continues = continues || closing_;                           // nobody resumes a session that closes
  if (!continues && !finished_) paused_ = shared_from_this();  // before flush: on_drained may resume
  flush();
  if (listener_) listener_->on_turn_end();  // after the answers are on their way
  report_memory();
  if (continues && !finished_) read();
}

// Whether to continue reading.
bool websocket_session::take(const websocket_event& event) {
  switch (event.kind) {
    case websocket_event::frame_kind::none:
    case websocket_event::frame_kind::pong: return true;
    case websocket_event::frame_kind::ping: return close_sent_ || answer_ping(event.payload);
    case websocket_event::frame_kind::close: on_peer_close(event); return true;
    case websocket_event::frame_kind::broken: on_broken(event); return true;
    case websocket_event::frame_kind::text:
    case websocket_event::frame_kind::binary:
    case websocket_event::frame_kind::too_large: return closing_ || tell_listener(event);
  }
  return true;
}

bool websocket_session::tell_listener(const websocket_event& event) {
  if (event.kind == websocket_event::frame_kind::text) return listener_->on_text(event.payload, read_at_);
  if (event.kind == websocket_event::frame_kind::binary) return listener_->on_binary(read_at_);
  return listener_->on_too_large(event.bytes, read_at_);
}

// A pong counts against the queue like any other frame: the client may not read.
bool websocket_session::answer_ping(std::string_view payload) {
  if (!has_room_for(payload.size())) {
    close(close_code::too_slow, slow_client_words);
    return true;
  }
  append(websocket_opcode::pong, payload);
  if (read_at_ - ping_second_ >= std::chrono::seconds(1)) {
    ping_second_ = read_at_;
    pings_ = 0;
  }
  if (++pings_ <= options_.max_pings_per_s || closing_) return true;
  wait_for_next_second();
  return false;
}

void websocket_session::wait_for_next_second() {
  too_many_pings_ = true;
  listener_->on_too_many_pings();
  ping_timer_.expires_at(ping_second_ + std::chrono::seconds(1));
  ping_timer_.async_wait([me = weak_from_this()](error_code) {
    const auto self = me.lock();
    if (!self || self->finished_) return;
    self->too_many_pings_ = false;
    self->resume();
  });
}

// Posted, because the caller may still be handling an earlier frame.
void websocket_session::resume() {
  if (too_many_pings_) return;
  if (auto self = std::exchange(paused_, nullptr)) {
    asio::post(socket_->get_executor(), [self = std::move(self)] {
      self->read_at_ = std::chrono::steady_clock::now();  // the time of the pause is not latency of the server
      self->take_frames();
    });
  }
}

// ---- writing

void websocket_session::send(std::string_view frame) {
  if (closing_ || finished_) return;
  if (!has_room_for(frame.size())) return close(close_code::too_slow, slow_client_words);
  append(websocket_opcode::text, frame);
}

bool websocket_session::has_room_for(std::size_t bytes) const {
  const bool is_large = bytes > large_frame_bytes;
  const bool is_full = is_large ? large_bytes_ > max_large_bytes : out_bytes_ + bytes > options_.queue_bytes;
  return out_frames_ < options_.queue_frames && !is_full;
}

void websocket_session::append(websocket_opcode opcode, std::string_view payload) {
  const bool is_large = payload.size() > large_frame_bytes;
  const bool begins_batch = out_.empty() || out_.back().bytes.size() >= max_batch_bytes || out_.back().is_large;
  if (begins_batch || (is_large && out_.back().frames > 0)) out_.emplace_back();
  out_.back().is_large = is_large;
  const std::size_t before = out_.back().bytes.size();
  append_websocket_frame(out_.back().bytes, opcode, payload);
  (is_large ? large_bytes_ : out_bytes_) += out_.back().bytes.size() - before;
  ++out_.back().frames;
  ++out_frames_;
  if (open_ && !in_turn_) flush_soon();
}

// Frames that are sent outside a turn are written at once.
void websocket_session::flush_soon() {
  if (std::exchange(flush_posted_, true)) return;
  asio::post(socket_->get_executor(), [self = shared_from_this()] {
    self->flush_posted_ = false;
    self->flush();
    self->report_memory();
  });
}

void websocket_session::flush() {
  while (!out_.empty() && !waiting_ && !finished_) {
    const batch& first = out_.front();
    error_code ec;
    const std::size_t bytes =
        socket_->write_some(asio::buffer(first.bytes.data() + written_, first.bytes.size() - written_), ec);
    if (ec == asio::error::would_block || ec == asio::error::try_again) {
      waiting_ = true;
      socket_->async_wait(stream_socket::wait_write, [self = shared_from_this()](error_code failed) {
        self->waiting_ = false;
        if (failed) return;
        self->flush();
        self->report_memory();
      });
      return;
    }
    if (ec) return finish(ec.message());
    written_ += bytes;
    wrote_ = true;
    (first.is_large ? large_bytes_ : out_bytes_) -= bytes;
    if (written_ < first.bytes.size()) continue;
    out_frames_ -= first.frames;
    written_ = 0;
    if (out_.size() == 1 && first.bytes.capacity() <= 2 * max_batch_bytes) {  // its memory is used again
      out_.front().bytes.clear();
      out_.front().frames = 0;
      out_.front().is_large = false;
      break;
    }
    out_.pop_front();
  }
  if (open_ && !closing_ && !finished_ && unwritten() == 0) listener_->on_drained();
  if (!end_reason_.empty() && !waiting_ && !finished_) hang_up();
}

// The server has sent everything. The client's close, or the timer, ends the connection.
void websocket_session::hang_up() {
  error_code ignored;
  socket_->shutdown(stream_socket::shutdown_send, ignored);
}

// ---- closing

void websocket_session::close(close_code code, std::string_view reason) {
  if (closing_ || finished_) return;
  closing_ = true;
  close_payload_ = close_payload(static_cast<std::uint16_t>(code), reason);
  if (code == close_code::too_slow) drop_unwritten();
  close_within();
  if (open_) send_close();
  if (too_many_pings_) ping_timer_.cancel();  // cancelling calls its handler, which resumes reading
  resume();
}

void websocket_session::close_and_drop(close_code code, std::string_view reason) {
  if (finished_) return;
  if (!open_) return abort();
  // Nothing follows a close frame in the queue, so it is in the last batch.
  const bool drops_close = close_sent_ && unwritten() > 0 && has_unbegun_batches();
  drop_unwritten();
  if (drops_close) {
    close_sent_ = false;
    send_close();
  }
  close(code, reason);
  drop_input(std::string(reason));
  reader_.drop();
  report_memory();
}

void websocket_session::report_memory() {
  if (finished_) return;
  const auto rounded = [](std::size_t bytes) { return bytes / memory_step * memory_step; };
  const std::size_t partial = rounded(reader_.kept_bytes()), unwritten = rounded(this->unwritten());
  if (partial == reported_partial_ && unwritten == reported_unwritten_) return;
  reported_partial_ = partial;
  reported_unwritten_ = unwritten;
  listener_->on_memory(partial, unwritten);
}

// Whether there are batches of which nothing is written.
bool websocket_session::has_unbegun_batches() const { return out_.size() > (written_ > 0 ? 1u : 0u); }

// Drops all batches but one that is partly written.
void websocket_session::drop_unwritten() {
  while (has_unbegun_batches()) {
    (out_.back().is_large ? large_bytes_ : out_bytes_) -= out_.back().bytes.size();
    out_frames_ -= out_.back().frames;
    out_.pop_back();
  }
}

void websocket_session::send_close() {
  if (close_sent_ || finished_) return;
  close_sent_ = true;
  append(websocket_opcode::close, close_payload_);
}

void websocket_session::on_peer_close(const websocket_event& event) {
  if (close_sent_) return finish(std::string_view(close_payload_).substr(2));
  close_payload_ = event.code == 1005 ? std::string() : close_payload(event.code, {});
  send_close();
  drop_input("closed by the client");
}

void websocket_session::on_broken(const websocket_event& event) {
  close_payload_ = close_payload(event.code, event.payload);
  send_close();
  drop_input(std::string(event.payload));
}

// Queues and handles nothing more. Reads and drops input until the client closes too: closing a socket with unread
// bytes would discard what was just sent.
void websocket_session::drop_input(std::string reason) {
  closing_ = true;
  end_reason_ = std::move(reason);
  close_within();
}

void websocket_session::close_within() {
  closing_timer_.expires_after(options_.closing);
  closing_timer_.async_wait([self = shared_from_this()](error_code ec) {
    if (!ec) self->abort();
  });
}

void websocket_session::abort() {
  if (!end_reason_.empty()) return finish(std::string(end_reason_));
  if (!closing_) return finish("aborted");
  finish(close_payload_.substr(std::min<std::size_t>(2, close_payload_.size())) + "; it did not answer");
}

// Sends a ping to a silent client, and closes the connection if the client does not answer that either.
void websocket_session::watch_idleness() {
  idle_timer_.expires_after(options_.idle / 2);
  idle_timer_.async_wait([me = weak_from_this()](error_code ec) {
    const auto self = me.lock();
    if (ec || !self || self->finished_) return;
    const bool is_stuck = self->waiting_ && !std::exchange(self->wrote_, false);
    if (is_stuck && self->stuck_) return self->finish(slow_client_words);
    self->stuck_ = is_stuck;
    if (self->received_since_check_ || self->paused_) {
      self->received_since_check_ = self->pinged_since_check_ = false;
    } else if (!self->pinged_since_check_) {
      self->pinged_since_check_ = true;
      if (!self->close_sent_) self->append(websocket_opcode::ping, {});
    } else {
      return self->finish(idle_words);
    }
    self->watch_idleness();
  });
}

void websocket_session::finish(std::string_view reason) {
  if (finished_) return;
  finished_ = true;
  const auto self = shared_from_this();
  const std::string words(reason);
  paused_.reset();
  closing_timer_.cancel();
  idle_timer_.cancel();
  ping_timer_.cancel();
  error_code ignored;
  if (socket_) socket_->close(ignored);
  if (handshake_) handshake_->stream.next_layer().next_layer().close(ignored);
  if (const auto to = std::exchange(listener_, nullptr)) to->on_closed(words);
}

}  // namespace digd::net
