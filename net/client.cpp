#include "net/client.h"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <deque>

#include "base/text.h"
#include "net/client_socket.h"
#include "net/websocket_teardown.h"

namespace digd::net {

namespace beast = boost::beast;
namespace websocket = beast::websocket;
using error_code = boost::system::error_code;

std::string error_message(std::string_view body) {
  boost::system::error_code ec;
  const boost::json::value value = boost::json::parse({body.data(), body.size()}, ec);
  if (ec) return {};
  const boost::json::value* message = value.find_pointer("/error/message", ec);
  return message != nullptr && message->is_string() ? std::string(message->get_string().c_str()) : std::string();
}

std::string ingest_target(std::string_view run) { return "/v1/ingest?run=" + percent_encoded(run); }

namespace {

class client final : public websocket_client {
 public:
  client(asio::io_context& io, std::string subprotocol)
      : io_(io), subprotocol_(std::move(subprotocol)), ws_(batched_stream(stream_socket(io.get_executor()))) {}

  std::string open(const server_address& to, std::string_view target, std::string_view token,
                   std::chrono::milliseconds within) override;
  bool is_open() const override { return open_; }
  std::size_t unwritten() const override { return out_bytes_; }
  std::uint16_t close_code() const override { return code_; }
  const std::string& close_reason() const override { return problem_; }
  const std::string& feed_seq() const override { return feed_seq_; }

  std::optional<std::string> take() override {
    if (in_.empty()) return {};
    std::string frame = std::move(in_.front());
    in_.pop_front();
    return frame;
  }

  void send(std::string_view frame) override {
    if (!open_) return;
    out_bytes_ += frame.size();
    out_.emplace_back(frame);
    if (out_.size() == 1) write();
  }

  void close() override {
    if (!open_) return;
    open_ = false;
    problem_ = "we closed it";
    ws_.async_close(websocket::close_code::normal, [self = mine()](error_code) { self->abort(); });
  }

  void abort() override {
    open_ = false;
    error_code ignored;
    ws_.next_layer().next_layer().close(ignored);
  }

 private:
  std::shared_ptr<client> mine() { return std::static_pointer_cast<client>(shared_from_this()); }

  void set_up(const server_address& to, std::string_view token);
  std::string refused(const server_address& to, error_code ec, const websocket::response_type& response) const;

  void read() {
    ws_.async_read(buffer_, [self = mine()](error_code ec, std::size_t) { self->on_read(ec); });
  }

  void on_read(error_code ec) {
    if (ec) return lost(ec);
    const auto data = buffer_.cdata();
    in_.emplace_back(static_cast<const char*>(data.data()), data.size());
    buffer_.consume(buffer_.size());
    read();
  }

  void write() {
    ws_.text(true);
    ws_.async_write(asio::buffer(out_.front()), [self = mine()](error_code ec, std::size_t) {
      if (ec) return;  // the read reports the reason
      self->out_bytes_ -= self->out_.front().size();
      self->out_.pop_front();
      if (!self->out_.empty()) self->write();
    });
  }

  void lost(error_code ec) {
    if (!open_) return;
    open_ = false;
    code_ = ws_.reason().code;
    problem_ = ec.message();
    if (ec == websocket::error::closed) {
      problem_ = "the daemon closed it with " + std::to_string(code_);
      if (!ws_.reason().reason.empty())
        problem_ += ": " + harmless({ws_.reason().reason.data(), ws_.reason().reason.size()});
    }
    abort();
  }

  asio::io_context& io_;
  const std::string subprotocol_;
  std::string feed_seq_;
  websocket::stream<batched_stream, false> ws_;
  beast::flat_buffer buffer_{max_frame_bytes};
  std::deque<std::string> in_;
  std::deque<std::string> out_;  // the first is being written
  std::size_t out_bytes_ = 0;
  bool open_ = false;
  bool has_token_ = false;
  std::uint16_t code_ = 0;
  std::string problem_ = "it was never open";
};

void client::set_up(const server_address& to, std::string_view token) {
  has_token_ = !token.empty();
  websocket::stream_base::timeout limits{};
  limits.handshake_timeout = std::chrono::seconds(30);  // also for closing; opening has its own deadline
  limits.idle_timeout = websocket::stream_base::none();
  ws_.set_option(limits);
  ws_.read_message_max(max_frame_bytes);
  ws_.set_option(websocket::stream_base::decorator([token = std::string(token), offer = subprotocol_,
                                                    agent = to.program.user_agent](websocket::request_type& request) {
    request.set(beast::http::field::sec_websocket_protocol, offer);
    request.set(beast::http::field::user_agent, agent);
    if (!token.empty()) request.set(beast::http::field::authorization, "Bearer " + token);
  }));
}

std::string client::refused(const server_address& to, error_code ec, const websocket::response_type& response) const {
  const std::string server = to.shown();
  if (ec != websocket::error::upgrade_declined) return server + " does not speak WebSocket: " + ec.message();
  const unsigned status = response.result_int();
  if (status == 401 && !has_token_) return server + " requires a token; pass it with " + to.program.token_option;
  if (const std::string message = error_message(response.body()); !message.empty())
    return server + " refused: " + harmless(message);
  return server + " refused: " + std::to_string(status) + " " +
         harmless({response.reason().data(), response.reason().size()});
}

std::string client::open(const server_address& to, std::string_view target, std::string_view token,
                         std::chrono::milliseconds within) {
  const client_clock::time_point until = client_clock::now() + within;
  const auto self = mine();  // pending operations may outlive this call
  if (std::string problem = connect_to(io_, ws_.next_layer().next_layer(), to, until, self); !problem.empty()) {
    abort();
    return problem;
  }
  struct progress {
    bool ready = false;
    error_code ec;
    websocket::response_type response;
  };
  set_up(to, token);
  const auto upgrading = std::make_shared<progress>();
  ws_.async_handshake(upgrading->response, host_of(to), std::string(target), [self, upgrading](error_code result) {
    upgrading->ec = result;
    upgrading->ready = true;
  });
  if (!run_until(io_, upgrading->ready, until)) {
    abort();
    return to.shown() + " accepted the connection but does not answer";
  }
  if (upgrading->ec) return refused(to, upgrading->ec, upgrading->response);
  const auto seq = upgrading->response["Digd-Seq"];
  feed_seq_.assign(seq.data(), seq.size());
  open_ = true;
  problem_.clear();
  read();
  return {};
}

}  // namespace

std::shared_ptr<websocket_client> websocket_client::make(asio::io_context& io, std::string_view subprotocol) {
  return std::make_shared<client>(io, std::string(subprotocol));
}

}  // namespace digd::net
