#include "daemon/fleet/nats_client.h"

#include <vector>

#include "base/quote.h"
#include "base/shown_url.h"

namespace digd::daemon {

std::string words_of(natsStatus status) {
  const char* last = nats_GetLastError(nullptr);
  std::string words = natsStatus_GetText(status);
  if (last != nullptr && *last != '\0') words += ": " + std::string(last);
  return words;
}

std::string nats_client::open(const fleet_settings& settings, std::int64_t request_ms, jsPubAckErrHandler on_failure) {
  const natsStatus status = connect(settings, request_ms, on_failure);
  if (status == NATS_OK) return {};
  return "NATS at " + digd::quoted(shown_url(settings.servers.front())) + ": " + words_of(status);
}

natsStatus nats_client::connect(const fleet_settings& settings, std::int64_t request_ms,
                                jsPubAckErrHandler on_failure) {
  natsOptions* made = nullptr;
  natsStatus status = natsOptions_Create(&made);
  const nats_handle<natsOptions, natsOptions_Destroy> options(made);
  std::vector<const char*> servers;
  servers.reserve(settings.servers.size());
  for (const std::string& server : settings.servers) servers.push_back(server.c_str());
  if (status == NATS_OK) status = natsOptions_SetServers(made, servers.data(), static_cast<int>(servers.size()));
  if (status == NATS_OK) status = natsOptions_SetName(made, "digd");
  if (status == NATS_OK) status = natsOptions_SetTimeout(made, request_ms);
  if (status == NATS_OK) status = natsOptions_SetMaxReconnect(made, -1);
  if (status == NATS_OK) status = natsOptions_SetPingInterval(made, nats_ping_ms);
  if (status == NATS_OK && !settings.ca.empty()) {
    status = natsOptions_LoadCATrustedCertificates(made, settings.ca.c_str());
    if (status == NATS_OK) status = natsOptions_SetSecure(made, true);
  }
  if (status == NATS_OK && !settings.credentials.empty()) {
    status = natsOptions_SetUserCredentialsFromFiles(made, settings.credentials.c_str(), nullptr);
  }
  natsConnection* connected = nullptr;
  if (status == NATS_OK) status = natsConnection_Connect(&connected, made);
  connection.reset(connected);
  jsOptions js;
  jsOptions_Init(&js);
  js.Wait = request_ms;
  js.PublishAsync.ErrHandler = on_failure;
  jsCtx* made_context = nullptr;
  if (status == NATS_OK) status = natsConnection_JetStream(&made_context, connected, &js);
  context.reset(made_context);
  return status;
}

}  // namespace digd::daemon
