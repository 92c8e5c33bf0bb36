// OTLP/JSON: camelCase names, ids in hexadecimal, 64-bit integers as strings or numbers.
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <limits>
#include <utility>

#include "ingest/otlp/decode.h"
#include "ingest/otlp/span_builder.h"
#include "ingest/trace/json_reader.h"

namespace digd::otlp {

namespace json = boost::json;
using importers::import_errc;
using importers::json_reader;
using importers::place;

namespace {

std::string at(std::string_view list, std::size_t i) { return std::string(list) + '[' + std::to_string(i) + ']'; }

class json_decoder {
 public:
  explicit json_decoder(json_reader& in) : in_(in) {}

  void read(const json::object& top) {
    each(top, "resourceSpans", {},
         [&](const json::object& object, const std::string& where) { resource(object, where); });
  }
  batch take() { return std::move(out_); }

 private:
  template <class Read>
  void each(const json::object& of, std::string_view key, std::string_view where, Read read_one) {
    const json::array* items = in_.array(of, key, where, false);
    if (items == nullptr) return;
    for (std::size_t i = 0; i < items->size() && !in_.failed(); ++i) {
      const std::string here = at(place(where, key), i);
      const json::object* object = (*items)[i].if_object();
      if (object == nullptr) return in_.fail(import_errc::wrong_shape, here, "expected an object");
      read_one(*object, here);
    }
  }

  void resource(const json::object& of, const std::string& where) {
    std::string service;
    if (const json::object* resource = in_.object(of, "resource", where, false)) {
      const json::object named = attributes(*resource, place(where, "resource"));
      const json::value* name = named.if_contains("service.name");
      if (name != nullptr && name->is_string()) service = std::string(name->get_string());
    }
    each(of, "scopeSpans", where, [&](const json::object& object, const std::string& here) {
      origin from{.service = service, .scope = {}, .version = {}};
      if (const json::object* scope = in_.object(object, "scope", here, false)) {
        from.scope = in_.string(*scope, "name", place(here, "scope"), false).value_or("");
        from.version = in_.string(*scope, "version", place(here, "scope"), false).value_or("");
      }
      const auto shared = std::make_shared<const origin>(std::move(from));
      each(object, "spans", here,
           [&](const json::object& found, const std::string& path) { read_span(found, path, shared); });
    });
  }

  void read_span(const json::object& of, const std::string& where, const std::shared_ptr<const origin>& from) {
    span s;
    s.from = from;
    s.trace = id_from_hex(in_.string(of, "traceId", where, false).value_or(""), trace_id_bytes);
    s.id = id_from_hex(in_.string(of, "spanId", where, false).value_or(""), span_id_bytes);
    s.parent = id_from_hex(in_.string(of, "parentSpanId", where, false).value_or(""), span_id_bytes);
    s.name = in_.string(of, "name", where, false).value_or("");
    s.attributes = attributes(of, where);
    each(of, "links", where, [&](const json::object& link, const std::string& here) {
      if (s.links.size() >= max_links) return static_cast<void>(++out_.dropped_links);
      span_link to{id_from_hex(in_.string(link, "traceId", here, false).value_or(""), trace_id_bytes),
                   id_from_hex(in_.string(link, "spanId", here, false).value_or(""), span_id_bytes)};
      if (!to.trace.empty() && !to.span.empty()) s.links.push_back(std::move(to));
    });
    status(of, where, s);
    const raw_times when{whole(of, "startTimeUnixNano", where), whole(of, "endTimeUnixNano", where)};
    if (!in_.failed()) take_span(out_, std::move(s), when, where);
  }

  void status(const json::object& of, const std::string& where, span& s) {
    const json::object* given = in_.object(of, "status", where, false);
    if (given == nullptr) return;
    const json::value* code = in_.find(*given, "code");
    s.failed = code != nullptr && ((code->is_int64() && code->get_int64() == 2) ||
                                   (code->is_string() && code->get_string() == "STATUS_CODE_ERROR"));
    if (!s.failed) return;
    s.error = in_.string(*given, "message", place(where, "status"), false).value_or("");
    if (!s.error.empty()) return;
    each(of, "events", where, [&](const json::object& event, const std::string& here) {
      if (in_.string(event, "name", here, false).value_or("") != "exception") return;
      const json::object details = attributes(event, here);
      const json::value* text = details.if_contains("exception.message");
      if (text != nullptr && text->is_string()) s.error = std::string(text->get_string());
    });
  }

  std::uint64_t whole(const json::object& of, std::string_view key, std::string_view where) {
    const json::value* found = in_.find(of, key);
    if (found == nullptr) return 0;
    if (found->is_int64() && found->get_int64() >= 0) return static_cast<std::uint64_t>(found->get_int64());
    if (found->is_uint64()) return found->get_uint64();
    if (const json::string* text = found->if_string()) {
      std::uint64_t value = 0;
      const auto [end, wrong] = std::from_chars(text->data(), text->data() + text->size(), value);
      if (wrong == std::errc{} && end == text->data() + text->size() && !text->empty()) return value;
    }
    in_.fail(import_errc::wrong_shape, place(where, key), "expected a whole number, as a string or a number");
    return 0;
  }

  json::object attributes(const json::object& of, std::string_view where) {
    json::object out;
    each(of, "attributes", where, [&](const json::object& object, const std::string& here) {
      const auto key = in_.string(object, "key", here, true);
      if (key) out.insert_or_assign(json::string_view(key->data(), key->size()), any_value(object, "value", here));
    });
    return out;
  }

  json::value any_value(const json::object& of, std::string_view key, std::string_view where) {
    const json::object* value = in_.object(of, key, where, false);
    return value == nullptr ? json::value() : any(*value, place(where, key));
  }

  json::value any(const json::object& value, const std::string& where) {
    if (const auto text = in_.string(value, "stringValue", where, false)) return json::string(*text);
    if (const auto flag = in_.boolean(value, "boolValue", where)) return *flag;
    if (const json::value* number = in_.find(value, "intValue")) return integer(*number, where);
    if (const json::value* number = in_.find(value, "doubleValue")) return number_or_text(*number, where);
    if (const auto bytes = in_.string(value, "bytesValue", where, false)) return json::string(*bytes);
    if (const json::object* list = in_.object(value, "arrayValue", where, false)) {
      json::array out;
      each(*list, "values", place(where, "arrayValue"),
           [&](const json::object& object, const std::string& here) { out.push_back(any(object, here)); });
      return out;
    }
    json::object out;
    const json::object* named = in_.object(value, "kvlistValue", where, false);
    if (named == nullptr) return json::value();
    each(*named, "values", place(where, "kvlistValue"), [&](const json::object& object, const std::string& here) {
      const auto key = in_.string(object, "key", here, true);
      if (key) out.insert_or_assign(json::string_view(key->data(), key->size()), any_value(object, "value", here));
    });
    return out;
  }

  json::value number_or_text(const json::value& number, const std::string& where) {
    if (number.is_number() || number.is_string()) return number;  // JSON has no NaN and no infinity: they are strings
    in_.fail(import_errc::wrong_shape, place(where, "doubleValue"), "expected a number, as a string or a number");
    return nullptr;
  }

  json::value integer(const json::value& number, const std::string& where) {
    if (number.is_int64()) return number;
    if (number.is_uint64()) return number.to_number<double>();  // above the greatest int64
    std::int64_t value = 0;
    if (const json::string* text = number.if_string()) {
      const auto [end, wrong] = std::from_chars(text->data(), text->data() + text->size(), value);
      if (wrong == std::errc{} && end == text->data() + text->size() && !text->empty()) return value;
    }
    in_.fail(import_errc::wrong_shape, place(where, "intValue"), "expected a whole number, as a string or a number");
    return nullptr;
  }

  json_reader& in_;
  batch out_;
};

}  // namespace

decode_outcome decode_json(std::string_view body) {
  json_reader in;
  json::value document;
  const json::object* top = in.parse(body, std::numeric_limits<std::size_t>::max(), document);
  if (top != nullptr) {
    json_decoder decoder(in);
    decoder.read(*top);
    if (!in.failed()) return decoder.take();
  }
  return decode_failure{in.failure().message, in.failure().code == import_errc::too_large};
}

}  // namespace digd::otlp
