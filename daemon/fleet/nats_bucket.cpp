#include <utility>

#include "daemon/fleet/bucket.h"
#include "daemon/fleet/nats_client.h"

namespace digd::daemon {

namespace {

// A bucket is a stream of this name, with the last message of each subject. So `nats kv` reads it too.
constexpr const char* bucket_stream = "KV_digd_homes";
constexpr const char* bucket_subjects = "$KV.digd_homes.>";

std::string subject_of_key(const std::string& key) { return "$KV.digd_homes." + key; }

bucket_reply failed(natsStatus status) {
  return {.is = bucket_reply::result::failed, .value = {}, .problem = "the fleet's homes: " + words_of(status)};
}

class nats_bucket final : public bucket {
 public:
  std::string connect(const fleet_settings& settings, std::chrono::milliseconds max_wait) {
    if (std::string problem = client_.open(settings, max_wait.count()); !problem.empty()) return problem;
    const natsStatus status = ensure_stream();
    return status == NATS_OK ? std::string() : "the bucket digd_homes: " + words_of(status);
  }

  bool is_closed() const override { return client_.is_closed(); }

  bucket_reply call(const bucket_request& request) override {
    return request.is == bucket_request::kind::read ? read(request.key) : write(request);
  }

  std::string remove(const std::string& key, std::uint64_t revision) override {
    const bucket_reply now = read(key);
    if (now.is == bucket_reply::result::failed) return now.problem;
    if (now.is == bucket_reply::result::missing || now.revision != revision) return {};
    jsErrCode code = static_cast<jsErrCode>(0);
    const natsStatus status = js_DeleteMsg(client_.context.get(), bucket_stream, revision, nullptr, &code);
    return status == NATS_OK || status == NATS_NOT_FOUND ? std::string() : words_of(status);
  }

 private:
  bucket_reply read(const std::string& key) {
    const std::string subject = subject_of_key(key);
    jsDirectGetMsgOptions options;
    jsDirectGetMsgOptions_Init(&options);
    options.LastBySubject = subject.c_str();
    natsMsg* got = nullptr;
    const natsStatus status = js_DirectGetMsg(&got, client_.context.get(), bucket_stream, nullptr, &options);
    const nats_handle<natsMsg, natsMsg_Destroy> message(got);
    if (status == NATS_NOT_FOUND) return {.is = bucket_reply::result::missing, .value = {}, .problem = {}};
    if (status != NATS_OK) return failed(status);
    const char* operation = nullptr;
    const bool is_removed = natsMsgHeader_Get(got, "KV-Operation", &operation) == NATS_OK;
    return {.is = is_removed ? bucket_reply::result::missing : bucket_reply::result::ok,
            .value = std::string(natsMsg_GetData(got), static_cast<std::size_t>(natsMsg_GetDataLength(got))),
            .revision = natsMsg_GetSequence(got),
            .problem = {}};
  }

  bucket_reply write(const bucket_request& request) {
    jsPubOptions options;
    jsPubOptions_Init(&options);
    options.ExpectStream = bucket_stream;
    options.ExpectLastSubjectSeq = request.expected;
    options.ExpectNoMessage = request.expected == 0;
    jsPubAck* ack = nullptr;
    jsErrCode code = static_cast<jsErrCode>(0);
    const natsStatus status = js_Publish(&ack, client_.context.get(), subject_of_key(request.key).c_str(),
                                         request.value.data(), static_cast<int>(request.value.size()), &options, &code);
    const nats_handle<jsPubAck, jsPubAck_Destroy> acked(ack);
    if (code == JSStreamWrongLastSequenceErr) return {.is = bucket_reply::result::conflict, .value = {}, .problem = {}};
    if (status != NATS_OK) return failed(status);
    return {.value = {}, .revision = ack->Sequence, .problem = {}};
  }

  // A bucket that exists is used as it is: its operator decides about its replicas.
  natsStatus ensure_stream() {
    jsErrCode code = static_cast<jsErrCode>(0);
    jsStreamInfo* info = nullptr;
    const natsStatus status = js_GetStreamInfo(&info, client_.context.get(), bucket_stream, nullptr, &code);
    jsStreamInfo_Destroy(info);
    if (status != NATS_NOT_FOUND) return status;
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    config.Name = bucket_stream;
    const char* subjects[] = {bucket_subjects};
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Storage = js_FileStorage;
    config.Discard = js_DiscardNew;
    config.MaxMsgsPerSubject = 1;
    config.Duplicates = nats_duplicate_window_ns;
    config.AllowRollup = true;
    config.AllowDirect = true;
    return js_AddStream(nullptr, client_.context.get(), &config, nullptr, &code);
  }

  nats_client client_;
};

}  // namespace

std::unique_ptr<bucket> connect_bucket(const fleet_settings& settings, std::chrono::milliseconds max_wait,
                                       std::string& problem) {
  auto made = std::make_unique<nats_bucket>();
  problem = made->connect(settings, max_wait);
  if (!problem.empty()) return nullptr;
  return made;
}

}  // namespace digd::daemon
