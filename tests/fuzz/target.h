// Helpers of the fuzz targets. Each target is a file that passes its input to a public function and checks the result.
//
// With the CMake preset `fuzz` (scripts/fuzz) each target is a program that libFuzzer drives. In every other build two
// programs, fuzz_corpus_engine and fuzz_corpus_daemon, contain all targets. They run them on the inputs in corpus/
// once, as ordinary tests (corpus_main.cpp). Threads: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

// Begins the function of a target, which takes one input and returns 0.
#ifdef DIGD_FUZZ
#define FUZZ_TARGET(name) extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
#else
#define FUZZ_TARGET(name) int fuzz_##name(const std::uint8_t* data, std::size_t size)
#endif

namespace digd::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Checks a property that every input must keep. If it does not hold, prints it with `shown` and ends the program, which
// the fuzzer reports as a failure.
inline void must(bool holds, const char* property, std::string_view shown = {}) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", property);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
  std::fputc('\n', stderr);
  std::abort();
}

// Takes the next line, without its line end. Returns false at the end of the text.
inline bool take_line(std::string_view& rest, std::string_view& line) {
  if (rest.empty()) return false;
  const std::size_t end = rest.find('\n');
  line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return true;
}

// Reads every byte, so that the address sanitizer detects a dangling view.
inline void touch(std::string_view view) {
  static volatile unsigned char sum = 0;
  for (const char c : view) sum = static_cast<unsigned char>(sum + static_cast<unsigned char>(c));
}

// Ends the program unless `frame` is JSON.
void must_be_json(std::string_view frame, const char* property);
// Whether `text` is JSON of at most `max_depth` levels. Numbers may have any size.
bool is_json(std::string_view text, std::size_t max_depth = 1064);

}  // namespace digd::fuzz
