// Answers the requests of the connections on one engine thread: the table of routes, and the WebSockets that the
// connections become.
//
// Thread: its engine thread. Lifetime: outlives the thread's connections.
#pragma once

#include "daemon/api/routes.h"
#include "daemon/http/request_handler.h"

namespace digd::daemon {

class router final : public request_handler {
 public:
  router(engine_thread& home, http_services& services) : home_(home), services_(services) {}

  std::variant<body_limit, http_response> limit_body(const net::upgrade_request& head, const peer_ptr& from) override;
  request_result handle(const net::upgrade_request& request, std::string_view body, const peer_ptr& from,
                        memory_charge* memory) override;

 private:
  void open_ingest(const to_ingest& to, released_connection&& from);
  void open_feed(const to_feed& to, released_connection&& from);

  engine_thread& home_;
  http_services& services_;
};

}  // namespace digd::daemon
