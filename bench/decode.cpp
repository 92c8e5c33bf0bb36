// Decoding one message, compared with hand-written simdjson on-demand code that makes the same checks for two types,
// without errors that name a field. Google Benchmark; `scripts/bench` runs both in turns and prints the ratio.
//
// `digd-bench-decode --count N` decodes each frame N times both ways instead, in the functions that
// scripts/measure-held-path counts the instructions of.
#include <benchmark/benchmark.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdlib>
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

struct digd_reader {
  explicit digd_reader(const std::string& text) : frame(text) {}
  bool read() { return !decoder.decode(frame, m).refused; }

  const std::string& frame;
  digd::ingest::decoder decoder;
  digd::message m;
};

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

struct simdjson_reader {
  explicit simdjson_reader(const std::string& frame) : padded(frame) {}
  bool read() {
    m.clear();
    auto document = parser.iterate(padded);
    return read_message(document.get_object(), m) && document.current_location().error() == simdjson::OUT_OF_BOUNDS;
  }

  const simdjson::padded_string padded;
  simdjson::ondemand::parser parser;
  digd::message m;
};

template <class Reader>
void measure(benchmark::State& state, const std::string& frame) {
  Reader reader(frame);
  for (auto _ : state) {
    if (!reader.read()) state.SkipWithError("refused");
    benchmark::DoNotOptimize(reader.m);
  }
}

void decodes(benchmark::State& state, const std::string& frame) { measure<digd_reader>(state, frame); }
void simdjson_reads(benchmark::State& state, const std::string& frame) { measure<simdjson_reader>(state, frame); }

}  // namespace

// Named for callgrind's --toggle-collect.
extern "C" {
[[gnu::noinline]] bool digd_reads_event(digd_reader& reader) { return reader.read(); }
[[gnu::noinline]] bool digd_reads_end(digd_reader& reader) { return reader.read(); }
[[gnu::noinline]] bool simdjson_reads_event(simdjson_reader& reader) { return reader.read(); }
[[gnu::noinline]] bool simdjson_reads_end(simdjson_reader& reader) { return reader.read(); }
}

namespace {

template <class Reader, class Read>
bool repeat(const std::string& frame, long times, Read read) {
  Reader reader(frame);
  bool good = reader.read();  // its buffers grow
  for (long i = 0; i < times; ++i) good = read(reader) && good;
  return good;
}

bool count(long times) {
  return repeat<digd_reader>(event_frame(), times, digd_reads_event) &&
         repeat<digd_reader>(end_frame(), times, digd_reads_end) &&
         repeat<simdjson_reader>(event_frame(), times, simdjson_reads_event) &&
         repeat<simdjson_reader>(end_frame(), times, simdjson_reads_end);
}

}  // namespace

BENCHMARK_CAPTURE(decodes, event, event_frame());
BENCHMARK_CAPTURE(simdjson_reads, event, event_frame());
BENCHMARK_CAPTURE(decodes, activation_ended, end_frame());
BENCHMARK_CAPTURE(simdjson_reads, activation_ended, end_frame());

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--count") return count(std::atol(argv[2])) ? 0 : 1;
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
