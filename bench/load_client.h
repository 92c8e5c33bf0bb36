// A client of digd or of the echo server for the socket benchmarks: a connection that sends the messages of a run.
//
// Blocking while it connects, then non-blocking. Use it from one thread; throws std::runtime_error on failure.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/histogram.h"
#include "bench/load_story.h"

namespace digd::bench {

using steady = std::chrono::steady_clock;

inline std::uint64_t now_ns() { return static_cast<std::uint64_t>(steady::now().time_since_epoch().count()); }

[[noreturn]] inline void fail(const std::string& problem) { throw std::runtime_error(problem); }

// From the time that an event's latency counts from to its answer, on the steady clock.
struct trip {
  std::uint64_t since, until;
};

// The latencies of answered events, and the trips themselves if they are kept.
class trip_log : public histogram {
 public:
  explicit trip_log(bool keeps_trips = false) : keeps_trips_(keeps_trips) {}
  void add(const trip& done) {
    histogram::add(done.until - done.since);
    if (keeps_trips_) trips_.push_back(done);
  }
  void add(const trip_log& other) {
    histogram::add(other);
    trips_.insert(trips_.end(), other.trips_.begin(), other.trips_.end());
  }
  const std::vector<trip>& trips() const { return trips_; }

 private:
  bool keeps_trips_;
  std::vector<trip> trips_;
};

// Writes the kept trips. A line has the server's name, then from when to when, in nanoseconds of CLOCK_MONOTONIC.
// bench/slowest.py finds what they waited for.
inline void write_trips(std::ostream& to, const std::string& server, const trip_log& log) {
  for (const trip& each : log.trips()) to << server << ' ' << each.since << ' ' << each.until << '\n';
}

// As members of a JSON object.
inline std::string percentiles(const histogram& h) {
  return "\"events\":" + std::to_string(h.count()) + ",\"p50_ns\":" + std::to_string(h.at(0.5)) +
         ",\"p99_ns\":" + std::to_string(h.at(0.99)) + ",\"p999_ns\":" + std::to_string(h.at(0.999)) +
         ",\"max_ns\":" + std::to_string(h.max());
}

class connection {
 public:
  // `echoes`: the server returns every frame, not only answers to events. `outputs`: see story; then with usage.
  connection(int port, const std::string& run, std::size_t bytes, bool echoes, bool outputs = false)
      : story_(run, bytes, outputs, outputs), echoes_(echoes) {
    fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
      fail("cannot connect to port " + std::to_string(port));
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    upgrade(port, run);
    ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) | O_NONBLOCK);
  }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  ~connection() { ::close(fd_); }

  int fd() const { return fd_; }
  std::size_t unanswered() const { return sent_.size(); }
  bool wants_to_write() const { return written_ < out_.size(); }

  // Adds an event whose latency counts from `when`. Sends once `written_at` bytes have gathered, else `write` does.
  void add_event(std::uint64_t when) {
    const std::size_t frames = story_.append_event(out_);
    for (std::size_t i = 1; echoes_ && i < frames; ++i) sent_.push_back({0});
    sent_.push_back({when});
    if (out_.size() - written_ >= written_at) write();
  }

  void write() {
    while (wants_to_write()) {
      const ssize_t n = ::send(fd_, out_.data() + written_, out_.size() - written_, MSG_NOSIGNAL);
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) fail("a server closed the connection");
      written_ += static_cast<std::size_t>(n);
    }
    out_.clear();
    written_ = 0;
  }

  // Reads the available bytes and adds each answered event to `to`. Returns their number.
  std::size_t read(trip_log& to) {
    const ssize_t n = ::recv(fd_, in_.get() + had_, in_bytes - had_, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN)) fail("a server closed the connection");
    had_ += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
    return take_frames(to);
  }

 private:
  struct waiting {
    std::uint64_t since;  // 0: a frame whose echo is not measured
  };

  void upgrade(int port, const std::string& run) {
    std::string ask = "GET /v1/ingest?run=" + run + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
                      "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: digd.v1\r\n\r\n";
    if (::send(fd_, ask.data(), ask.size(), MSG_NOSIGNAL) < 0) fail("cannot write");
    std::string answer;
    for (char c = 0; answer.find("\r\n\r\n") == std::string::npos; answer += c) {
      if (::recv(fd_, &c, 1, 0) != 1) fail("no upgrade: " + answer);
    }
    if (answer.find(" 101 ") == std::string::npos) fail("no upgrade: " + answer);
    append_frame(out_, story_.hello());
    write();
    char first[2];  // the welcome, or the echo of the hello, is not an answer
    if (::recv(fd_, first, 2, MSG_WAITALL) != 2) fail("no welcome");
    std::size_t length = static_cast<unsigned char>(first[1]);
    if (length == 126) {
      unsigned char more[2];
      if (::recv(fd_, more, 2, MSG_WAITALL) != 2) fail("no welcome");
      length = static_cast<std::size_t>(more[0]) << 8 | more[1];
    }
    std::string welcome(length, '\0');
    if (::recv(fd_, welcome.data(), length, MSG_WAITALL) != static_cast<ssize_t>(length)) fail("no welcome");
    if (welcome.find("\"type\":\"error\"") != std::string::npos) fail(welcome);
  }

  std::size_t take_frames(trip_log& to) {
    const std::string_view received(in_.get(), had_);
    std::size_t at = 0, answered = 0;
    while (received.size() - at >= 2) {
      std::size_t head = 2, length = static_cast<unsigned char>(received[at + 1]) & 0x7f;
      if (length == 126) {
        head = 4;
        if (received.size() - at < head) break;
        length = static_cast<std::size_t>(static_cast<unsigned char>(received[at + 2])) << 8 |
                 static_cast<unsigned char>(received[at + 3]);
      } else if (length == 127) {
        fail("a frame of over 64 KB");
      }
      if (received.size() - at < head + length) break;
      answered += take_frame(received.substr(at + head, length), to);
      at += head + length;
    }
    had_ -= at;
    std::memmove(in_.get(), in_.get() + at, had_);
    return answered;
  }

  std::size_t take_frame(std::string_view text, trip_log& to) {
    if (text.starts_with(R"({"type":"ack")")) return 0;
    // On a busy machine the load pauses for longer than a rule's window.
    if (!echoes_ && text.starts_with(R"({"type":"intervention")")) return 0;
    if (!echoes_ && !text.starts_with(R"({"type":"verdicts")"))
      fail("expected verdicts, got " + std::string(text.substr(0, 300)));
    if (sent_.empty()) fail("an answer that nobody asked for");
    const std::uint64_t since = sent_.front().since;
    sent_.pop_front();
    if (since == 0) return 0;
    to.add({since, now_ns()});
    return 1;
  }

  int fd_ = -1;
  story story_;
  bool echoes_;
  static constexpr std::size_t in_bytes = 256u << 10;  // more than the longest frame
  static constexpr std::size_t written_at = 8u << 10;  // so that the server starts before a large batch is complete
  std::string out_;
  std::unique_ptr<char[]> in_ = std::make_unique_for_overwrite<char[]>(in_bytes);
  std::size_t had_ = 0;  // bytes in `in_`
  std::size_t written_ = 0;
  std::deque<waiting> sent_;
};

// A server's port and process, as given on the command line.
struct server_place {
  int port = 0, pid = 0;
};

inline server_place place_of(const std::string& where) {
  const auto colon = where.find(':');
  if (colon == std::string::npos) fail("expected PORT:PID, got " + where);
  return {std::stoi(where.substr(0, colon)), std::stoi(where.substr(colon + 1))};
}

// A part of run names that distinguishes calls of the program.
inline std::string stamp() { return std::to_string(::getpid()) + "-" + std::to_string(now_ns() % 1'000'000); }

}  // namespace digd::bench
