// A load on digd and on the bare echo in turn, block by block in one run, with the same bytes: what digd costs beside the socket.
//
//   digd-load --digd PORT:PID --echo PORT:PID [--connections N] [--in-flight N] [--events N] [--blocks N] [--rate R] [--bytes N]
//
// One block is `events` events a connection to one of the two, then as many to the other. Each connection is a run of its own: root
// events of `bytes` bytes, and after every 16 an activation that consumes these, so that the frontier stays small. At digd an
// event is answered by its verdicts, at the echo by itself. With --rate the events go out at fixed times whether or not the server
// keeps up, and a latency counts from the time intended, so that a stall is not hidden by the requests that it held back
// (coordinated omission). Without, each connection keeps `in-flight` events unanswered.
//
// Prints one JSON line: for both, latencies in nanoseconds, events a second, and events a second of CPU (/proc/PID/task/*/schedstat):
// of the threads that serve sockets, which digd names engine-N, and of the whole process.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/histogram.h"

namespace digd::bench {

namespace {

using steady = std::chrono::steady_clock;
constexpr std::size_t consumed_at_once = 16;

std::uint64_t now_ns() { return static_cast<std::uint64_t>(steady::now().time_since_epoch().count()); }

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

// A client's text frame; masked, as it must be, with a key of zeros.
void append_frame(std::string& out, std::string_view text) {
  out += static_cast<char>(0x81);
  if (text.size() < 126) {
    out += static_cast<char>(0x80 | text.size());
  } else {
    out += static_cast<char>(0x80 | 126);
    out += static_cast<char>(text.size() >> 8);
    out += static_cast<char>(text.size() & 0xff);
  }
  out.append(4, '\0');
  out += text;
}

// What a run's client says, event after event; frames appended to a buffer.
class story {
 public:
  story(std::string run, std::size_t bytes) : run_(std::move(run)), bytes_(bytes) {}

  std::string hello() const {
    return R"({"type":"hello","protocol":1,"run":")" + run_ + R"(","session":"main","agents":["a","b"],"clock":"wall"})";
  }

  // The next event and, now and then, the activation that consumes the ones before it. How many frames that is.
  std::size_t append_event(std::string& out) {
    std::size_t frames = 1;
    if (pending_ == consumed_at_once) frames += append_activation(out);
    text_ = R"({"type":"event","seq":)" + std::to_string(++seq_) + R"(,"event":{"id":"e)" + std::to_string(++event_) +
            R"(","recipients":["a"],"kind":"work","payload":{"text":")";
    constexpr std::string_view end = "\"}}}";
    if (text_.size() + end.size() < bytes_) text_.append(bytes_ - text_.size() - end.size(), 'x');
    text_ += end;
    append_frame(out, text_);
    ++pending_;
    return frames;
  }

 private:
  std::size_t append_activation(std::string& out) {
    const std::string name = "v" + std::to_string(event_);
    text_ = R"({"type":"activation_started","seq":)" + std::to_string(++seq_) + R"(,"activation":")" + name + R"(","agent":"a","inputs":[)";
    for (std::uint64_t e = event_ - pending_ + 1; e <= event_; ++e) text_ += (text_.back() == '[' ? "\"e" : ",\"e") + std::to_string(e) + '"';
    text_ += "]}";
    append_frame(out, text_);
    text_ = R"({"type":"activation_ended","seq":)" + std::to_string(++seq_) + R"(,"activation":")" + name + "\"}";  // consumes all
    append_frame(out, text_);
    pending_ = 0;
    return 2;
  }

  std::string run_, text_;
  std::size_t bytes_;
  std::uint64_t seq_ = 0, event_ = 0;
  std::size_t pending_ = 0;
};

class connection {
 public:
  // `echoes`: every frame comes back, not only the answers to events.
  connection(int port, const std::string& run, std::size_t bytes, bool echoes) : story_(run, bytes), echoes_(echoes) {
    fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fail("cannot connect to port " + std::to_string(port));
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

  // One more event, whose latency counts from `when`.
  void add_event(std::uint64_t when) {
    const std::size_t frames = story_.append_event(out_);
    for (std::size_t i = 1; echoes_ && i < frames; ++i) sent_.push_back({0});
    sent_.push_back({when});
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

  // Reads what is there; each answered event is added to `to`. How many.
  std::size_t read(histogram& to) {
    const std::size_t had = in_.size();
    in_.resize(had + (256u << 10));
    const ssize_t n = ::recv(fd_, in_.data() + had, in_.size() - had, 0);
    in_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n == 0 || (n < 0 && errno != EAGAIN)) fail("a server closed the connection");
    return take_frames(to);
  }

 private:
  struct waiting {
    std::uint64_t since;  // 0: a frame whose echo nobody times
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
    char first[2];  // the welcome, or the hello's echo, is not an answer
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

  std::size_t take_frames(histogram& to) {
    std::size_t at = 0, answered = 0;
    while (in_.size() - at >= 2) {
      std::size_t head = 2, length = static_cast<unsigned char>(in_[at + 1]) & 0x7f;
      if (length == 126) {
        head = 4;
        if (in_.size() - at < head) break;
        length = static_cast<std::size_t>(static_cast<unsigned char>(in_[at + 2])) << 8 | static_cast<unsigned char>(in_[at + 3]);
      } else if (length == 127) {
        fail("a frame of over 64 KB");
      }
      if (in_.size() - at < head + length) break;
      answered += take_frame(std::string_view(in_).substr(at + head, length), to);
      at += head + length;
    }
    in_.erase(0, at);
    return answered;
  }

  std::size_t take_frame(std::string_view text, histogram& to) {
    if (!echoes_ && text.starts_with(R"({"type":"ack")")) return 0;
    if (!echoes_ && !text.starts_with(R"({"type":"verdicts")")) fail("expected verdicts, got " + std::string(text.substr(0, 300)));
    if (sent_.empty()) fail("an answer that nobody asked for");
    const std::uint64_t since = sent_.front().since;
    sent_.pop_front();
    if (since == 0) return 0;
    to.add(now_ns() - since);
    return 1;
  }

  int fd_ = -1;
  story story_;
  bool echoes_;
  std::string out_, in_;
  std::size_t written_ = 0;
  std::deque<waiting> sent_;
};

struct load_options {
  std::size_t connections = 1, in_flight = 1, events = 500, blocks = 40, bytes = 600;
  double rate = 0;  // events a second over all connections; 0: as fast as they are answered
};

// CPU nanoseconds that a process has used.
struct cpu_time {
  std::uint64_t serving = 0, all = 0;
};

cpu_time cpu_of(int pid) {
  cpu_time out;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream stat(task.path() / "schedstat"), comm(task.path() / "comm");
    std::uint64_t ns = 0;
    std::string name;
    if (!(stat >> ns) || !(comm >> name)) continue;
    out.all += ns;
    if (name.starts_with("engine-") || name.starts_with("digd-bench-echo")) out.serving += ns;
  }
  return out;
}

class server {
 public:
  server(std::string name, const std::string& where, const load_options& how) : name_(std::move(name)), how_(how) {
    const auto colon = where.find(':');
    if (colon == std::string::npos) fail("expected PORT:PID, got " + where);
    pid_ = std::stoi(where.substr(colon + 1));
    const std::string stamp = std::to_string(::getpid()) + "-" + std::to_string(now_ns() % 1'000'000);
    for (std::size_t i = 0; i < how.connections; ++i) {
      all_.push_back(std::make_unique<connection>(std::stoi(where.substr(0, colon)), "load-" + stamp + "-" + std::to_string(i), how.bytes,
                                                  name_ == "echo"));
    }
  }

  // One block. `counts`: whether it is kept (the first warms up).
  void play(bool counts) {
    histogram unkept;
    histogram& to = counts ? latencies_ : unkept;
    const cpu_time cpu = cpu_of(pid_);
    const std::uint64_t begun = now_ns();
    const std::size_t all = how_.events * all_.size();
    std::size_t sent = 0, answered = 0;
    while (answered < all) {
      fill(sent, all, begun);
      answered += wait_and_read(to, sent < all ? due(sent, begun) : 0);
    }
    if (!counts) return;
    wall_ += now_ns() - begun;
    const cpu_time after = cpu_of(pid_);
    serving_ += after.serving - cpu.serving;
    cpu_ += after.all - cpu.all;
  }

  std::string json() const {
    const double events = static_cast<double>(latencies_.count());
    const auto per = [&](std::uint64_t ns) { return std::to_string(ns ? events / (static_cast<double>(ns) / 1e9) : 0); };
    return "\"" + name_ + "\":{\"events\":" + std::to_string(latencies_.count()) + ",\"p50_ns\":" + std::to_string(latencies_.at(0.5)) +
           ",\"p99_ns\":" + std::to_string(latencies_.at(0.99)) + ",\"p999_ns\":" + std::to_string(latencies_.at(0.999)) +
           ",\"max_ns\":" + std::to_string(latencies_.most()) + ",\"per_second\":" + per(wall_) + ",\"per_serving_cpu_second\":" +
           per(serving_) + ",\"per_cpu_second\":" + per(cpu_) + "}";
  }

 private:
  std::uint64_t due(std::size_t n, std::uint64_t begun) const {
    return how_.rate > 0 ? begun + static_cast<std::uint64_t>(static_cast<double>(n) / how_.rate * 1e9) : 0;
  }

  void fill(std::size_t& sent, std::size_t all, std::uint64_t begun) {
    if (how_.rate > 0) {
      for (; sent < all && due(sent, begun) <= now_ns(); ++sent) all_[sent % all_.size()]->add_event(due(sent, begun));
    } else {
      for (bool more = true; more;) {
        more = false;
        for (auto& one : all_) {
          if (sent == all || one->unanswered() >= how_.in_flight) continue;
          one->add_event(now_ns());
          ++sent;
          more = true;
        }
      }
    }
    for (auto& one : all_) one->write();
  }

  std::size_t wait_and_read(histogram& to, std::uint64_t until) {
    fds_.clear();
    for (auto& one : all_) fds_.push_back({one->fd(), static_cast<short>(POLLIN | (one->wants_to_write() ? POLLOUT : 0)), 0});
    const std::uint64_t now = now_ns();
    timespec patience{10, 0};
    if (until != 0) {
      const std::uint64_t left = until > now ? until - now : 0;
      patience = {static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
    }
    const int ready = ::ppoll(fds_.data(), fds_.size(), &patience, nullptr);
    if (ready == 0 && until == 0) fail(name_ + " has not answered for ten seconds");
    std::size_t answered = 0;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (fds_[i].revents & POLLOUT) all_[i]->write();
      if (fds_[i].revents & (POLLIN | POLLHUP | POLLERR)) answered += all_[i]->read(to);
    }
    return answered;
  }

  std::string name_;
  const load_options& how_;
  int pid_ = 0;
  std::vector<std::unique_ptr<connection>> all_;
  std::vector<pollfd> fds_;
  histogram latencies_;
  std::uint64_t wall_ = 0, serving_ = 0, cpu_ = 0;
};

int run(int argc, char** argv) {
  CLI::App app("A load on digd and on a bare echo in turn; digd's cost beside the socket's.");
  load_options how;
  std::string digd_at, echo_at;
  app.add_option("--digd", digd_at, "PORT:PID")->required();
  app.add_option("--echo", echo_at, "PORT:PID")->required();
  app.add_option("--connections", how.connections)->check(CLI::Range(1, 10'000))->capture_default_str();
  app.add_option("--in-flight", how.in_flight, "events unanswered, a connection")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--events", how.events, "a connection and block")->check(CLI::Range(1, 10'000'000))->capture_default_str();
  app.add_option("--blocks", how.blocks, "for each server, after one that warms up")->check(CLI::Range(1, 100'000))->capture_default_str();
  app.add_option("--bytes", how.bytes, "of an event's message")->check(CLI::Range(120, 60'000))->capture_default_str();
  app.add_option("--rate", how.rate, "events a second, over all connections; 0: as they are answered")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  server digd("digd", digd_at, how), echo("echo", echo_at, how);
  for (std::size_t i = 0; i <= how.blocks; ++i) {
    // Who goes first changes, so that a drift of the machine falls on both.
    server& first = i % 2 == 0 ? digd : echo;
    server& second = i % 2 == 0 ? echo : digd;
    first.play(i > 0);
    second.play(i > 0);
  }
  std::cout << "{" << digd.json() << "," << echo.json() << "}\n";
  return 0;
}

}  // namespace

}  // namespace digd::bench

int main(int argc, char** argv) {
  try {
    return digd::bench::run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "digd-load: " << e.what() << '\n';
    return 2;
  }
}
