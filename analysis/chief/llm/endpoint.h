// A client of a language model behind an OpenAI-compatible endpoint (POST …/chat/completions).
//
// One request at a time; not thread-safe. It uses the proxy that the environment names (net/http_proxy.h). The key is
// sent in a header only; it is never written to the cache or to a message. Failure: `llm_errc`. Bounds: `tries`,
// `max_response_bytes`, `max_requests`, `max_tokens_in_all`, timeouts.
#pragma once

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace digd::net {
struct http_peer;
struct http_request;
}  // namespace digd::net

namespace digd::chief::llm {

enum class llm_errc {
  unreachable = 1,  // no connection, or it broke before the answer
  timed_out,
  rate_limited,  // status 429 at the last try
  server_error,  // status 5xx at the last try
  rejected,      // another 4xx: wrong key, model or request; not retried
  malformed,     // the answer is not a chat completion
  cut_off,       // the model stopped at its length limit
  declined,      // the model refused, or a content filter did
  too_large,     // more than `max_response_bytes`
  over_budget,   // `max_requests` or `max_tokens_in_all` is used up
  undecided,     // a valid answer that names no step or agent of the log
};
const boost::system::error_category& llm_category() noexcept;
boost::system::error_code make_error_code(llm_errc) noexcept;

struct endpoint_options {
  std::string url;  // with or without "/chat/completions"
  std::string model;
  std::string key;        // empty: no Authorization header
  std::string authority;  // PEM file of the certificate authority; empty: those of the system
  std::string cache;      // folder for answers, created if missing; empty: none
  long timeout_ms = 180'000, connect_timeout_ms = 10'000;
  std::size_t tries = 5;            // for one request
  std::int64_t backoff_ms = 1'000;  // first pause; doubles with each try, unless the server sends Retry-After
  std::int64_t max_backoff_ms = 60'000;
  double requests_per_minute = 0;      // 0: no limit
  double price_in = 0, price_out = 0;  // for a million tokens
  double temperature = 0;              // negative: not sent
  std::size_t max_answer_tokens = 4'096;
  std::size_t max_response_bytes = 8u << 20;
  std::size_t max_requests = 100'000;  // in total; then `over_budget`
  std::size_t max_tokens_in_all = 0;   // 0: no limit
  bool dry_run = false;                // send nothing; call `on_dry_run` with each prompt
  std::function<void(const std::string& prompt)> on_dry_run;
  std::function<void(std::int64_t ms)> sleep;  // for tests; empty: sleep
};

struct usage {
  std::size_t requests = 0, cached = 0, retried = 0, failed = 0;
  std::size_t estimated = 0;                  // answers without a token count, counted as four bytes a token
  std::size_t tokens_in = 0, tokens_out = 0;  // in a dry run estimated as four bytes a token
  double cost = 0;
  std::size_t tokens() const { return tokens_in + tokens_out; }
};

struct message {
  std::string role, content;
};

class endpoint {
 public:
  explicit endpoint(endpoint_options);
  endpoint(const endpoint&) = delete;
  endpoint& operator=(const endpoint&) = delete;

  // The model's text, from the cache if possible. A dry run returns `dry_reply`. On failure `problem()` has details.
  boost::system::result<std::string> ask(const std::vector<message>&, const std::string& dry_reply);

  const usage& used() const { return used_; }
  const std::string& problem() const { return problem_; }

 private:
  struct response;
  boost::system::result<std::string> send_with_retries(const std::string& body);
  llm_errc send(const std::string& body, response&);
  std::string route(net::http_peer&, net::http_request&) const;
  llm_errc read(response&, std::string& text);
  bool from_cache(const std::string& body, std::string& text);
  void to_cache(const std::string& body, const std::string& response) const;
  std::string cache_file(const std::string& body) const;
  void wait(std::int64_t ms) const;
  void count(std::size_t in, std::size_t out);

  endpoint_options options_;
  usage used_;
  std::string problem_;
  std::int64_t last_sent_ms_ = -1;
};

}  // namespace digd::chief::llm

template <>
struct boost::system::is_error_code_enum<digd::chief::llm::llm_errc> : std::true_type {};
