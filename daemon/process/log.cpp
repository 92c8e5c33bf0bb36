#include "daemon/process/log.h"

#include <poll.h>
#include <spdlog/async.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <utility>

#include "daemon/process/log_fields.h"

namespace digd::daemon {

namespace {

// The message as members of a JSON object.
class payload_fields final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& line, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string text = log_fields({line.payload.data(), line.payload.size()});
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<payload_fields>(); }
};

// Writes without stdio: a write that hangs would keep the lock of `stderr`, and the process could not exit.
class stderr_sink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // Whether `flush` was called within that time.
  bool wait_for_flush(std::chrono::milliseconds time) {
    std::unique_lock lock(flushed_mutex_);
    return flush_done_.wait_for(lock, time, [this] { return flushed_; });
  }

 private:
  void sink_it_(const spdlog::details::log_msg& line) override {
    spdlog::memory_buf_t text;
    formatter_->format(line, text);
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t written = ::write(STDERR_FILENO, text.data() + done, text.size() - done);
      if (written > 0) {
        done += static_cast<std::size_t>(written);
      } else if (errno == EAGAIN) {
        pollfd room{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
        ::poll(&room, 1, -1);
      } else if (errno != EINTR) {
        return;  // standard error is closed
      }
    }
  }
  void flush_() override {
    const std::lock_guard lock(flushed_mutex_);
    flushed_ = true;
    flush_done_.notify_all();
  }

  std::mutex flushed_mutex_;
  std::condition_variable flush_done_;
  bool flushed_ = false;
};

struct open_log_parts {
  std::shared_ptr<stderr_sink> sink = std::make_shared<stderr_sink>();
  std::shared_ptr<spdlog::logger> logger;
  std::shared_ptr<spdlog::details::thread_pool> writer =  // last: its destructor joins the thread that uses the others
      std::make_shared<spdlog::details::thread_pool>(max_log_lines, 1);
};
// Never destroyed while the writer hangs: the writer's destructor would wait for it.
open_log_parts* log_parts = nullptr;

}  // namespace

void open_log(const log_settings& settings) {
  std::signal(SIGPIPE, SIG_IGN);  // the log's reader may have ended
  log_parts = new open_log_parts;
  spdlog::details::registry::instance().set_tp(log_parts->writer);  // for spdlog::thread_pool()
  auto logger = std::make_shared<spdlog::async_logger>("digd", log_parts->sink, log_parts->writer,
                                                       spdlog::async_overflow_policy::overrun_oldest);
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  if (settings.format == "json") {
    formatter->add_flag<payload_fields>('Q').set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%Q})");
  } else {
    formatter->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %-5l %v");
  }
  logger->set_formatter(std::move(formatter));
  logger->set_level(spdlog::level::from_str(settings.level));
  log_parts->logger = logger;
  spdlog::set_default_logger(std::move(logger));
}

void close_log() {
  if (log_parts == nullptr) return;
  spdlog::default_logger()->flush();
  if (!log_parts->sink->wait_for_flush(max_log_close_time)) return;
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("closed"));
  spdlog::details::registry::instance().set_tp(nullptr);
  delete std::exchange(log_parts, nullptr);
}

void set_log_level(const log_settings& settings) { spdlog::set_level(spdlog::level::from_str(settings.level)); }

}  // namespace digd::daemon
