#include "ingest/otlp/decode.h"

#include <zlib.h>

#include "ingest/otlp/inflate.h"
#include "tests/ingest/otlp/spans.h"

using namespace otlp_tests;

namespace {

const std::string ids = R"("traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"EEE19B7EC3C1B174",)";

std::string with_span(const std::string& members) {
  return R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"app"}}]},)"
         R"("scopeSpans":[{"scope":{"name":"s","version":"1"},"spans":[{)" +
         ids + members + "}]}]}]}";
}
const std::string times = R"("startTimeUnixNano":"1000","endTimeUnixNano":2000)";

std::string decode_problem(encoding encoding, const std::string& body) {
  const auto outcome = decode(encoding, body);
  REQUIRE(outcome.has_error());
  return outcome.error().message;
}

// A field of protobuf's wire format.
std::string field(int number, const std::string& value) {
  REQUIRE(value.size() < 128);
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(value.size()) + value;
}
std::string fixed(int number, char value) {
  return std::string(1, static_cast<char>(number << 3 | 1)) + value + std::string(7, '\0');
}
std::string in_request(const std::string& span) { return field(1, field(2, field(2, span))); }
std::string good_span() {
  return field(1, std::string(16, '\x5b')) + field(2, std::string(8, '\xee')) + fixed(7, 10) + fixed(8, 20);
}

std::string gzip(const std::string& text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

TEST_CASE("json_has_ids_in_either_case_and_numbers_in_either_form") {
  const auto out = decode_json(with_span(
      times +
      R"(,"parentSpanId":"","name":"n","attributes":[)"
      R"({"key":"i","value":{"intValue":"-7"}},{"key":"j","value":{"intValue":7}},{"key":"l","value":{"arrayValue":{"values":[{"boolValue":true}]}}},)"
      R"({"key":"m","value":{"kvlistValue":{"values":[{"key":"d","value":{"doubleValue":0.5}}]}}}],"status":{"code":2,"message":"no"})"));
  REQUIRE(out.has_value());
  const span& s = out->spans.at(0);
  REQUIRE(s.trace == "5b8efff798038103d269b633813fc60c");
  REQUIRE(s.start_ns == 1000);
  REQUIRE(s.end_ns == 2000);
  REQUIRE(json::serialize(s.attributes) == R"({"i":-7,"j":7,"l":[true],"m":{"d":5E-1}})");
  REQUIRE(s.failed);
  REQUIRE(s.error == "no");
  REQUIRE(s.from->service == "app");
  REQUIRE(s.from->scope == "s");
}

TEST_CASE("a_failed_span_without_words_has_those_of_its_exception") {
  const auto out =
      decode_json(with_span(times + R"(,"status":{"code":2},"events":[{"name":"exception","attributes":[)"
                                    R"({"key":"exception.message","value":{"stringValue":"it broke"}}]}])"));
  REQUIRE(out->spans.at(0).error == "it broke");
}

TEST_CASE("bad_json_is_refused_with_its_place") {
  REQUIRE(decode_problem(encoding::json, "{").find("byte 1: expected one JSON document") == 0);
  REQUIRE(decode_problem(encoding::json, "[]") == "expected an object at the top, found an array");
  REQUIRE(decode_problem(encoding::json, R"({"resourceSpans":[7]})") == "resourceSpans[0]: expected an object");
  REQUIRE(decode_problem(encoding::json, with_span(R"("name":7)")) ==
          "resourceSpans[0].scopeSpans[0].spans[0].name: expected a string, found a number");
  REQUIRE(
      decode_problem(encoding::json, with_span(R"("startTimeUnixNano":"soon")")) ==
      "resourceSpans[0].scopeSpans[0].spans[0].startTimeUnixNano: expected a whole number, as a string or a number");
}

TEST_CASE("spans_without_usable_ids_or_times_are_rejected_and_the_others_taken") {
  const auto out = decode_json(R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"n"},{)" + ids +
                               R"("name":"m"},{)" + ids + times + "}]}]}]}");
  REQUIRE(out.has_value());
  REQUIRE(out->spans.size() == 1);
  REQUIRE(out->rejected == 2);
  REQUIRE(out->problem == "resourceSpans[0].scopeSpans[0].spans[0].traceId: expected 16 bytes, not all zero");
}

TEST_CASE("a_time_that_leaves_no_room_for_sums_is_rejected") {
  const auto out = decode_json(with_span(R"("startTimeUnixNano":"9223372036854775807","endTimeUnixNano":2000)"));
  REQUIRE(out.has_value());
  CHECK(out->spans.empty());
  CHECK(out->rejected == 1);
}

TEST_CASE("protobuf_says_the_same_as_json") {
  const auto out =
      decode_protobuf(in_request(good_span() + field(5, "n") + field(9, field(1, "k") + field(2, field(1, "v")))));
  REQUIRE(out.has_value());
  const span& s = out->spans.at(0);
  REQUIRE(s.trace == std::string("5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b"));
  REQUIRE(s.name == "n");
  REQUIRE(json::serialize(s.attributes) == R"({"k":"v"})");
  REQUIRE(s.start_ns == 10);
}

TEST_CASE("bad_protobuf_is_refused_with_its_byte_and_its_place") {
  REQUIRE(decode_problem(encoding::protobuf, "hello") == "byte 3: an unknown field, number 13, is broken");
  const std::string whole = in_request(good_span() + field(5, "name"));
  REQUIRE(
      decode_problem(encoding::protobuf, whole.substr(0, whole.size() - 2)).find("resource_spans[0]: its length is") !=
      std::string::npos);
  REQUIRE(decode_problem(encoding::protobuf, in_request(field(5, "\xff")))
              .find("resource_spans[0].scope_spans[0].spans[0].name: expected UTF-8") != std::string::npos);
  REQUIRE(decode_problem(encoding::protobuf, in_request(fixed(5, 1)))
              .find("spans[0].name: its wire type is 1, expected 2 (string)") != std::string::npos);
  REQUIRE(decode_problem(encoding::protobuf, in_request(std::string("\x39\x01", 2)))
              .find("spans[0].start_time_unix_nano: expected a fixed64") != std::string::npos);
}

TEST_CASE("a_body_that_would_expand_beyond_its_limit_is_refused_before_it_is_built") {
  std::string empties;
  for (std::size_t i = 0; i <= max_items; ++i) empties += std::string("\x0a\x00", 2);  // empty resource_spans
  const auto outcome = decode(encoding::protobuf, empties);
  REQUIRE(outcome.has_error());
  REQUIRE(outcome.error().too_large);
  std::string deep = R"({"stringValue":"x"})";
  for (int i = 0; i < 40; ++i) deep = R"({"arrayValue":{"values":[)" + deep + "]}}";
  REQUIRE(
      decode_problem(encoding::json, with_span(R"("attributes":[{"key":"k","value":)" + deep + "}]")).find("levels") !=
      std::string::npos);
}

TEST_CASE("links_beyond_the_limit_of_a_span_are_dropped_and_counted") {
  constexpr std::size_t sent = 139'000;
  std::string links;
  for (std::size_t i = 1; i <= sent; ++i) {
    links +=
        (i == 1 ? "" : ",") + (R"({"traceId":")" + padded(std::to_string(i), 32)) + R"(","spanId":"00000000000000b1"})";
  }
  const auto read = decode(encoding::json, with_span(times + R"(,"links":[)" + links + "]"));
  REQUIRE(read.has_value());
  REQUIRE(read->dropped_links == sent - max_links);
  REQUIRE(read->spans.front().links.size() == max_links);
  REQUIRE(read->rejected == 0);

  const std::string link = field(13, field(1, std::string(16, '\x5b')) + field(2, std::string(8, '\xee')));
  std::string span = good_span();
  for (std::size_t i = 0; i < max_links + 2; ++i) span += link;
  const auto length = [](std::size_t n) {
    return std::string{static_cast<char>((n & 0x7f) | 0x80), static_cast<char>(n >> 7)};
  };
  std::string body = std::string("\x12") + length(span.size()) + span;
  body = std::string("\x12") + length(body.size()) + body;
  body = std::string("\x0a") + length(body.size()) + body;
  const auto packed = decode(encoding::protobuf, body);
  REQUIRE(packed.has_value());
  REQUIRE(packed->dropped_links == 2);
  REQUIRE(packed->spans.front().links.size() == max_links);
}

TEST_CASE("what_digd_writes_of_spans_can_be_read_again_whatever_their_values_are") {
  std::vector<span> written = spans({{.id = "1", .name = "x", .start = 1, .end = 2}});
  json::value deep = "x";
  for (int i = 0; i < 47; ++i) deep = json::array{deep};
  written.front().attributes["deep"] = deep;
  const auto read = decode_json(encode_spans(written));
  REQUIRE(read.has_value());
  REQUIRE(read->spans.size() == 1);
  for (const std::string value : {R"({"doubleValue":"NaN"})", R"({"intValue":18446744073709551615})"}) {
    const auto given = decode_json(with_span(times + R"(,"attributes":[{"key":"k","value":)" + value + "}]"));
    REQUIRE(given.has_value());
    REQUIRE(decode_json(encode_spans(given->spans)).has_value());
  }
  const std::string nan("\0\0\0\0\0\0\xf8\x7f", 8);
  const std::string number = field(2, std::string("\x21") + nan);
  const auto packed = decode(encoding::protobuf, in_request(good_span() + field(9, field(1, "k") + number)));
  REQUIRE(packed.has_value());
  REQUIRE(decode_json(encode_spans(packed->spans)).has_value());
  REQUIRE(decode_problem(encoding::json, with_span(times + R"(,"attributes":[{"key":"k","value":{"doubleValue":[]}}])"))
              .find("attributes[0].value.doubleValue: expected a number") != std::string::npos);
}

TEST_CASE("answers_are_in_the_encoding_of_the_question") {
  REQUIRE(encode_response(encoding::json, 0, "") == "{}");
  REQUIRE(encode_response(encoding::json, 2, "why") ==
          R"({"partialSuccess":{"rejectedSpans":"2","errorMessage":"why"}})");
  REQUIRE(encode_response(encoding::protobuf, 0, "") == "");
  REQUIRE(encode_response(encoding::protobuf, 2, "why") == field(1, std::string("\x08\x02") + field(2, "why")));
  REQUIRE(encode_status(encoding::protobuf, 3, "no") == std::string("\x08\x03") + field(2, "no"));
  REQUIRE(encode_status(encoding::json, 3, "no") == R"({"code":3,"message":"no"})");
}

TEST_CASE("a_packed_body_is_unpacked_up_to_a_limit_and_no_further") {
  const std::string text(1000, 'x');
  const std::string packed = gzip(text);
  REQUIRE(*inflate(packed, 1000) == text);
  REQUIRE(inflate(packed, 999).error().too_large);
  REQUIRE(*inflate(packed + packed, 2000) == text + text);
  REQUIRE_FALSE(inflate(packed.substr(0, packed.size() - 9), 2000).error().too_large);
  REQUIRE(inflate("no gzip", 2000).error().message.find("expected gzip") != std::string::npos);
}
