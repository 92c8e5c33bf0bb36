// A socket that reads ahead. Beast, which reads from it, asks for some 1.5 KB at a time. If a client sends many frames
// at once, one system call reads 32 KB here instead of a few frames.
//
// Thread: that of its executor. Lifetime: as of a socket; pending operations must not outlive it, so their handlers
// must keep its owner alive. Bounds: `read_ahead` bytes for each connection.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "net/types.h"

namespace digd::net {

class batched_stream {
 public:
  static constexpr std::size_t read_ahead = 32 * 1024;
  using next_layer_type = stream_socket;
  using executor_type = stream_socket::executor_type;

  explicit batched_stream(stream_socket socket)
      : socket_(std::move(socket)), ahead_(std::make_unique_for_overwrite<char[]>(read_ahead)) {}

  executor_type get_executor() noexcept { return socket_.get_executor(); }
  next_layer_type& next_layer() noexcept { return socket_; }
  const next_layer_type& next_layer() const noexcept { return socket_; }

  // Returns and forgets the bytes that were read ahead and that no read has taken yet.
  std::string take_unread() {
    std::string rest(ahead_.get() + begin_, end_ - begin_);
    begin_ = end_ = 0;
    return rest;
  }
  // Makes the next reads return `bytes`. Call it only while no bytes are read ahead.
  void put_back(std::string_view bytes) {
    if (bytes.size() > read_ahead) ahead_ = std::make_unique_for_overwrite<char[]>(bytes.size());
    std::memcpy(ahead_.get(), bytes.data(), bytes.size());
    begin_ = 0;
    end_ = bytes.size();
  }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& into, Token&& token) {
    return asio::async_compose<Token, void(boost::system::error_code, std::size_t)>(read_some<Buffers>{*this, into},
                                                                                    token, socket_);
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& from, Token&& token) {
    return socket_.async_write_some(from, std::forward<Token>(token));
  }

 private:
  template <class Buffers>
  struct read_some {
    batched_stream& from;
    Buffers into;
    // `direct`: the read fills the caller's buffers. `refill`: it fills `ahead_` first. `buffered`: `ahead_` had bytes.
    enum class stage : std::uint8_t { begun, direct, refill, buffered } at = stage::begun;

    template <class Self>
    void operator()(Self& self, boost::system::error_code ec = {}, std::size_t n = 0) {
      switch (at) {
        case stage::begun: return begin(self);
        case stage::direct: return self.complete(ec, n);
        case stage::refill:
          from.begin_ = 0;
          from.end_ = n;
          return self.complete(ec, from.take(into));
        case stage::buffered: return self.complete({}, from.take(into));
      }
    }

    template <class Self>
    void begin(Self& self) {
      batched_stream& s = from;
      const std::size_t wanted = asio::buffer_size(into);
      if (s.begin_ != s.end_ || wanted == 0) {
        at = stage::buffered;
        asio::post(s.get_executor(), std::move(self));
      } else if (wanted >= read_ahead) {
        at = stage::direct;
        const Buffers target = into;
        s.socket_.async_read_some(target, std::move(self));
      } else {
        at = stage::refill;
        s.socket_.async_read_some(asio::buffer(s.ahead_.get(), read_ahead), std::move(self));
      }
    }
  };

  template <class Buffers>
  std::size_t take(const Buffers& into) {
    const std::size_t n = asio::buffer_copy(into, asio::buffer(ahead_.get() + begin_, end_ - begin_));
    begin_ += n;
    return n;
  }

  stream_socket socket_;
  std::unique_ptr<char[]> ahead_;
  std::size_t begin_ = 0, end_ = 0;  // of the bytes read ahead
};

}  // namespace digd::net
