// A blocking HTTP client of a daemon: one request a connection.
//
// It makes its requests with net/http_exchange.h and turns failures into sentences.
//
// Thread: any, one at a time. Bounds: `patience` limits the connecting and each part of an answer; `max_body_bytes`
// limits a body, unless `download` passes it on. Failure: a sentence that says what to do.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "net/server_address.h"

namespace digd::net {

struct http_answer {
  unsigned status = 0;
  std::string body;  // empty if the body was passed on
  bool good() const { return status >= 200 && status < 300; }
};

class http_client {
 public:
  static constexpr std::size_t max_body_bytes = 128u << 20;

  http_client(server_address to, std::string token, std::chrono::milliseconds patience);

  // Limits the connecting alone; `patience` still limits the parts of an answer.
  void connect_within(std::chrono::milliseconds patience) { connect_patience_ = patience; }

  // Connects and sends no request. Returns an empty string, or why it cannot connect.
  std::string reach() const;

  // Returns an empty string if there is an answer, with any status; otherwise the reason why there is none.
  std::string ask(std::string_view method, std::string_view target, std::string_view body, http_answer& into) const;
  std::string get(std::string_view target, http_answer& into) const { return ask("GET", target, {}, into); }
  // Passes the body of a successful answer to `each` in pieces, until `each` returns false. Keeps the body of any other
  // answer.
  std::string download(std::string_view target, const std::function<bool(std::string_view)>& each,
                       http_answer& into) const;

  const server_address& to() const { return to_; }

 private:
  std::string perform(std::string_view method, std::string_view target, std::string_view body,
                      const std::function<bool(std::string_view)>& each, http_answer& into) const;

  const server_address to_;
  const std::string token_;
  const std::chrono::milliseconds patience_;
  std::chrono::milliseconds connect_patience_;
};

}  // namespace digd::net
