#include "daemon/webhook/otlp_body.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <optional>

#include "base/deep_json.h"
#include "base/hex.h"
#include "base/text.h"
#include "healing/callback_body.h"
#include "trace.pb.h"

namespace digd::daemon {

namespace {

namespace json = boost::json;
namespace wire = otlp::wire;

constexpr std::size_t trace_id_bytes = 16, span_id_bytes = 8, max_events = 128;
constexpr std::int32_t status_error = 2, kind_internal = 1;
constexpr std::uint64_t ns_per_ms = 1'000'000;

std::string hash_of(std::string_view text, std::size_t bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  // Cannot fail: OpenSSL always has SHA-256.
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  return {reinterpret_cast<const char*>(digest.data()), bytes};
}

// The bytes of an id in lower-case hex; nullopt: it has another length, or it is zero, which is never an id.
std::optional<std::string> bytes_of_hex(std::string_view hex, std::size_t bytes) {
  if (hex.size() != 2 * bytes || hex.find_first_not_of('0') == std::string_view::npos) return std::nullopt;
  return from_hex(hex);
}

// VERSION-TRACE-SPAN-FLAGS, and more fields in later versions (https://www.w3.org/TR/trace-context/).
bool read_traceparent(std::string_view text, otlp_context& into) {
  if (text.size() < 55 || text.starts_with("ff") || text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
  const auto trace = bytes_of_hex(text.substr(3, 32), trace_id_bytes);
  const auto span = bytes_of_hex(text.substr(36, 16), span_id_bytes);
  if (!trace || !span) return false;
  into.trace_id = *trace;
  into.parent_span_id = *span;
  return true;
}

std::string_view text_of(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  const json::string* text = found == nullptr ? nullptr : found->if_string();
  return text == nullptr ? std::string_view{} : std::string_view(text->data(), text->size());
}

std::int64_t number_of(const json::object& from, std::string_view key) {
  const json::value* found = from.if_contains(key);
  return found != nullptr && found->is_int64() ? found->get_int64() : 0;
}

bool is_healed(const json::object& detection) {
  const json::value* healed = detection.if_contains("healed");
  return healed != nullptr && (healed->is_bool() ? healed->get_bool() : healed->is_int64() && healed->get_int64() != 0);
}

std::uint64_t ns_of(std::int64_t unix_ms) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(unix_ms, 0)) * ns_per_ms;
}

// Adds attributes to a span, an event or a resource.
class attributes {
 public:
  template <class Message>
  explicit attributes(Message& of) : out_(*of.mutable_attributes()) {}

  void text(std::string_view key, std::string_view value) {
    if (!value.empty()) add(key).set_string_value(std::string(utf8_prefix(value, max_text_bytes)));
  }
  void boolean(std::string_view key, bool value) { add(key).set_bool_value(value); }
  void number(std::string_view key, std::int64_t value) { add(key).set_int_value(value); }

 private:
  wire::AnyValue& add(std::string_view key) {
    wire::KeyValue& pair = *out_.Add();
    pair.set_key(std::string(key));
    return *pair.mutable_value();
  }

  google::protobuf::RepeatedPtrField<wire::KeyValue>& out_;
};

void add_detection(attributes to, const json::object& detection) {
  to.text("digd.rule", text_of(detection, "rule"));
  to.text("digd.severity", text_of(detection, "severity"));
  to.boolean("digd.healed", is_healed(detection));
  to.text("digd.healing", text_of(detection, "healing"));
  to.text("digd.cause", text_of(detection, "cause"));
  to.text("digd.agent", text_of(detection, "agent"));
  to.text("digd.event", text_of(detection, "event"));
  to.text("digd.reason", text_of(detection, "reason"));
}

void add_event(wire::Span& span, std::int64_t at_ms, const json::object& detection) {
  wire::Span::Event& event = *span.add_events();
  event.set_time_unix_nano(ns_of(at_ms));
  event.set_name("digd.detection");
  add_detection(attributes(event), detection);
}

void add_events(wire::Span& span, const json::object& from, std::string_view key, std::int64_t at_ms) {
  const json::value* found = from.if_contains(key);
  if (found == nullptr || !found->is_array()) return;
  std::size_t count = 0;
  for (const json::value& each : found->get_array()) {
    if (!each.is_object() || ++count > max_events) continue;
    const std::int64_t own_ms = number_of(each.get_object(), "at_ms");
    add_event(span, own_ms != 0 ? own_ms : at_ms, each.get_object());
  }
}

void set_error(wire::Span& span, std::string_view message) {
  span.mutable_status()->set_message(std::string(utf8_prefix(message, max_text_bytes)));
  span.mutable_status()->set_code(status_error);
}

void add_detection_span(wire::Span& span, const json::object& detection) {
  add_detection(attributes(span), detection);
  const bool is_failure = text_of(detection, "severity") == "failure";
  if (is_failure && !is_healed(detection)) set_error(span, text_of(detection, "reason"));
}

void add_intervention_span(wire::Span& span, const json::object& intervention, std::int64_t at_ms) {
  attributes to(span);
  to.text("digd.intervention", text_of(intervention, "id"));
  to.text("digd.action", text_of(intervention, "action"));
  to.text("digd.event", text_of(intervention, "event"));
  to.text("digd.inject", text_of(intervention, "inject"));
  if (const json::value* found = intervention.if_contains("recipients"); found != nullptr && found->is_array())
    to.text("digd.recipients", json::serialize(*found));
  add_events(span, intervention, "detections", at_ms);
}

void add_run_span(wire::Span& span, const json::object& run) {
  attributes to(span);
  const std::string_view outcome = text_of(run, "outcome");
  to.text("digd.outcome", outcome);
  for (const std::string_view count : {"detections", "healed", "interventions"})
    to.number("digd." + std::string(count), number_of(run, count));
  add_events(span, run, "found", number_of(run, "ended_ms"));
  if (outcome == "failure" || outcome == "aborted") set_error(span, "the run ended with " + std::string(outcome));
}

std::string name_of(callback_kind kind, const json::object& fields) {
  if (kind == callback_kind::run) return "digd.run";
  if (kind == callback_kind::intervention) return "digd.intervention " + std::string(text_of(fields, "action"));
  return "digd.detection " + std::string(text_of(fields, "rule"));
}

// The only span of a request that has nothing else yet.
wire::Span& add_span(wire::ExportTraceServiceRequest& request) {
  wire::ResourceSpans& resource_spans = *request.add_resource_spans();
  attributes resource(*resource_spans.mutable_resource());
  resource.text("service.name", "digd");
  resource.text("service.version", DIGD_VERSION);
  wire::ScopeSpans& scope_spans = *resource_spans.add_scope_spans();
  scope_spans.mutable_scope()->set_name("digd");
  scope_spans.mutable_scope()->set_version(DIGD_VERSION);
  return *scope_spans.add_spans();
}

}  // namespace

otlp_context otlp_context_of(std::string_view archive_prefix, std::uint64_t run_number, std::string_view run,
                             const std::vector<std::pair<std::string, std::string>>& labels) {
  constexpr std::string_view of_spans = "otlp-";
  const std::string seed = std::string(archive_prefix) + "-run-" + std::to_string(run_number);
  otlp_context out{.trace_id = {}, .parent_span_id = {}, .run_span_id = hash_of(seed, span_id_bytes)};
  const auto given = std::find_if(labels.begin(), labels.end(), [](const auto& l) { return l.first == "traceparent"; });
  if (given != labels.end() && read_traceparent(given->second, out)) return out;
  if (run.starts_with(of_spans)) {
    if (const auto trace = bytes_of_hex(run.substr(of_spans.size()), trace_id_bytes)) out.trace_id = *trace;
  }
  if (out.trace_id.empty()) out.trace_id = hash_of("trace of " + seed, trace_id_bytes);
  return out;
}

std::string otlp_body(const otlp_context& context, std::string_view id, callback_kind kind,
                      const callback_text& callback, std::string_view dashboard) {
  json::error_code ec;
  const json::value parsed = parse_json(callback.json, ec);
  const json::object none, *fields = ec ? nullptr : parsed.if_object();
  if (fields == nullptr) fields = &none;
  const bool is_run = kind == callback_kind::run;
  wire::ExportTraceServiceRequest request;
  wire::Span& span = add_span(request);
  span.set_trace_id(context.trace_id);
  span.set_span_id(is_run ? context.run_span_id : hash_of(id, span_id_bytes));
  span.set_parent_span_id(is_run ? context.parent_span_id : context.run_span_id);
  span.set_name(name_of(kind, *fields));
  span.set_kind(kind_internal);
  const std::int64_t begun_ms = is_run ? number_of(*fields, "opened_ms") : callback.at_ms;
  const std::int64_t ended_ms = is_run ? number_of(*fields, "ended_ms") : callback.at_ms;
  span.set_start_time_unix_nano(ns_of(begun_ms));
  span.set_end_time_unix_nano(ns_of(std::max(begun_ms, ended_ms)));  // the clock may have been set back
  attributes common(span);
  common.text("digd.run", callback.run);
  common.text("digd.id", id);
  if (!dashboard.empty()) common.text("digd.url", link_to_run(dashboard, callback.run));
  if (kind == callback_kind::detection) add_detection_span(span, *fields);
  if (kind == callback_kind::intervention) add_intervention_span(span, *fields, callback.at_ms);
  if (is_run) add_run_span(span, *fields);
  return request.SerializeAsString();
}

}  // namespace digd::daemon
