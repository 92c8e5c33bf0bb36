// Asks a daemon over HTTP: one request, one connection, and waits for the answer.
//
// Thread: one at a time, any; it blocks. Bounds: `patience` for a connection, and for every part of an answer; a body
// that is kept has at most `most_bytes`, one that is handed on is not kept. Failure: a sentence that says what to do.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "net/client.h"

namespace digd::net {

struct http_answer {
  unsigned status = 0;
  std::string body;  // of an answer that was handed on: empty
  bool good() const { return status >= 200 && status < 300; }
};

class http_client {
 public:
  static constexpr std::size_t most_bytes = 128u << 20;

  http_client(server_address to, std::string token, std::chrono::milliseconds patience);

  // Empty if there is an answer, whatever it says; else why not.
  std::string ask(std::string_view method, std::string_view target, std::string_view body, http_answer& into) const;
  std::string get(std::string_view target, http_answer& into) const { return ask("GET", target, {}, into); }
  // A good answer's body goes to `each` as it comes, which may say no; of another it is kept.
  std::string download(std::string_view target, const std::function<bool(std::string_view)>& each,
                       http_answer& into) const;

  const server_address& to() const { return to_; }

 private:
  struct request;
  std::string perform(const request& request, http_answer& into) const;

  const server_address to_;
  const std::string token_;
  const std::chrono::milliseconds patience_;
};

}  // namespace digd::net
