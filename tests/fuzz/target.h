// What the fuzz targets share: each is one file that hands its input to a public function and checks what came back.
//
// The same files are built twice: with libFuzzer (CMake preset `fuzz`, scripts/fuzz), and in every other build with
// corpus_main.cpp, which runs the inputs in corpus/ once as an ordinary test. Threads: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace digd::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// What must hold whatever the input is: ends the program otherwise, which the fuzzer takes as a finding.
inline void must(bool holds, const char* text, std::string_view shown = {}) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", text);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
  std::fputc('\n', stderr);
  std::abort();
}

// The next line, without its end; false at the end of the text.
inline bool take_line(std::string_view& rest, std::string_view& line) {
  if (rest.empty()) return false;
  const std::size_t end = rest.find('\n');
  line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return true;
}

// Reads its every byte, so that the address sanitizer sees a view that does not live.
inline void touch(std::string_view view) {
  static volatile unsigned char sum = 0;
  for (const char c : view) sum = static_cast<unsigned char>(sum + static_cast<unsigned char>(c));
}

// Ends the program unless `frame` is JSON, as a client would read it (json_check.cpp).
void must_be_json(std::string_view frame, const char* text);
// Whether it is JSON up to `deepest` levels; numbers of any size are.
bool is_json(std::string_view text, std::size_t deepest = 1064);

}  // namespace digd::fuzz
