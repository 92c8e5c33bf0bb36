#include "daemon/settings/fleet_options.h"

#include <algorithm>
#include <string_view>

#include "base/quote.h"
#include "daemon/settings/option_kinds.h"

namespace digd::daemon {

namespace {

using namespace kinds;

constexpr std::size_t max_name = 64;

// A token of a subject: neither separators nor wildcards.
bool is_name(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
  };
  return !text.empty() && text.size() <= max_name && std::all_of(text.begin(), text.end(), allowed);
}

}  // namespace

void add_fleet_options(std::vector<option>& table) {
  constexpr std::int64_t thousand_tebibytes = 1LL << 50;
  constexpr applies when = applies::at_restart;
  table.push_back(urls(
      "fleet.servers", when, [](auto& c) -> auto& { return c.fleet.servers; },
      "The servers of NATS, as nats://HOST:PORT or tls://HOST:PORT. Empty: no fleet."));
  table.push_back(words(
      "fleet.credentials", when, [](auto& c) -> auto& { return c.fleet.credentials; },
      "A credentials file of NATS, for this host. It should allow publishing to digd.archive.TENANT.HOST alone."));
  table.push_back(words(
      "fleet.ca", when, [](auto& c) -> auto& { return c.fleet.ca; },
      "A PEM file: who may sign the servers' certificates. If it is set, digd insists on TLS."));
  table.push_back(words(
      "fleet.tenant", when, [](auto& c) -> auto& { return c.fleet.tenant; },
      "Whose runs these are. Letters, digits, - and _."));
  table.push_back(words(
      "fleet.host", when, [](auto& c) -> auto& { return c.fleet.host; },
      "The name of this daemon in its tenant. Letters, digits, - and _. Empty: the name of the machine, up to its "
      "first dot."));
  table.push_back(whole_number(
      "fleet.stream_bytes", 0, thousand_tebibytes, when, [](auto& c) -> auto& { return c.fleet.stream_bytes; },
      "The size of the stream, if digd creates it. A full stream refuses messages, and they wait in the archive. "
      "Bytes; 0: no limit."));
  table.push_back(whole_number(
      "fleet.stream_days", 0, 36'500, when, [](auto& c) -> auto& { return c.fleet.stream_days; },
      "How long the stream keeps messages, if digd creates it; 0: no limit. Collectors must be faster."));
  table.push_back(url(
      "fleet.url", when, [](auto& c) -> auto& { return c.fleet.url; },
      "Where clients reach this daemon, as ws://HOST:PORT or wss://HOST:PORT. Each run then has one home among the "
      "daemons of the tenant, which send clients to it. Empty: runs stay where they were opened, and acks do not wait "
      "for the stream."));
  table.push_back(whole_number(
      "fleet.lease_ms", 300, 600'000, when, [](auto& c) -> auto& { return c.fleet.lease_ms; },
      "How long the homes of this daemon's runs count after it lost its connection to NATS. It stops judging a tenth "
      "earlier; other daemons may take its runs a tenth later."));
  table.push_back(choice(
      "fleet.on_lost_stream", {fleet_settings::wait_word, fleet_settings::local_word}, when,
      [](auto& c) -> auto& { return c.fleet.on_lost_stream; },
      "wait: an ack means that the stream has the message; without NATS sessions go on up to their credits, and other "
      "daemons take the runs. local: runs are pinned to this daemon, judged and acknowledged here without NATS; no "
      "other daemon takes them before this one drains."));
  table.push_back(urls(
      "fleet.view", when, [](auto& c) -> auto& { return c.fleet.view; },
      "Makes this digd a viewer: it judges nothing and shows the fleet at these URLs: the folder or s3:// URL of its "
      "Parquet files, and nats://HOST:PORT for what happens now. It starts python3 -m digd.fleet, or the interpreter "
      "that DIGD_PYTHON names."));
}

bool has_stream_client() {
#ifdef DIGD_FLEET
  return true;
#else
  return false;
#endif
}

std::string check_fleet(const config& c, bool can_publish) {
  if (c.fleet.is_view() && !c.fleet.servers.empty()) {
    return "fleet.view: a viewer judges no runs, so it belongs to no fleet; remove fleet.servers";
  }
  if (c.fleet.servers.empty()) return {};
  if (!c.archive) return "fleet.servers: a fleet needs the archive; remove --no-archive or archive = false";
  if (!is_name(c.fleet.tenant)) {
    return "fleet.tenant: " + digd::quoted(c.fleet.tenant) + " is not a name: 1 to 64 letters, digits, - and _";
  }
  if (!c.fleet.host.empty() && !is_name(c.fleet.host)) {
    return "fleet.host: " + digd::quoted(c.fleet.host) + " is not a name: 1 to 64 letters, digits, - and _";
  }
  if (!c.fleet.url.empty() && !c.fleet.url.starts_with("ws://") && !c.fleet.url.starts_with("wss://")) {
    return "fleet.url: " + digd::quoted(shown_url(c.fleet.url)) + " does not begin with ws:// or wss://";
  }
  for (const std::string& server : c.fleet.servers) {
    if (!server.starts_with("nats://") && !server.starts_with("tls://")) {
      return "fleet.servers: " + digd::quoted(shown_url(server)) + " does not begin with nats:// or tls://";
    }
  }
  if (!can_publish) {
    return "fleet.servers: this digd was built without the client of NATS (Debian: libnats-dev); build it again";
  }
  return {};
}

}  // namespace digd::daemon
