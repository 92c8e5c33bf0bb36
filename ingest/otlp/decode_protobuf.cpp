#include <google/protobuf/stubs/logging.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <utility>

#include "base/hex.h"
#include "ingest/otlp/decode.h"
#include "ingest/otlp/protobuf_check.h"
#include "ingest/otlp/span_builder.h"
#include "trace.pb.h"

namespace digd::otlp {

namespace json = boost::json;

namespace {

json::value value_of(const wire::AnyValue& from);

// JSON has no other numbers. Protobuf's JSON writes them as these texts.
json::value number_of(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

json::object object_of(const google::protobuf::RepeatedPtrField<wire::KeyValue>& from) {
  json::object out;
  for (const wire::KeyValue& attribute : from) out.insert_or_assign(attribute.key(), value_of(attribute.value()));
  return out;
}

json::value value_of(const wire::AnyValue& from) {
  switch (from.value_case()) {
    case wire::AnyValue::kStringValue: return json::string(from.string_value());
    case wire::AnyValue::kBoolValue: return from.bool_value();
    case wire::AnyValue::kIntValue: return std::int64_t{from.int_value()};
    case wire::AnyValue::kDoubleValue: return number_of(from.double_value());
    case wire::AnyValue::kBytesValue: return json::string(to_hex(from.bytes_value()));
    case wire::AnyValue::kKvlistValue: return object_of(from.kvlist_value().values());
    case wire::AnyValue::kArrayValue: {
      json::array out;
      for (const wire::AnyValue& value : from.array_value().values()) out.push_back(value_of(value));
      return out;
    }
    case wire::AnyValue::VALUE_NOT_SET: break;
  }
  return nullptr;
}

std::string exception_of(const wire::Span& from) {
  std::string out;
  for (const wire::Span::Event& event : from.events()) {
    if (event.name() != "exception") continue;
    for (const wire::KeyValue& attribute : event.attributes()) {
      if (attribute.key() == "exception.message") out = attribute.value().string_value();
    }
  }
  return out;
}

span span_of(const wire::Span& from, const std::shared_ptr<const origin>& made_by, std::size_t& dropped_links) {
  constexpr int error = 2;
  span s;
  s.from = made_by;
  s.trace = id_from_bytes(from.trace_id(), trace_id_bytes);
  s.id = id_from_bytes(from.span_id(), span_id_bytes);
  s.parent = id_from_bytes(from.parent_span_id(), span_id_bytes);
  s.name = from.name();
  s.attributes = object_of(from.attributes());
  for (const wire::Span::Link& link : from.links()) {
    if (s.links.size() >= max_links) {
      ++dropped_links;
      continue;
    }
    span_link to{id_from_bytes(link.trace_id(), trace_id_bytes), id_from_bytes(link.span_id(), span_id_bytes)};
    if (!to.trace.empty() && !to.span.empty()) s.links.push_back(std::move(to));
  }
  s.failed = from.status().code() == error;
  if (s.failed) s.error = from.status().message().empty() ? exception_of(from) : from.status().message();
  return s;
}

std::string service_of(const wire::Resource& from) {
  std::string out;
  for (const wire::KeyValue& attribute : from.attributes()) {
    if (attribute.key() == "service.name") out = attribute.value().string_value();
  }
  return out;
}

// digd reports a broken message itself, so the library must not print errors.
void silence_library() {
  static const auto before = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(before);
}

}  // namespace

decode_outcome decode_protobuf(std::string_view body) {
  silence_library();
  protobuf_fault fault = check_protobuf(*wire::ExportTraceServiceRequest::descriptor(), body);
  if (!fault.message.empty()) return decode_failure{std::move(fault.message), fault.too_large};
  wire::ExportTraceServiceRequest request;
  if (!request.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return decode_failure{"expected an ExportTraceServiceRequest, of at most " + std::to_string(max_depth) + " levels"};
  }
  batch out;
  for (int r = 0; r < request.resource_spans_size(); ++r) {
    const wire::ResourceSpans& resource = request.resource_spans(r);
    const std::string service = service_of(resource.resource());
    for (int c = 0; c < resource.scope_spans_size(); ++c) {
      const wire::ScopeSpans& scope = resource.scope_spans(c);
      const auto from = std::make_shared<const origin>(
          origin{.service = service, .scope = scope.scope().name(), .version = scope.scope().version()});
      const std::string where =
          "resource_spans[" + std::to_string(r) + "].scope_spans[" + std::to_string(c) + "].spans[";
      for (int s = 0; s < scope.spans_size(); ++s) {
        const wire::Span& span = scope.spans(s);
        take_span(out, span_of(span, from, out.dropped_links), {span.start_time_unix_nano(), span.end_time_unix_nano()},
                  where + std::to_string(s) + ']');
      }
    }
  }
  return out;
}

// ---- answers

std::string encode_response(encoding given_encoding, std::size_t rejected, std::string_view problem) {
  if (given_encoding == encoding::json) {
    json::object out;
    if (rejected > 0 || !problem.empty()) {
      out["partialSuccess"] = {{"rejectedSpans", std::to_string(rejected)}, {"errorMessage", json::string(problem)}};
    }
    return json::serialize(out);
  }
  wire::ExportTraceServiceResponse out;
  if (rejected > 0 || !problem.empty()) {
    out.mutable_partial_success()->set_rejected_spans(static_cast<std::int64_t>(rejected));
    out.mutable_partial_success()->set_error_message(std::string(problem));
  }
  return out.SerializeAsString();
}

std::string encode_status(encoding given_encoding, int code, std::string_view message) {
  if (given_encoding == encoding::json) {
    return json::serialize(json::object{{"code", code}, {"message", json::string(message)}});
  }
  wire::RpcStatus out;
  out.set_code(code);
  out.set_message(std::string(message));
  return out.SerializeAsString();
}

}  // namespace digd::otlp
