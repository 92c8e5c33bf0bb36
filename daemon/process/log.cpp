#include "daemon/process/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <utility>

#include "base/quote.h"

namespace digd::daemon {

namespace {

// The message as a JSON string.
class quoted_payload final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& line, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string text = digd::quoted({line.payload.data(), line.payload.size()});
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<quoted_payload>(); }
};

}  // namespace

void open_log(const log_settings& settings) {
  auto logger = std::make_shared<spdlog::logger>("digd", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  if (settings.format == "json") {
    formatter->add_flag<quoted_payload>('Q').set_pattern(
        R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":%Q})");
  } else {
    formatter->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %-5l %v");
  }
  logger->set_formatter(std::move(formatter));
  logger->set_level(spdlog::level::from_str(settings.level));
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

void set_log_level(const log_settings& settings) { spdlog::set_level(spdlog::level::from_str(settings.level)); }

}  // namespace digd::daemon
