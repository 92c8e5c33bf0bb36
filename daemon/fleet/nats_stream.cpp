#include <nats/nats.h>

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "daemon/fleet/stream.h"

namespace digd::daemon {

namespace {

constexpr const char* stream_name = "digd";
constexpr const char* stream_subjects = "digd.archive.>";
constexpr std::int64_t request_ms = 5'000;
constexpr std::int64_t duplicate_window_ns = 120'000'000'000;
constexpr std::int64_t day_ns = 86'400'000'000'000;
constexpr std::int64_t poll_ms = 250;  // how often a wait looks whether digd stops

template <class T, void (*destroy)(T*)>
struct destroyer {
  void operator()(T* handle) const { destroy(handle); }
};
template <class T, void (*destroy)(T*)>
using handle = std::unique_ptr<T, destroyer<T, destroy>>;

// What the library reports about messages that the stream did not take. The library calls `note` on a thread of its
// own, and may do so while a connection is being destroyed: so this outlives all connections.
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

std::string in_words(natsStatus status) {
  const char* last = nats_GetLastError(nullptr);
  std::string words = natsStatus_GetText(status);
  if (last != nullptr && *last != '\0') words += ": " + std::string(last);
  return words;
}

class nats_stream final : public stream {
 public:
  explicit nats_stream(const fleet_settings& settings) : settings_(settings), subject_(subject_of(settings)) {}

  std::string connect() {
    natsStatus status = open();
    if (status != NATS_OK) return "NATS at " + digd::quoted(settings_.servers.front()) + ": " + in_words(status);
    status = ensure_stream();
    return status == NATS_OK ? std::string() : "the stream " + std::string(stream_name) + ": " + in_words(status);
  }

  std::string publish(std::span<const stream_message> messages, const std::function<bool()>& stopping) override {
    static_cast<void>(failures.take());
    for (const stream_message& message : messages) {
      natsMsg* sent = nullptr;
      natsStatus status =
          natsMsg_Create(&sent, subject_.c_str(), nullptr, message.body.data(), static_cast<int>(message.body.size()));
      jsPubOptions options;
      jsPubOptions_Init(&options);
      options.MsgId = message.id.c_str();
      options.ExpectStream = stream_name;
      options.MaxWait = max_publish_time.count();
      if (status == NATS_OK) status = js_PublishMsgAsync(context_.get(), &sent, &options);
      natsMsg_Destroy(sent);
      if (status != NATS_OK) return in_words(status);
      if (stopping()) return "digd stops";
    }
    jsPubOptions wait;
    jsPubOptions_Init(&wait);
    wait.MaxWait = poll_ms;
    const auto deadline = std::chrono::steady_clock::now() + max_publish_time;
    natsStatus status = js_PublishAsyncComplete(context_.get(), &wait);
    while (status == NATS_TIMEOUT && std::chrono::steady_clock::now() < deadline && !stopping()) {
      status = js_PublishAsyncComplete(context_.get(), &wait);
    }
    if (status != NATS_OK) return "no answer from the stream: " + in_words(status);
    return failures.take();
  }

  std::size_t max_message_bytes() const override {
    const std::int64_t most = natsConnection_GetMaxPayload(connection_.get());
    return most > headers_bytes ? static_cast<std::size_t>(most - headers_bytes) : 0;
  }

 private:
  static constexpr std::int64_t headers_bytes = 1'024;  // the server counts a message's headers too

  natsStatus open() {
    natsOptions* made = nullptr;
    natsStatus status = natsOptions_Create(&made);
    const handle<natsOptions, natsOptions_Destroy> options(made);
    std::vector<const char*> servers;
    servers.reserve(settings_.servers.size());
    for (const std::string& server : settings_.servers) servers.push_back(server.c_str());
    if (status == NATS_OK) status = natsOptions_SetServers(made, servers.data(), static_cast<int>(servers.size()));
    if (status == NATS_OK) status = natsOptions_SetName(made, "digd");
    if (status == NATS_OK) status = natsOptions_SetTimeout(made, request_ms);
    if (status == NATS_OK) status = natsOptions_SetMaxReconnect(made, -1);
    if (status == NATS_OK && !settings_.ca.empty()) {
      status = natsOptions_LoadCATrustedCertificates(made, settings_.ca.c_str());
      if (status == NATS_OK) status = natsOptions_SetSecure(made, true);
    }
    if (status == NATS_OK && !settings_.credentials.empty()) {
      status = natsOptions_SetUserCredentialsFromFiles(made, settings_.credentials.c_str(), nullptr);
    }
    natsConnection* connected = nullptr;
    if (status == NATS_OK) status = natsConnection_Connect(&connected, made);
    connection_.reset(connected);
    jsOptions js;
    jsOptions_Init(&js);
    js.Wait = request_ms;
    js.PublishAsync.ErrHandler = on_publish_failure;
    jsCtx* context = nullptr;
    if (status == NATS_OK) status = natsConnection_JetStream(&context, connected, &js);
    context_.reset(context);
    return status;
  }

  // A stream that exists is used as it is: its operator decides about its limits.
  natsStatus ensure_stream() {
    jsErrCode code = static_cast<jsErrCode>(0);
    jsStreamInfo* info = nullptr;
    natsStatus status = js_GetStreamInfo(&info, context_.get(), stream_name, nullptr, &code);
    jsStreamInfo_Destroy(info);
    if (status != NATS_NOT_FOUND) return status;
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    config.Name = stream_name;
    const char* subjects[] = {stream_subjects};
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Storage = js_FileStorage;
    config.Discard = js_DiscardNew;  // a full stream refuses; nothing that waits for a collector is lost
    config.Duplicates = duplicate_window_ns;
    config.MaxBytes = settings_.stream_bytes == 0 ? -1 : static_cast<std::int64_t>(settings_.stream_bytes);
    config.MaxAge = static_cast<std::int64_t>(settings_.stream_days) * day_ns;
    return js_AddStream(nullptr, context_.get(), &config, nullptr, &code);
  }

  const fleet_settings settings_;
  const std::string subject_;
  handle<natsConnection, natsConnection_Destroy> connection_;
  handle<jsCtx, jsCtx_Destroy> context_;  // destroyed before its connection
};

}  // namespace

bool has_stream_client() { return true; }

std::unique_ptr<stream> connect_stream(const fleet_settings& settings, std::string& why) {
  auto made = std::make_unique<nats_stream>(settings);
  why = made->connect();
  if (!why.empty()) return nullptr;
  return made;
}

}  // namespace digd::daemon
