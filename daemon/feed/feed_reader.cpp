#include "daemon/feed/feed_reader.h"

#include <boost/asio/post.hpp>
#include <boost/beast/http/field.hpp>
#include <utility>

namespace digd::daemon {

namespace {

namespace websocket = boost::beast::websocket;
using boost::system::error_code;

constexpr std::size_t max_incoming_bytes = 4 * 1024;  // digd ignores what a reader sends
constexpr std::size_t max_reason_bytes = 120;
constexpr std::chrono::seconds max_closing_time{2};

}  // namespace

feed_reader::feed_reader(feed_listener& feed, boost::asio::io_context& context, net::batched_stream stream,
                         feed_request asked, connection_ticket ticket)
    : feed_(feed),
      ws_(std::move(stream)),
      asked_(std::move(asked)),
      ticket_(std::move(ticket)),
      deadline_(context.get_executor()) {
  websocket::stream_base::timeout times;
  times.handshake_timeout = std::chrono::seconds(10);
  times.idle_timeout = std::chrono::seconds(60);
  times.keep_alive_pings = true;
  ws_.set_option(times);
  ws_.auto_fragment(false);
  ws_.text(true);
  ws_.read_message_max(max_incoming_bytes);
}

void feed_reader::watch_memory() {
  if (!ticket_->memory()) return;
  ticket_->memory()->allow(asked_.grant ? asked_.grant->memory() : nullptr);
  ticket_->memory()->on_close([executor = deadline_.get_executor(), me = weak_from_this()] {
    boost::asio::post(executor, [me] {
      if (const auto self = me.lock()) self->abort();
    });
  });
}

void feed_reader::accept(const net::upgrade_request& request) {
  ws_.set_option(websocket::stream_base::decorator([at = at](websocket::response_type& response) {
    response.set(boost::beast::http::field::sec_websocket_protocol, {feed_subprotocol.data(), feed_subprotocol.size()});
    response.set(boost::beast::http::field::server, "digd");
    response.set("Digd-Seq", std::to_string(at));
  }));
  ws_.async_accept(request, [self = shared_from_this()](error_code ec) {
    if (ec || self->finished_) return self->finish();
    self->open_ = true;
    if (self->closing_) return self->start_closing();
    self->read();
    self->feed_.opened(*self);
  });
}

// Reads what the client sends, so that pings and its close are handled, and drops it.
void feed_reader::read() {
  ws_.async_read(in_, [self = shared_from_this()](error_code ec, std::size_t) {
    if (self->close_sent_) return;
    if (ec) return self->finish();
    self->in_.clear();
    self->read();
  });
}

void feed_reader::send(std::shared_ptr<const std::string> frame) {
  if (!is_open()) return;
  out_bytes_ += frame->size();
  out_.push_back(std::move(frame));
  if (writing_ == 0) write();
}

// The first frame that waits, or with `batch` an array of several. The buffer stays valid until it is written.
boost::asio::const_buffer feed_reader::next_message() {
  writing_ = 1;
  if (!asked_.batch) return boost::asio::buffer(*out_.front());
  batch_.assign(1, '[').append(*out_.front());
  for (; writing_ < out_.size() && batch_.size() < max_batch_bytes; ++writing_)
    batch_.append(1, ',').append(*out_[writing_]);
  batch_ += ']';
  return boost::asio::buffer(batch_);
}

void feed_reader::write() {
  watch(max_take_time);
  ws_.async_write(next_message(), [self = shared_from_this()](error_code ec, std::size_t) { self->on_written(ec); });
}

void feed_reader::on_written(error_code ec) {
  deadline_.cancel();
  if (finished_) return;
  if (ec) return finish();
  for (; writing_ > 0; --writing_) {
    out_bytes_ -= out_.front()->size();
    out_.pop_front();
  }
  if (closing_ && out_.empty()) return start_closing();
  if (!out_.empty()) write();
  if (!closing_ && out_bytes_ < max_bytes / 2) feed_.wants_more();
}

void feed_reader::watch(std::chrono::milliseconds within) {
  deadline_.expires_after(within);
  deadline_.async_wait([me = weak_from_this()](error_code ec) {
    const auto self = me.lock();
    if (ec || !self || self->finished_) return;
    if (self->closing_) return self->abort();
    self->feed_.drop(*self);
  });
}

void feed_reader::close(net::close_code code, std::string_view reason) {
  if (closing_ || finished_) return;
  closing_ = true;
  reason_.code = static_cast<websocket::close_code>(code);
  const std::string_view cut = reason.substr(0, max_reason_bytes);
  reason_.reason.assign(cut.data(), cut.size());
  out_.resize(std::min(out_.size(), writing_));
  watch(max_closing_time);
  if (open_ && writing_ == 0 && out_.empty()) start_closing();
}

void feed_reader::start_closing() {
  if (close_sent_ || finished_) return;
  close_sent_ = true;
  watch(max_closing_time);
  ws_.async_close(reason_, [self = shared_from_this()](error_code) { self->finish(); });
}

void feed_reader::abort() { finish(); }

void feed_reader::finish() {
  if (finished_) return;
  finished_ = true;
  deadline_.cancel();
  error_code ignored;
  boost::beast::get_lowest_layer(ws_).close(ignored);
  ticket_.reset();
  asked_.place.reset();
  asked_.counted.reset();
  feed_.closed(*this);
}

}  // namespace digd::daemon
