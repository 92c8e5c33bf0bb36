// Asking a language model behind an OpenAI-compatible endpoint (POST …/chat/completions), with all that can go wrong.
//
// One request at a time; not thread-safe. TLS by libcurl, certificates checked. The key goes into the request's header
// and nowhere else: not into the cache, not into messages.
#pragma once

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace digd::chief::llm {

enum class llm_errc {
  unreachable = 1,  // no connection, or broken before the answer was there
  timed_out,
  rate_limited,  // 429 to the last try
  server_error,  // 5xx to the last try
  rejected,      // another 4xx: key, model or request are wrong; not tried again
  malformed,     // an answer that is no chat completion
  cut_off,       // the model stopped at its length limit
  declined,      // the model refused, or a content filter did
  too_large,     // more than `max_response_bytes`
  over_budget,   // `max_requests` or `max_tokens_in_all` are used up
  undecided,     // a good answer that names no step or agent of the log
};
const boost::system::error_category& llm_category() noexcept;
boost::system::error_code make_error_code(llm_errc) noexcept;

struct endpoint_options {
  std::string url;  // with or without "/chat/completions"
  std::string model;
  std::string key;        // empty: no Authorization header
  std::string authority;  // PEM file of who signs the certificate; empty: whom the system trusts
  std::string cache;      // folder for answers, created if missing; empty: none
  long timeout_ms = 180'000, connect_timeout_ms = 10'000;
  std::size_t tries = 5;            // of one request
  std::int64_t backoff_ms = 1'000;  // doubled with each try, unless the server says (Retry-After)
  std::int64_t backoff_most_ms = 60'000;
  double requests_per_minute = 0;      // 0: no limit of ours
  double price_in = 0, price_out = 0;  // a million tokens
  double temperature = 0;              // below 0: not sent
  std::size_t max_answer_tokens = 4'096;
  std::size_t max_response_bytes = 8u << 20;
  std::size_t max_requests = 100'000;  // in all; then `over_budget`
  std::size_t max_tokens_in_all = 0;   // 0: no limit
  bool dry_run = false;                // nothing is sent: `on_dry_run` is told each prompt
  std::function<void(const std::string& prompt)> on_dry_run;
  std::function<void(std::int64_t ms)> sleep;  // for tests; empty: really
};

struct usage {
  std::size_t requests = 0, cached = 0, retried = 0, failed = 0;
  std::size_t estimated = 0;                  // answers that do not say how many tokens: four bytes each
  std::size_t tokens_in = 0, tokens_out = 0;  // with a dry run estimated: four bytes a token
  double cost = 0;
  std::size_t tokens() const { return tokens_in + tokens_out; }
};

struct message {
  std::string role, content;
};

class endpoint {
 public:
  explicit endpoint(endpoint_options);
  ~endpoint();
  endpoint(const endpoint&) = delete;
  endpoint& operator=(const endpoint&) = delete;

  // The model's text. `dry_reply` is what a dry run answers. On failure `why()` says more.
  boost::system::result<std::string> ask(const std::vector<message>&, const std::string& dry_reply);

  const usage& used() const { return used_; }
  const std::string& why() const { return why_; }

 private:
  struct response;
  boost::system::result<std::string> try_again_and_again(const std::string& body);
  llm_errc send(const std::string& body, response&);
  llm_errc read(response&, std::string& text);
  bool from_cache(const std::string& body, std::string& text);
  void to_cache(const std::string& body, const std::string& response) const;
  std::string cache_file(const std::string& body) const;
  void wait(std::int64_t ms) const;
  void count(std::size_t in, std::size_t out);

  endpoint_options options_;
  usage used_;
  std::string why_;
  std::int64_t last_sent_ms_ = -1;
  void* curl_ = nullptr;
};

}  // namespace digd::chief::llm

template <>
struct boost::system::is_error_code_enum<digd::chief::llm::llm_errc> : std::true_type {};
