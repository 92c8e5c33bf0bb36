// Reading and checking one message, beside simdjson that reads and checks the same: on-demand, into views, without the errors that
// name a field. Google Benchmark; `scripts/bench` runs both in turns and takes the ratio.
#include <benchmark/benchmark.h>
#include <simdjson.h>

#include <string>

#include "ingest/decode.h"

namespace {

std::string event_frame() {
  return R"({"type":"event","seq":123456,"ts":1700000000000,"event":{"id":"e123456","source":"v4711","recipients":["planner","coder"],)"
         R"("kind":"solution","payload":{"text":")" +
         std::string(420, 'x') + R"(","n":[1,2.5,true,null]}}})";
}

std::string end_frame() {
  return R"({"type":"activation_ended","seq":123457,"ts":1700000000001,"activation":"v4711","reactions":{"e1":"consume","e2":"wait"},"outputs":[)"
         R"({"id":"e5","recipients":["tester"],"kind":"solution","payload":{"text":")" +
         std::string(380, 'y') + R"("}}]})";
}

void decodes(benchmark::State& state, const std::string& frame) {
  digd::ingest::decoder decoder;
  digd::message m;
  for (auto _ : state) {
    const auto result = decoder.decode(frame, m);
    if (result.refused) state.SkipWithError("refused");
    benchmark::DoNotOptimize(m);
  }
}

using simdjson::ondemand::object;
using simdjson::ondemand::value;

std::size_t names(value list) {
  std::size_t bytes = 0;
  for (auto one : list.get_array()) bytes += std::string_view(one.get_string()).size();
  return bytes;
}

// All values of a payload, so that it is known to be valid JSON.
std::size_t walk(value any) {
  switch (any.type()) {
    case simdjson::ondemand::json_type::object: {
      std::size_t sum = 0;
      for (auto field : any.get_object()) {
        sum += std::string_view(field.unescaped_key()).size();
        sum += walk(field.value());
      }
      return sum;
    }
    case simdjson::ondemand::json_type::array: {
      std::size_t sum = 0;
      for (auto one : any.get_array()) sum += walk(one.value());
      return sum;
    }
    case simdjson::ondemand::json_type::string: return std::string_view(any.get_string()).size();
    case simdjson::ondemand::json_type::number: return static_cast<std::size_t>(double(any.get_double()) != 0);
    case simdjson::ondemand::json_type::boolean: return static_cast<std::size_t>(bool(any.get_bool()));
    default: return any.is_null() ? 1 : 0;
  }
}

std::size_t read_event(object event) {
  std::size_t sum = 0;
  for (auto field : event) {
    const std::string_view key = field.unescaped_key();
    if (key == "recipients") {
      sum += names(field.value());
    } else if (key == "payload") {
      sum += walk(field.value());
    } else {
      sum += std::string_view(field.value().get_string()).size();
    }
  }
  return sum;
}

std::size_t read_message(object message) {
  std::size_t sum = 0;
  for (auto field : message) {
    const std::string_view key = field.unescaped_key();
    if (key == "seq" || key == "ts") {
      sum += std::uint64_t(field.value().get_uint64());
    } else if (key == "event") {
      sum += read_event(field.value().get_object());
    } else if (key == "reactions") {
      for (auto one : field.value().get_object()) {
        sum += std::string_view(one.unescaped_key()).size();
        sum += std::string_view(one.value().get_string()).size();
      }
    } else if (key == "outputs") {
      for (auto one : field.value().get_array()) sum += read_event(one.get_object());
    } else {
      sum += std::string_view(field.value().get_string()).size();
    }
  }
  return sum;
}

void simdjson_reads(benchmark::State& state, const std::string& frame) {
  simdjson::ondemand::parser parser;
  const simdjson::padded_string padded(frame);
  for (auto _ : state) {
    auto document = parser.iterate(padded);
    benchmark::DoNotOptimize(read_message(document.get_object()));
  }
}

}  // namespace

BENCHMARK_CAPTURE(decodes, event, event_frame());
BENCHMARK_CAPTURE(simdjson_reads, event, event_frame());
BENCHMARK_CAPTURE(decodes, activation_ended, end_frame());
BENCHMARK_CAPTURE(simdjson_reads, activation_ended, end_frame());
BENCHMARK_MAIN();
