// Decoding one message, compared with hand-written simdjson on-demand code that makes the same checks for two types,
// without errors that name a field. Google Benchmark; `scripts/bench` runs both in turns and prints the ratio.
#include <benchmark/benchmark.h>
#include <simdjson.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "ingest/protocol/decode.h"
#include "model/message.h"

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

// ---- the baseline: simdjson on-demand with the same checks; of a bad message it knows only that it is bad

using simdjson::ondemand::object;
using simdjson::ondemand::value;

bool take_name(value from, std::string_view& to) {
  to = from.get_string();
  return !to.empty() && to.size() <= 256;
}

bool take_names(value list, digd::name_list& to) {
  for (auto element : list.get_array()) {
    std::string_view name;
    if (!take_name(element.value(), name)) return false;
    if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
  }
  return true;
}

// Visits all values of a payload, so that it is known to be valid JSON.
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
      for (auto element : any.get_array()) sum += walk(element.value());
      return sum;
    }
    case simdjson::ondemand::json_type::string: return std::string_view(any.get_string()).size();
    case simdjson::ondemand::json_type::number: return static_cast<std::size_t>(double(any.get_double()) != 0);
    case simdjson::ondemand::json_type::boolean: return static_cast<std::size_t>(bool(any.get_bool()));
    default: return any.is_null() ? 1 : 0;
  }
}

// Marks a field as seen; false if it was seen before.
bool once(unsigned& seen, unsigned field) {
  const bool is_first = (seen >> field & 1u) == 0;
  seen |= 1u << field;
  return is_first;
}

bool read_event(object event, digd::event_draft& to) {
  unsigned seen = 0;
  for (auto field : event) {
    const std::string_view key = field.unescaped_key();
    bool good = true;
    if (key == "id") {
      good = once(seen, 0) && take_name(field.value(), to.id);
    } else if (key == "source") {
      good = once(seen, 1) && take_name(field.value(), to.source.emplace());
    } else if (key == "recipients") {
      good = once(seen, 2) && take_names(field.value(), to.recipients);
    } else if (key == "kind") {
      to.kind = std::string_view(field.value().get_string());
      good = once(seen, 3) && to.kind->size() <= 256;
    } else if (key == "submit") {
      good = once(seen, 4);
      to.submit = field.value().get_bool();
    } else if (key == "fyi") {
      good = once(seen, 5);
      to.fyi = field.value().get_bool();
    } else {
      good = key != "payload" || once(seen, 6);
      benchmark::DoNotOptimize(walk(field.value()));
    }
    if (!good) return false;
  }
  return (seen & 1u) != 0;
}

bool read_reactions(object members, digd::message& to) {
  for (auto member : members) {
    const std::string_view input = member.unescaped_key();
    for (const digd::reaction_draft& r : to.reactions) {
      if (r.input == input) return false;
    }
    digd::reaction_draft& r = to.reactions.emplace_back();
    r.input = input;
    const std::string_view reaction_name = member.value().get_string();
    if (input.empty() || input.size() > 256) return false;
    if (reaction_name == "consume") {
      r.reaction = digd::reaction::consume;
    } else if (reaction_name == "wait") {
      r.reaction = digd::reaction::wait;
    } else if (reaction_name == "discard") {
      r.reaction = digd::reaction::discard;
    } else {
      return false;
    }
  }
  return true;
}

bool read_message(object message, digd::message& to) {
  unsigned seen = 0;
  for (auto field : message) {
    const std::string_view key = field.unescaped_key();
    bool good = true;
    if (key == "type") {
      const std::string_view type = field.value().get_string();
      good = once(seen, 0) && (type == "event" || type == "activation_ended");
      to.type = type == "event" ? digd::message_type::event : digd::message_type::activation_ended;
    } else if (key == "seq") {
      to.seq = field.value().get_uint64();
      good = once(seen, 1) && to.seq > 0;
    } else if (key == "ts") {
      to.ts = std::int64_t(field.value().get_int64());
      good = once(seen, 2);
    } else if (key == "event") {
      good = once(seen, 3) && read_event(field.value().get_object(), to.events.emplace_back());
    } else if (key == "activation") {
      good = once(seen, 4) && take_name(field.value(), to.activation);
    } else if (key == "reactions") {
      good = once(seen, 5) && read_reactions(field.value().get_object(), to);
    } else if (key == "outputs") {
      good = once(seen, 6);
      for (auto element : field.value().get_array())
        good = good && read_event(element.get_object(), to.events.emplace_back());
    } else if (key == "failed") {
      to.failed = field.value().get_bool();
      good = once(seen, 7);
    } else if (key == "as_is") {
      to.as_is = field.value().get_bool();
      good = once(seen, 8);
    } else {
      benchmark::DoNotOptimize(walk(field.value()));
    }
    if (!good) return false;
  }
  const unsigned required = to.type == digd::message_type::event ? 0b1011 : 0b10011;
  return (seen & required) == required;
}

void simdjson_reads(benchmark::State& state, const std::string& frame) {
  simdjson::ondemand::parser parser;
  const simdjson::padded_string padded(frame);
  digd::message m;
  for (auto _ : state) {
    m.clear();
    auto document = parser.iterate(padded);
    if (!read_message(document.get_object(), m) || document.current_location().error() != simdjson::OUT_OF_BOUNDS)
      state.SkipWithError("refused");
    benchmark::DoNotOptimize(m);
  }
}

}  // namespace

BENCHMARK_CAPTURE(decodes, event, event_frame());
BENCHMARK_CAPTURE(simdjson_reads, event, event_frame());
BENCHMARK_CAPTURE(decodes, activation_ended, end_frame());
BENCHMARK_CAPTURE(simdjson_reads, activation_ended, end_frame());
BENCHMARK_MAIN();
