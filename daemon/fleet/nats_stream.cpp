#include <algorithm>
#include <limits>
#include <mutex>
#include <string>
#include <utility>

#include "daemon/fleet/nats_client.h"
#include "daemon/fleet/stream.h"

namespace digd::daemon {

namespace {

constexpr const char* stream_subjects = "digd.archive.>";
constexpr std::int64_t day_ns = 86'400'000'000'000;
constexpr std::int64_t poll_ms = 250;  // how often a wait looks whether digd stops
constexpr std::int64_t max_flush_ms = 500;
constexpr std::int64_t max_silence_ms = 10'000;  // of the server, during a scan

// Collects what the library reports about messages that the stream did not store. The library calls `note` on its own
// thread, even while a connection is being destroyed. This object therefore outlives all connections.
class publish_failures {
 public:
  void note(const char* text) {
    const std::lock_guard lock(mutex_);
    if (first_.empty()) first_ = text == nullptr ? "no reason given" : text;
  }
  std::string take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(first_, {});
  }

 private:
  std::mutex mutex_;
  std::string first_;
};

publish_failures failures;

void on_publish_failure(jsCtx*, jsPubAckErr* failed, void*) {
  failures.note(failed->ErrText != nullptr ? failed->ErrText : natsStatus_GetText(failed->Err));
}

class nats_stream final : public stream {
 public:
  explicit nats_stream(const fleet_settings& settings) : settings_(settings), subject_(subject_of(settings)) {}

  std::string connect() {
    if (std::string problem = client_.open(settings_, nats_request_ms, on_publish_failure); !problem.empty()) {
      return problem;
    }
    const natsStatus status = ensure_stream();
    return status == NATS_OK ? std::string() : "the stream " + std::string(fleet_stream_name) + ": " + words_of(status);
  }

  bool is_closed() const override { return client_.is_closed(); }

  std::string publish(std::span<const stream_message> messages, const std::function<bool()>& stopping) override {
    static_cast<void>(failures.take());
    for (const stream_message& message : messages) {
      natsMsg* sent = nullptr;
      natsStatus status =
          natsMsg_Create(&sent, subject_.c_str(), nullptr, message.body.data(), static_cast<int>(message.body.size()));
      jsPubOptions options;
      jsPubOptions_Init(&options);
      options.MsgId = message.id.c_str();
      options.ExpectStream = fleet_stream_name;
      options.MaxWait = max_publish_time.count();
      if (status == NATS_OK) status = js_PublishMsgAsync(client_.context.get(), &sent, &options);
      natsMsg_Destroy(sent);
      if (status != NATS_OK) return words_of(status);
      if (stopping()) return "digd stops";
    }
    jsPubOptions wait;
    jsPubOptions_Init(&wait);
    wait.MaxWait = poll_ms;
    const auto deadline = std::chrono::steady_clock::now() + max_publish_time;
    natsStatus status = js_PublishAsyncComplete(client_.context.get(), &wait);
    while (status == NATS_TIMEOUT && std::chrono::steady_clock::now() < deadline && !stopping()) {
      status = js_PublishAsyncComplete(client_.context.get(), &wait);
    }
    if (status != NATS_OK) return "no answer from the stream: " + words_of(status);
    return failures.take();
  }

  std::string publish_marker(const stream_message& message, std::uint64_t& sequence) override {
    jsPubOptions options;
    jsPubOptions_Init(&options);
    options.MsgId = message.id.c_str();
    options.ExpectStream = fleet_stream_name;
    jsPubAck* ack = nullptr;
    jsErrCode code = static_cast<jsErrCode>(0);
    const natsStatus status = js_Publish(&ack, client_.context.get(), subject_.c_str(), message.body.data(),
                                         static_cast<int>(message.body.size()), &options, &code);
    if (status == NATS_OK) sequence = ack->Sequence;
    jsPubAck_Destroy(ack);
    return status == NATS_OK ? std::string() : words_of(status);
  }

  std::string read_bounds(stream_bounds& bounds) override {
    jsErrCode code = static_cast<jsErrCode>(0);
    jsStreamInfo* info = nullptr;
    const natsStatus status = js_GetStreamInfo(&info, client_.context.get(), fleet_stream_name, nullptr, &code);
    if (status == NATS_OK) bounds = {std::max<std::uint64_t>(info->State.FirstSeq, 1), info->State.LastSeq};
    jsStreamInfo_Destroy(info);
    return status == NATS_OK ? std::string() : words_of(status);
  }

  std::string scan(std::uint64_t from, std::uint64_t upto, const scan_handler& each) override {
    const std::string subjects = "digd.archive." + settings_.tenant + ".>";
    jsSubOptions options;
    jsSubOptions_Init(&options);
    options.Stream = fleet_stream_name;
    options.Ordered = true;
    options.Config.DeliverPolicy = js_DeliverByStartSequence;
    options.Config.OptStartSeq = from == 0 ? 1 : from;
    natsSubscription* made = nullptr;
    jsErrCode code = static_cast<jsErrCode>(0);
    natsStatus status = js_SubscribeSync(&made, client_.context.get(), subjects.c_str(), nullptr, &options, &code);
    const nats_handle<natsSubscription, natsSubscription_Destroy> subscription(made);
    if (status != NATS_OK) return words_of(status);
    for (std::uint64_t at = 0; at < upto;) {
      natsMsg* next = nullptr;
      status = natsSubscription_NextMsg(&next, made, max_silence_ms);
      const nats_handle<natsMsg, natsMsg_Destroy> message(next);
      jsMsgMetaData* data = nullptr;
      if (status == NATS_OK) status = natsMsg_GetMetaData(&data, next);
      if (status != NATS_OK) return "reading the stream back: " + words_of(status);
      at = data->Sequence.Stream;
      jsMsgMetaData_Destroy(data);
      const char* id = nullptr;
      if (natsMsgHeader_Get(next, "Nats-Msg-Id", &id) != NATS_OK || at > upto) continue;
      const std::string_view body(natsMsg_GetData(next), static_cast<std::size_t>(natsMsg_GetDataLength(next)));
      if (!each(id, body)) return "digd stops";
    }
    return {};
  }

  void announce(std::string_view body, bool flushes) override {
    const std::string subject = host_subject_of(settings_);
    static_cast<void>(
        natsConnection_Publish(client_.connection.get(), subject.c_str(), body.data(), static_cast<int>(body.size())));
    if (flushes) static_cast<void>(natsConnection_FlushTimeout(client_.connection.get(), max_flush_ms));
  }

  std::size_t max_message_bytes() const override {
    const std::int64_t max_payload =
        std::min(natsConnection_GetMaxPayload(client_.connection.get()), max_stream_message_);
    return max_payload > headers_bytes ? static_cast<std::size_t>(max_payload - headers_bytes) : 0;
  }

 private:
  static constexpr std::int64_t headers_bytes = 1'024;  // the server counts a message's headers too

  // A stream that exists is used as it is: its operator decides about its limits.
  natsStatus ensure_stream() {
    jsErrCode code = static_cast<jsErrCode>(0);
    jsStreamInfo* info = nullptr;
    const natsStatus status = js_GetStreamInfo(&info, client_.context.get(), fleet_stream_name, nullptr, &code);
    if (status == NATS_OK && info->Config->MaxMsgSize > 0) max_stream_message_ = info->Config->MaxMsgSize;
    jsStreamInfo_Destroy(info);
    if (status != NATS_NOT_FOUND) return status;
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    config.Name = fleet_stream_name;
    const char* subjects[] = {stream_subjects};
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Storage = js_FileStorage;
    config.Discard = js_DiscardNew;  // a full stream refuses; nothing that waits for a collector is lost
    config.Duplicates = nats_duplicate_window_ns;
    config.MaxBytes = settings_.stream_bytes == 0 ? -1 : static_cast<std::int64_t>(settings_.stream_bytes);
    config.MaxAge = static_cast<std::int64_t>(settings_.stream_days) * day_ns;
    return js_AddStream(nullptr, client_.context.get(), &config, nullptr, &code);
  }

  const fleet_settings settings_;
  const std::string subject_;
  nats_client client_;
  std::int64_t max_stream_message_ = std::numeric_limits<std::int64_t>::max();  // the limit of the stream itself
};

}  // namespace

std::unique_ptr<stream> connect_stream(const fleet_settings& settings, std::string& problem) {
  auto made = std::make_unique<nats_stream>(settings);
  problem = made->connect();
  if (!problem.empty()) return nullptr;
  return made;
}

}  // namespace digd::daemon
