// The baseline of the socket benchmarks: a WebSocket echo server as in Beast's documentation, on one thread, without
// any code of digd. Prints its port and serves until its standard input ends.
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <cstdio>
#include <memory>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;

class echo : public std::enable_shared_from_this<echo> {
 public:
  explicit echo(asio::ip::tcp::socket&& socket) : ws_(std::move(socket)) {}

  void start() {
    ws_.text(true);
    ws_.async_accept([self = shared_from_this()](error_code ec) {
      if (!ec) self->read();
    });
  }

 private:
  void read() {
    ws_.async_read(in_, [self = shared_from_this()](error_code ec, std::size_t) {
      if (!ec) self->write();
    });
  }

  void write() {
    ws_.async_write(in_.data(), [self = shared_from_this()](error_code ec, std::size_t) {
      if (ec) return;
      self->in_.clear();
      self->read();
    });
  }

  beast::websocket::stream<beast::tcp_stream> ws_;
  beast::flat_buffer in_;
};

void serve(asio::ip::tcp::acceptor& acceptor) {
  acceptor.async_accept([&acceptor](error_code ec, asio::ip::tcp::socket socket) {
    if (ec) return;
    socket.set_option(asio::ip::tcp::no_delay(true));
    std::make_shared<echo>(std::move(socket))->start();
    serve(acceptor);
  });
}

}  // namespace

int main() {
  asio::io_context context(1);
  asio::ip::tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  std::printf("%u\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  serve(acceptor);
  asio::posix::stream_descriptor parent(context, ::dup(STDIN_FILENO));
  char byte = 0;
  parent.async_read_some(asio::buffer(&byte, 1), [&context](error_code, std::size_t) { context.stop(); });
  context.run();
}
