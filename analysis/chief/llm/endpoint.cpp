#include "analysis/chief/llm/endpoint.h"

#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <thread>

#include "base/fnv_hash.h"
#include "net/client_socket.h"
#include "net/http_exchange.h"
#include "net/http_proxy.h"
#include "net/http_url.h"
#include "net/tls_pipe.h"

namespace digd::chief::llm {

namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

class category final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "llm"; }
  std::string message(int code) const override {
    switch (static_cast<llm_errc>(code)) {
      case llm_errc::unreachable: return "the endpoint cannot be reached";
      case llm_errc::timed_out: return "the endpoint took too long";
      case llm_errc::rate_limited: return "the endpoint limits the rate";
      case llm_errc::server_error: return "the endpoint has a fault";
      case llm_errc::rejected: return "the endpoint rejects the request";
      case llm_errc::malformed: return "the endpoint's answer is malformed";
      case llm_errc::cut_off: return "the model's answer is cut off";
      case llm_errc::declined: return "the model declines to answer";
      case llm_errc::too_large: return "the endpoint's answer is too large";
      case llm_errc::over_budget: return "the budget is used up";
      case llm_errc::undecided: return "the model decides on nothing";
    }
    return "unknown";
  }
};

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string body_of(const endpoint_options& options, const std::vector<message>& messages) {
  json::array list;
  for (const message& m : messages) list.push_back(json::object{{"role", m.role}, {"content", m.content}});
  json::object body{{"model", options.model}, {"messages", std::move(list)}, {"max_tokens", options.max_answer_tokens}};
  if (options.temperature >= 0) body["temperature"] = options.temperature;
  return json::serialize(body);
}

std::size_t tokens_in(const json::object& usage, const char* name) {
  const json::value* v = usage.if_contains(name);
  return v && v->is_int64() && v->get_int64() > 0 ? static_cast<std::size_t>(v->get_int64()) : 0;
}

bool again(llm_errc failure) {
  return failure == llm_errc::unreachable || failure == llm_errc::timed_out || failure == llm_errc::rate_limited ||
         failure == llm_errc::server_error || failure == llm_errc::malformed;
}

std::string url_of(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url.ends_with("/chat/completions") ? url : url + "/chat/completions";
}

}  // namespace

const boost::system::error_category& llm_category() noexcept {
  static const category instance;
  return instance;
}
boost::system::error_code make_error_code(llm_errc code) noexcept { return {static_cast<int>(code), llm_category()}; }

struct endpoint::response {
  unsigned status = 0;
  std::string body;
  std::int64_t retry_after_ms = -1;
  bool counted = false;  // the answer has a token count
};

endpoint::endpoint(endpoint_options options) : options_(std::move(options)) {
  options_.url = url_of(options_.url);
  std::error_code ignored;  // without a cache folder nothing is cached
  if (!options_.cache.empty()) fs::create_directories(options_.cache, ignored);
}

boost::system::result<std::string> endpoint::ask(const std::vector<message>& messages, const std::string& dry_reply) {
  problem_.clear();
  const std::string body = body_of(options_, messages);
  if (options_.dry_run) {
    std::string prompt;
    for (const message& m : messages) prompt += "[" + m.role + "]\n" + m.content + "\n";
    if (options_.on_dry_run) options_.on_dry_run(prompt);
    ++used_.requests;
    count(prompt.size() / 4, std::max<std::size_t>(dry_reply.size() / 4, 150));
    return dry_reply;
  }
  std::string text;
  if (from_cache(body, text)) return text;
  if (used_.requests >= options_.max_requests ||
      (options_.max_tokens_in_all && used_.tokens() >= options_.max_tokens_in_all)) {
    return make_error_code(llm_errc::over_budget);
  }
  auto answer = send_with_retries(body);
  if (!answer) ++used_.failed;
  return answer;
}

boost::system::result<std::string> endpoint::send_with_retries(const std::string& body) {
  llm_errc failure = llm_errc::unreachable;
  std::int64_t pause = options_.backoff_ms;
  for (std::size_t round = 0; round < options_.tries; ++round) {
    if (options_.requests_per_minute > 0 && last_sent_ms_ >= 0) {
      wait(last_sent_ms_ + static_cast<std::int64_t>(60'000 / options_.requests_per_minute) - now_ms());
    }
    last_sent_ms_ = now_ms();
    response got;
    ++used_.requests;
    failure = send(body, got);
    std::string text;
    if (failure == llm_errc{}) failure = read(got, text);
    if (failure == llm_errc{}) {
      if (!got.counted) {
        ++used_.estimated;
        count(body.size() / 4, text.size() / 4);
      }
      to_cache(body, got.body);
      return text;
    }
    if (!again(failure) || round + 1 == options_.tries) break;
    ++used_.retried;
    wait(std::min(got.retry_after_ms >= 0 ? got.retry_after_ms : pause, options_.max_backoff_ms));
    pause = std::min(pause * 2, options_.max_backoff_ms);
  }
  return make_error_code(failure);
}

llm_errc endpoint::send(const std::string& body, response& into) {
  net::http_peer to;
  net::http_request request{
      .method = "POST", .fields = {{"User-Agent", "digctl"}, {"Content-Type", "application/json"}}, .body = body};
  if (!options_.key.empty()) request.fields.emplace_back("Authorization", "Bearer " + options_.key);
  problem_ = route(to, request);
  if (!problem_.empty()) return llm_errc::unreachable;
  net::http_outcome outcome = net::perform(std::move(to), std::move(request),
                                           {.connect = std::chrono::milliseconds(options_.connect_timeout_ms),
                                            .total = std::chrono::milliseconds(options_.timeout_ms),
                                            .max_body_bytes = options_.max_response_bytes});
  into.status = outcome.status;
  into.body = std::move(outcome.body);
  if (outcome.retry_after_s.value_or(0) > 0) into.retry_after_ms = *outcome.retry_after_s * 1000;
  if (outcome.too_large) return llm_errc::too_large;
  if (!outcome.ec) return llm_errc{};
  problem_ = outcome.ec.message();
  if (!outcome.certificate_error.empty()) problem_ = "its certificate is refused: " + outcome.certificate_error;
  if (outcome.proxy_status != 0) problem_ = "the proxy answers with status " + std::to_string(outcome.proxy_status);
  return outcome.timed_out ? llm_errc::timed_out : llm_errc::unreachable;
}

// Fills in where the request goes: to the endpoint's host, or to the environment's proxy. Returns why it cannot go.
std::string endpoint::route(net::http_peer& to, net::http_request& request) const {
  net::http_url url;
  if (std::string problem = net::parse_http_url(options_.url, url); !problem.empty()) return "its URL " + problem;
  std::optional<net::http_proxy> proxy;
  if (std::string problem = net::proxy_for(url, proxy); !problem.empty()) return problem;
  const net::http_url& first = proxy ? proxy->where : url;
  boost::system::error_code failed;
  to.endpoints = net::look_up(first.host, std::to_string(first.port), failed);
  if (failed) return "no address for " + first.host + ": " + failed.message();
  to.host = url.host;
  request.host = url.host_header;
  request.target = url.target;
  if (url.tls) {
    try {
      to.tls = net::client_context(options_.authority);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
  }
  if (!proxy) return {};
  if (url.tls) {
    to.tunnel =
        (url.host.find(':') == std::string::npos ? url.host : "[" + url.host + "]") + ":" + std::to_string(url.port);
    to.proxy_authorization = proxy->authorization;
  } else {
    request.target = "http://" + url.host_header + url.target;
    if (!proxy->authorization.empty()) request.fields.emplace_back("Proxy-Authorization", proxy->authorization);
  }
  return {};
}

llm_errc endpoint::read(response& got, std::string& text) {
  if (got.status != 200) {
    problem_ = "status " + std::to_string(got.status);
    if (got.status == 429) return llm_errc::rate_limited;
    return got.status >= 500 || got.status == 408 ? llm_errc::server_error : llm_errc::rejected;
  }
  boost::system::error_code failed;
  const json::value document = json::parse(got.body, failed);
  const json::object* top = failed ? nullptr : document.if_object();
  const json::value* choices = top ? top->if_contains("choices") : nullptr;
  const json::object* choice =
      choices && choices->is_array() && !choices->get_array().empty() ? choices->get_array()[0].if_object() : nullptr;
  const json::value* m = choice ? choice->if_contains("message") : nullptr;
  if (!m || !m->is_object()) return llm_errc::malformed;
  if (const json::value* u = top->if_contains("usage"); u && u->is_object()) {
    got.counted = true;
    count(tokens_in(u->get_object(), "prompt_tokens"), tokens_in(u->get_object(), "completion_tokens"));
  }
  const json::value* refusal = m->get_object().if_contains("refusal");
  const json::value* finish = choice->if_contains("finish_reason");
  const std::string_view reason =
      finish && finish->is_string() ? std::string_view(finish->get_string()) : std::string_view();
  if ((refusal && refusal->is_string() && !refusal->get_string().empty()) || reason == "content_filter")
    return llm_errc::declined;
  if (reason == "length") return llm_errc::cut_off;
  const json::value* content = m->get_object().if_contains("content");
  if (!content || !content->is_string()) return llm_errc::malformed;
  text = std::string(content->get_string());
  return llm_errc{};
}

void endpoint::count(std::size_t in, std::size_t out) {
  used_.tokens_in += in;
  used_.tokens_out += out;
  used_.cost += (static_cast<double>(in) * options_.price_in + static_cast<double>(out) * options_.price_out) / 1e6;
}

std::string endpoint::cache_file(const std::string& body) const {
  return (fs::path(options_.cache) / (fnv_digits(options_.url + "\n" + body) + ".json")).string();
}

bool endpoint::from_cache(const std::string& body, std::string& text) {
  if (options_.cache.empty()) return false;
  std::ifstream in(cache_file(body), std::ios::binary);
  if (!in) return false;
  const std::string stored{std::istreambuf_iterator<char>(in), {}};
  boost::system::error_code failed;
  const json::value document = json::parse(stored, failed);
  if (failed || !document.is_object()) return false;
  const json::value* request = document.get_object().if_contains("request");
  const json::value* answer = document.get_object().if_contains("response");
  if (!request || !request->is_string() || request->get_string() != body || !answer || !answer->is_string())
    return false;
  response kept;
  kept.status = 200;
  kept.body = std::string(answer->get_string());
  const usage before = used_;
  const bool good = read(kept, text) == llm_errc{};
  used_ = before;  // a cached answer costs nothing
  if (good) ++used_.cached;
  return good;
}

// Writes a temporary file and renames it, so that no reader sees half of one. A failed write is not an error.
void endpoint::to_cache(const std::string& body, const std::string& answer) const {
  if (options_.cache.empty()) return;
  const std::string file = cache_file(body), beside = file + "." + std::to_string(getpid());
  {
    std::ofstream out(beside, std::ios::binary | std::ios::trunc);
    out << json::serialize(json::object{{"request", body}, {"response", answer}});
    if (!out.good()) return;
  }
  std::error_code ignored;
  fs::rename(beside, file, ignored);
}

void endpoint::wait(std::int64_t ms) const {
  if (ms <= 0) return;
  if (options_.sleep) options_.sleep(ms);
  else std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

}  // namespace digd::chief::llm
