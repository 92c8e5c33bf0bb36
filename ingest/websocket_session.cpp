#include "ingest/websocket_session.h"

#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/http/field.hpp>
#include <limits>
#include <utility>

namespace digd::ingest {

namespace {

namespace beast = boost::beast;
namespace websocket = beast::websocket;
using boost::system::error_code;

constexpr std::size_t read_at_once = 64 * 1024;
constexpr std::size_t kept_buffer = 64 * 1024;  // a larger one goes back after its message
constexpr std::size_t longest_reason = 120;     // RFC 6455 has room for 123

std::string_view text_of(const beast::flat_buffer& buffer) {
  return {static_cast<const char*>(buffer.cdata().data()), buffer.size()};
}

}  // namespace

websocket_session::websocket_session(batched_stream stream, options how, std::shared_ptr<listener> to)
    : ws_(std::move(stream)),
      how_(std::move(how)),
      listener_(std::move(to)),
      closing_timer_(ws_.get_executor()),
      message_bytes_(how_.message_bytes) {
  websocket::stream_base::timeout times;
  times.handshake_timeout = how_.handshake;
  times.idle_timeout = how_.idle;
  times.keep_alive_pings = true;
  ws_.set_option(times);
  ws_.auto_fragment(false);  // header and payload go in one call, the payload where it lies
  ws_.text(true);
  limit_messages(message_bytes_);
}

void websocket_session::limit_messages(std::size_t bytes) {
  message_bytes_ = bytes;
  const std::size_t most = std::numeric_limits<std::size_t>::max() / too_large_factor;
  ws_.read_message_max(std::min(bytes, most) * too_large_factor);
}

void websocket_session::accept(const upgrade_request& request) {
  ws_.set_option(websocket::stream_base::decorator([name = how_.subprotocol](websocket::response_type& response) {
    response.set(beast::http::field::sec_websocket_protocol, name);
    response.set(beast::http::field::server, "digd");
  }));
  ws_.async_accept(request, [self = shared_from_this()](error_code ec) { self->on_accept(ec); });
}

void websocket_session::on_accept(error_code ec) {
  if (ec) return finish(ec.message());
  open_ = true;
  if (closing_) return start_closing();
  listener_->on_open();
  read();
}

// ---- reading

void websocket_session::read() {
  if (closing_ || finished_) return;
  ws_.async_read_some(in_, read_at_once, [self = shared_from_this()](error_code ec, std::size_t) { self->on_read(ec); });
}

void websocket_session::on_read(error_code ec) {
  if (finished_ || close_sent_) return;  // whoever closes it finishes it
  if (ec) return finish(ec == websocket::error::closed ? std::string_view("closed by the client") : ec.message());
  if (closing_) return;
  if (!ws_.is_message_done()) {
    if (skipped_ + in_.size() > message_bytes_) {
      skipped_ += in_.size();
      in_.clear();
    }
    return read();
  }
  const bool more = deliver();
  in_.clear();
  skipped_ = 0;
  if (in_.capacity() > kept_buffer) in_.shrink_to_fit();
  if (more) {
    read();
  } else {
    pause();
  }
}

bool websocket_session::deliver() {
  const std::size_t bytes = skipped_ + in_.size();
  if (bytes > message_bytes_) return listener_->on_too_large(bytes);
  if (ws_.got_binary()) return listener_->on_binary();
  return listener_->on_text(text_of(in_));
}

void websocket_session::resume() {
  if (const auto self = std::exchange(paused_, nullptr)) read();
}

// ---- writing

void websocket_session::send(std::string frame) {
  if (closing_ || finished_) return;
  if (out_.size() >= how_.queue_frames || out_bytes_ + frame.size() > how_.queue_bytes) {
    return close(close_code::too_slow, slow_client_words);
  }
  out_bytes_ += frame.size();
  out_.push_back(std::move(frame));
  if (open_ && !writing_) write();
}

void websocket_session::write() {
  writing_ = true;
  ws_.async_write(net::buffer(out_.front()),
                  [self = shared_from_this()](error_code ec, std::size_t) { self->on_written(ec); });
}

void websocket_session::on_written(error_code ec) {
  writing_ = false;
  if (finished_) return;
  if (ec) return finish(ec.message());
  out_bytes_ -= out_.front().size();
  out_.pop_front();
  if (!out_.empty()) return write();
  if (closing_) start_closing();
}

// ---- closing

void websocket_session::close(close_code code, std::string_view reason) {
  if (closing_ || finished_) return;
  closing_ = true;
  reason_.code = static_cast<websocket::close_code>(code);
  const std::string_view cut = reason.substr(0, longest_reason);
  reason_.reason.assign(cut.data(), cut.size());
  if (code == close_code::too_slow) {  // all but the frame that is being written
    while (out_.size() > (writing_ ? 1u : 0u)) {
      out_bytes_ -= out_.back().size();
      out_.pop_back();
    }
  }
  closing_timer_.expires_after(how_.closing);
  closing_timer_.async_wait([self = shared_from_this()](error_code ec) {
    if (!ec) self->abort();
  });
  if (open_ && !writing_) {
    if (out_.empty()) {
      start_closing();
    } else {
      write();
    }
  }
}

void websocket_session::start_closing() {
  if (close_sent_ || finished_) return;
  close_sent_ = true;
  ws_.async_close(reason_, [self = shared_from_this()](error_code) {
    self->finish({self->reason_.reason.data(), self->reason_.reason.size()});
  });
}

void websocket_session::abort() {
  if (!closing_) return finish("aborted");
  finish(std::string(reason_.reason.data(), reason_.reason.size()) + "; it did not answer");
}

void websocket_session::finish(std::string_view why) {
  if (finished_) return;
  finished_ = true;
  const auto self = shared_from_this();
  paused_.reset();
  closing_timer_.cancel();
  error_code ignored;
  beast::get_lowest_layer(ws_).close(ignored);
  if (const auto to = std::exchange(listener_, nullptr)) to->on_closed(why);
}

}  // namespace digd::ingest
