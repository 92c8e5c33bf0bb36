#include "daemon/access/audit_log.h"

#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "base/json_writer.h"
#include "base/quote.h"
#include "base/unix_time.h"

namespace digd::daemon {

namespace {

constexpr std::size_t max_file_bytes = 8u << 20, max_older_files = 4;
constexpr std::chrono::milliseconds max_close_time{1'000};

spdlog::file_event_handlers private_files() {
  spdlog::file_event_handlers handlers;
  handlers.after_open = [](const spdlog::filename_t&, std::FILE* file) { ::fchmod(::fileno(file), 0600); };
  return handlers;
}

std::string audit_line(const audited_request& request, unsigned status) {
  constexpr std::size_t max_bytes = audit_log::max_text_bytes;
  std::string line;
  json_writer to(line);
  to.open_object().key("at_ms").integer(unix_ms());
  to.key("action").text(cut_to_quote(request.action, max_bytes));
  to.key("by").text_or_null(request.by).key("from").text(request.from).key("status").integer(status);
  if (!request.body.empty()) to.key("body").text(cut_to_quote(request.body, max_bytes));
  if (!request.problem.empty()) to.key("why").text(cut_to_quote(request.problem, max_bytes));
  if (request.suppressed > 0) to.key("suppressed").integer(request.suppressed);
  to.close_object();
  return line;
}

}  // namespace

struct audit_log::parts {
  explicit parts(const std::string& file)
      : sink(std::make_shared<spdlog::sinks::rotating_file_sink_mt>(file, max_file_bytes, max_older_files, false,
                                                                    private_files())),
        logger(std::make_shared<spdlog::async_logger>("audit", sink, writer,
                                                      spdlog::async_overflow_policy::overrun_oldest)) {
    logger->set_pattern("%v");
    logger->flush_on(spdlog::level::info);
    logger->set_error_handler(
        [](const std::string& problem) { spdlog::error("audit_failed reason={}", digd::quoted(problem)); });
  }

  std::shared_ptr<spdlog::details::thread_pool> writer = std::make_shared<spdlog::details::thread_pool>(max_waiting, 1);
  std::shared_ptr<spdlog::sinks::rotating_file_sink_mt> sink;
  std::shared_ptr<spdlog::async_logger> logger;
};

audit_log::audit_log(const std::string& folder) {
  if (folder.empty()) return;
  try {
    parts_ = new parts(folder + "/audit.jsonl");
  } catch (const spdlog::spdlog_ex& e) {
    spdlog::error("audit_failed reason={}", digd::quoted(e.what()));
  }
}

audit_log::~audit_log() {
  if (parts_ == nullptr) return;
  const auto deadline = std::chrono::steady_clock::now() + max_close_time;
  while (parts_->writer->queue_size() > 0) {
    if (std::chrono::steady_clock::now() > deadline) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  delete parts_;
}

void audit_log::write(const audited_request& request, unsigned status) {
  if (parts_ != nullptr) write_line(audit_line(request, status));
}

void audit_log::write_refusal(audited_request request, unsigned status) {
  if (parts_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  request.suppressed += suppressed_;
  const std::string line = audit_line(request, status);
  if (const auto now = std::chrono::steady_clock::now(); now - hour_began_ >= std::chrono::hours(1)) {
    hour_began_ = now;
    refusal_bytes_ = 0;
  }
  const bool has_room = refusal_bytes_ + line.size() <= max_refusal_bytes;
  suppressed_ = has_room ? 0 : request.suppressed + 1;
  if (!has_room) return;
  refusal_bytes_ += line.size();
  write_line(line);
}

void audit_log::write_line(const std::string& line) { parts_->logger->log(spdlog::level::info, "{}", line); }

std::uint64_t audit_log::dropped() const { return parts_ == nullptr ? 0 : parts_->writer->overrun_counter(); }

}  // namespace digd::daemon
