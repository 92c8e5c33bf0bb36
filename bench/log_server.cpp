// A simple server with digd's duties at the socket and the disk: a second baseline of the socket benchmarks, beside the
// echo. It shows what batches, the time to judge an event, and durable storage cost by themselves.
//
//   digd-bench-log-server [--work NS] [--keep FOLDER]
//
// It has no code of digd and no WebSocket library. It reads all frames that have arrived with one call, returns each to
// its client, and writes all answers of one connection with one call. For each event it works for NS nanoseconds, the
// time that decoding, judging and encoding take. With --keep, another thread at a lower priority appends every frame to
// a file, with one write and one sync for a group; the groups are like those of digd's archive. The answers do not wait
// for it, but each client then gets an ack.
//
// Bounds: a client that has max_unkept frames which are not stored yet is not read until they are. Prints its port and
// serves until its standard input ends. Frames have at most 64 KiB.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bench/tool.h"

namespace digd::bench {

namespace {

using steady = std::chrono::steady_clock;

constexpr std::size_t max_unkept = 4'096;  // of one client
constexpr std::size_t gathered = 256;      // frames
constexpr std::chrono::milliseconds max_gathering{10};

void work(std::chrono::nanoseconds time) {
  for (const auto until = steady::now() + time; steady::now() < until;) {
  }
}

// Stores frames on a thread of its own.
class keeper {
 public:
  struct progress {  // of one client, in frames
    std::atomic<std::size_t> waiting{0}, stored{0};
    std::size_t in_group = 0;  // guarded by the keeper's mutex
  };
  using progress_ptr = std::shared_ptr<progress>;

  // `stored`: an eventfd to be written to after each sync.
  keeper(const std::filesystem::path& folder, int stored)
      : file_(::open((folder / "frames.log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600)), stored_(stored) {
    if (file_ < 0) throw std::runtime_error("cannot write in " + folder.string());
    thread_ = std::thread([this] { store(); });
  }
  keeper(const keeper&) = delete;
  keeper& operator=(const keeper&) = delete;
  ~keeper() {
    {
      const std::lock_guard hold(mutex_);
      stopped_ = true;
    }
    changed_.notify_one();
    thread_.join();
    ::close(file_);
  }

  void keep(std::string_view frame, const progress_ptr& from) {
    from->waiting.fetch_add(1);
    const std::lock_guard hold(mutex_);
    bytes_ += frame;
    if (from->in_group++ == 0) clients_.push_back(from);
    ++frames_;
    if (frames_ == 1 || frames_ == gathered) changed_.notify_one();
  }

 private:
  struct share {  // of a client in a group
    progress_ptr client;
    std::size_t frames;
  };

  void store() {
    ::prctl(PR_SET_NAME, "keeper");                                 // its time is not that of the serving thread
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 5);  // as digd's archive
    std::string group;
    std::vector<share> shares;
    while (take(group, shares)) {
      for (std::string_view left = group; !left.empty();) {
        const ssize_t n = ::write(file_, left.data(), left.size());
        if (n < 0) throw std::runtime_error("cannot write a group of frames");
        left.remove_prefix(static_cast<std::size_t>(n));
      }
      if (::fdatasync(file_) != 0) throw std::runtime_error("cannot sync a group of frames");
      for (const share& each : shares) {
        each.client->waiting.fetch_sub(each.frames);
        each.client->stored.fetch_add(each.frames);
      }
      const std::uint64_t commits = 1;
      if (::write(stored_, &commits, sizeof commits) < 0) return;
    }
  }

  // Waits for frames, and then a while for more. False: stopped.
  bool take(std::string& group, std::vector<share>& shares) {
    group.clear();
    shares.clear();
    std::unique_lock hold(mutex_);
    changed_.wait(hold, [this] { return stopped_ || frames_ > 0; });
    changed_.wait_for(hold, max_gathering, [this] { return stopped_ || frames_ >= gathered; });
    if (stopped_) return false;
    group.swap(bytes_);
    frames_ = 0;
    for (const progress_ptr& client : clients_) shares.push_back({client, std::exchange(client->in_group, 0)});
    clients_.clear();
    return true;
  }

  int file_, stored_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string bytes_;  // of the next group
  std::size_t frames_ = 0;
  std::vector<progress_ptr> clients_;
  bool stopped_ = false;
  std::thread thread_;
};

class client {
 public:
  explicit client(int fd) : fd_(fd) {}
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client() { ::close(fd_); }

  bool is_full() const { return progress_->waiting.load() >= max_unkept; }

  // Tells the client what is stored. False: the client has gone.
  bool acknowledge() {
    const std::size_t stored = progress_->stored.load();
    if (stored == acknowledged_) return true;
    acknowledged_ = stored;
    const std::string text = R"({"type":"ack","seq":)" + std::to_string(stored) + "}";
    out_ = {static_cast<char>(0x81), static_cast<char>(text.size())};
    out_ += text;
    return send_answers();
  }

  // Reads what has arrived, and answers it. False: the client has gone.
  bool serve(std::chrono::nanoseconds work_time, keeper* keeps) {
    const ssize_t n = ::recv(fd_, in_.data() + had_, in_.size() - had_, 0);
    if (n <= 0) return false;
    had_ += static_cast<std::size_t>(n);
    out_.clear();
    std::size_t used = is_upgraded_ ? 0 : upgrade();
    while (const std::size_t length = answer_frame(used, work_time, keeps)) used += length;
    had_ -= used;
    std::memmove(in_.data(), in_.data() + used, had_);
    return send_answers();
  }

 private:
  // Returns the length of the request, or 0 if it is not complete.
  std::size_t upgrade() {
    const std::size_t end = std::string_view(in_.data(), had_).find("\r\n\r\n");
    if (end == std::string_view::npos) return 0;
    is_upgraded_ = true;
    out_ = "HTTP/1.1 101 Switching Protocols\r\n\r\n";
    return end + 4;
  }

  // Answers the frame at `at`. Returns its length, or 0 if it is not complete.
  std::size_t answer_frame(std::size_t at, std::chrono::nanoseconds work_time, keeper* keeps) {
    const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(in_[at + i])); };
    const std::size_t left = had_ - at;
    if (!is_upgraded_ || left < 8) return 0;
    std::size_t head = 2, length = byte(1) & 0x7f;
    if (length == 127) throw std::runtime_error("a frame of over 64 KiB");
    if (length == 126) {
      head = 4;
      length = byte(2) << 8 | byte(3);
    }
    constexpr std::size_t key = 4;
    if (left < head + key + length) return 0;
    const std::size_t begin = out_.size();
    out_.append(in_.data() + at, head);
    out_[begin + 1] = static_cast<char>(out_[begin + 1] & 0x7f);  // a server's frames are not masked
    out_.append(in_.data() + at + head + key, length);
    for (std::size_t i = 0; i < length; ++i) out_[begin + head + i] ^= in_[at + head + i % key];
    const std::string_view text = std::string_view(out_).substr(begin + head);
    if (text.starts_with(R"({"type":"event")")) work(work_time);
    if (keeps != nullptr) keeps->keep(text, progress_);
    return head + key + length;
  }

  bool send_answers() {
    for (std::size_t sent = 0; sent < out_.size();) {
      const ssize_t n = ::send(fd_, out_.data() + sent, out_.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return false;
      sent += static_cast<std::size_t>(n);
    }
    return true;
  }

  int fd_;
  bool is_upgraded_ = false;
  std::vector<char> in_ = std::vector<char>(128u << 10);
  std::size_t had_ = 0;  // bytes in `in_`
  std::string out_;
  keeper::progress_ptr progress_ = std::make_shared<keeper::progress>();
  std::size_t acknowledged_ = 0;
};

class server {
 public:
  server(std::chrono::nanoseconds work_time, const std::string& keep_in) : work_time_(work_time) {
    epoll_ = ::epoll_create1(0);
    stored_ = ::eventfd(0, EFD_NONBLOCK);
    if (!keep_in.empty()) keeper_.emplace(keep_in, stored_);
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&at), length) != 0 || ::listen(listener_, 128) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &length) != 0) {
      throw std::runtime_error("cannot listen");
    }
    std::printf("%u\n", ntohs(at.sin_port));
    std::fflush(stdout);
    for (const int fd : {STDIN_FILENO, stored_, listener_}) watch(EPOLL_CTL_ADD, fd, true);
  }

  void run() {
    std::vector<epoll_event> ready(64);
    for (;;) {
      const int n = ::epoll_wait(epoll_, ready.data(), static_cast<int>(ready.size()), -1);
      for (int i = 0; i < n; ++i) {
        const int fd = ready[static_cast<std::size_t>(i)].data.fd;
        if (fd == STDIN_FILENO) return;
        if (fd == listener_) {
          accept();
        } else if (fd == stored_) {
          on_stored();
        } else {
          serve(fd);
        }
      }
    }
  }

 private:
  void watch(int operation, int fd, bool reads) {
    epoll_event wanted{.events = reads ? static_cast<std::uint32_t>(EPOLLIN) : 0u, .data = {.fd = fd}};
    if (::epoll_ctl(epoll_, operation, fd, &wanted) != 0) throw std::runtime_error("epoll_ctl fails");
  }

  void accept() {
    const int fd = ::accept(listener_, nullptr, nullptr);
    if (fd < 0) return;
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    clients_.emplace(fd, std::make_unique<client>(fd));
    watch(EPOLL_CTL_ADD, fd, true);
  }

  void serve(int fd) {
    client& from = *clients_.at(fd);
    if (!from.serve(work_time_, keeper_ ? &*keeper_ : nullptr)) {
      clients_.erase(fd);
    } else if (from.is_full()) {
      watch(EPOLL_CTL_MOD, fd, false);
      full_.push_back(fd);
    }
  }

  // Sends acks, and reads clients again that had too many frames waiting.
  void on_stored() {
    std::uint64_t commits = 0;
    if (::read(stored_, &commits, sizeof commits) < 0) return;
    std::erase_if(clients_, [](const auto& each) { return !each.second->acknowledge(); });
    std::erase_if(full_, [this](int fd) {
      const auto at = clients_.find(fd);
      if (at == clients_.end()) return true;
      if (at->second->is_full()) return false;
      watch(EPOLL_CTL_MOD, fd, true);
      return true;
    });
  }

  std::chrono::nanoseconds work_time_;
  int epoll_ = -1, stored_ = -1, listener_ = -1;
  std::optional<keeper> keeper_;
  std::unordered_map<int, std::unique_ptr<client>> clients_;
  std::vector<int> full_;  // not read until their frames are stored
};

int run(int argc, char** argv) {
  CLI::App app("A simple server with digd's duties at the socket and the disk.");
  std::int64_t work_ns = 0;
  std::string folder;
  app.add_option("--work", work_ns, "nanoseconds for each event")->check(CLI::Range(0, 1'000'000));
  app.add_option("--keep", folder, "stores every frame in a file in this folder")->check(CLI::ExistingDirectory);
  CLI11_PARSE(app, argc, argv);
  server(std::chrono::nanoseconds(work_ns), folder).run();
  return 0;
}

}  // namespace

}  // namespace digd::bench

int main(int argc, char** argv) {
  return digd::bench::as_tool("digd-bench-log-server", [&] { return digd::bench::run(argc, argv); });
}
