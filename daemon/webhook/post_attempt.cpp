#include "daemon/webhook/post_attempt.h"

#include <algorithm>
#include <utility>

#include "base/unix_time.h"
#include "daemon/webhook/signature.h"

namespace digd::daemon {

namespace {

using boost::system::error_code;
using std::chrono::milliseconds;

constexpr std::uint64_t max_answer_bytes = 64 * 1024;

}  // namespace

post_attempt::post_attempt(boost::asio::io_context& context, std::shared_ptr<host_lookup> lookup,
                           std::shared_ptr<const target> receiver, std::string body, callback on_done)
    : context_(context),
      receiver_(std::move(receiver)),
      body_(std::move(body)),
      on_done_(std::move(on_done)),
      lookup_deadline_(context.get_executor()),
      lookup_(std::move(lookup)) {}

void post_attempt::start() {
  until_ = clock::now() + milliseconds(receiver_->settings.timeout_ms);
  lookup_deadline_.expires_at(until_);
  const auto me = weak_from_this();
  lookup_deadline_.async_wait([me](error_code ec) {
    const auto self = me.lock();
    if (!ec && self) self->finish({.problem = self->timeout_text()});
  });
  lookup_->request(receiver_->where, me, [me](const error_code& ec, const host_lookup::results& found) {
    const auto self = me.lock();
    if (!self || !self->on_done_) return;
    if (ec) return self->finish({.problem = "the host cannot be looked up: " + ec.message()});
    self->send(found);
  });
}

// Each attempt has its own timestamp. A receiver can therefore refuse a replayed old request.
net::http_request post_attempt::make_request() {
  const std::int64_t timestamp = unix_ms() / 1000;
  net::http_request request{.method = "POST",
                            .target = receiver_->where.target,
                            .host = receiver_->where.host_header,
                            .fields = {{"User-Agent", "digd/" DIGD_VERSION},
                                       {"Content-Type", "application/json"},
                                       {"Digd-Timestamp", std::to_string(timestamp)}}};
  const std::string& format = receiver_->settings.format;
  if (format == "otlp") {
    request.fields = {{"User-Agent", "digd/" DIGD_VERSION}, {"Content-Type", "application/x-protobuf"}};
    request.fields.insert(request.fields.end(), receiver_->headers.begin(), receiver_->headers.end());
  }
  // PagerDuty's secret is the routing key in the body; the secret of [otlp_export] is its headers.
  if (!receiver_->secret.empty() && format != "pagerduty" && format != "otlp")
    request.fields.emplace_back("Digd-Signature", signature_of(receiver_->secret, timestamp, body_));
  request.body = std::move(body_);
  return request;
}

void post_attempt::send(const host_lookup::results& found) {
  lookup_deadline_.cancel();
  net::http_peer to{.tls = receiver_->tls, .host = receiver_->where.host};
  for (const auto& entry : found) to.endpoints.emplace_back(entry.endpoint());
  const auto left = std::chrono::duration_cast<milliseconds>(until_ - clock::now());
  exchange_ = net::http_exchange::start(context_, std::move(to), make_request(),
                                        {.total = std::max(left, milliseconds(1)), .max_body_bytes = max_answer_bytes},
                                        [me = weak_from_this()](const net::http_outcome& outcome) {
                                          if (const auto self = me.lock()) self->finish(self->result_of(outcome));
                                        });
}

// The status alone decides; a failure while reading the body changes nothing.
post_result post_attempt::result_of(const net::http_outcome& outcome) const {
  if (outcome.status != 0) {
    return {.status = outcome.status,
            .problem = outcome.good() ? "" : "status " + std::to_string(outcome.status),
            .retry_after_s = outcome.retry_after_s};
  }
  if (outcome.timed_out) return {.problem = timeout_text()};
  std::string step = "no answer";
  if (outcome.step == net::http_step::connect) step = "cannot connect";
  if (outcome.step == net::http_step::send) step = "cannot send";
  if (outcome.step == net::http_step::handshake) {
    step = "TLS";
    if (!outcome.certificate_error.empty()) step += " (" + outcome.certificate_error + ")";
  }
  return {.problem = step + ": " + outcome.ec.message()};
}

std::string post_attempt::timeout_text() const {
  return "no answer within " + std::to_string(receiver_->settings.timeout_ms) + " ms";
}

void post_attempt::cancel() {
  on_done_ = nullptr;
  lookup_deadline_.cancel();
  if (exchange_) exchange_->cancel();
}

void post_attempt::finish(const post_result& result) {
  if (!on_done_) return;
  const callback on_done = std::exchange(on_done_, nullptr);
  lookup_deadline_.cancel();
  on_done(result);
}

}  // namespace digd::daemon
