// One HTTP request on a connection of its own: the HTTP client of digctl, of the webhooks and of `digctl attribute`.
//
// It connects, makes the TLS handshake, sends the request, reads the answer and closes. `perform` does the same and
// blocks. Callers look up the host themselves, because webhooks must not block for that.
//
// Thread: that of the io_context. Lifetime: its pending operations hold it. Bounds: `http_bounds`, and 16 KiB of
// header. Failure: `http_outcome` names the step that failed; the callback is called once, never after `cancel` and
// never from within `start`.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace boost::asio::ssl {
class context;
}

namespace digd::net {

struct http_peer {
  std::vector<boost::asio::generic::stream_protocol::endpoint> endpoints;  // the first that accepts is used
  std::shared_ptr<boost::asio::ssl::context> tls;                          // null: without TLS
  std::string host;                 // with TLS: the name or address that the certificate must have
  std::string tunnel;               // HOST:PORT that the proxy at `endpoints` shall connect to; empty: no CONNECT
  std::string proxy_authorization;  // for CONNECT; empty: none
};

struct http_request {
  std::string method, target, host;  // `host`: the value of the header
  std::vector<std::pair<std::string, std::string>> fields;
  std::string body;
};

// Zero: no limit.
struct http_bounds {
  std::chrono::milliseconds connect{};  // until the request can be sent
  std::chrono::milliseconds step{};     // for each step after that: sending, the header, each part of the body
  std::chrono::milliseconds total{};
  std::uint64_t max_body_bytes = std::numeric_limits<std::uint64_t>::max();  // of a body that is kept
};

enum class http_step { connect, tunnel, handshake, send, header, body };

struct http_outcome {
  http_step step = http_step::connect;  // the last one begun
  boost::system::error_code ec;         // why it failed; none: the answer is complete
  bool timed_out = false;               // a bound passed; `ec` is set as well
  bool too_large = false;               // the body is over `max_body_bytes`; `ec` is set as well
  std::string certificate_error;        // why the peer's certificate is not valid
  unsigned proxy_status = 0;            // the proxy's answer, if it refused the tunnel
  unsigned status = 0;                  // 0: no answer. Set even if reading the body fails
  std::optional<std::int64_t> retry_after_s;
  std::string body;
  bool good() const { return status >= 200 && status < 300; }
};

class http_exchange {
 public:
  using finished = std::function<void(http_outcome)>;
  // Gets the body of a 2xx answer in pieces; `http_outcome::body` then stays empty. Returns false to end the exchange.
  using receiver = std::function<bool(std::string_view)>;

  static std::shared_ptr<http_exchange> start(boost::asio::io_context& io, http_peer to, http_request request,
                                              const http_bounds& bounds, finished on_done, receiver each = {});
  virtual ~http_exchange() = default;
  virtual void cancel() = 0;
};

// Makes one exchange and waits for its end.
http_outcome perform(http_peer to, http_request request, const http_bounds& bounds, http_exchange::receiver each = {});

// The seconds of a Retry-After header, a number or a date; at most a year.
std::optional<std::int64_t> retry_after_seconds(std::string_view header, std::int64_t now_s);

}  // namespace digd::net
