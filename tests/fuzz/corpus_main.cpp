// Runs a fuzz target once on each input in the given files and folders: the corpus as an ordinary test.
//
//   fuzz_corpus_engine|fuzz_corpus_daemon TARGET FILE|FOLDER…
//
// Exit code 0 after all inputs, 2 if there were none; a failure ends the program.
//
// Without a sanitizer, using more than `max_memory` also fails.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

// fuzz_targets.inc has a line X(NAME) for each target; tests/fuzz/CMakeLists.txt writes it.
#define X(name) FUZZ_TARGET(name);
#include "fuzz_targets.inc"
#undef X

namespace {

struct target {
  std::string_view name;
  int (*run)(const std::uint8_t* data, std::size_t size);
};
#define X(name) {#name, fuzz_##name},
constexpr target targets[] = {
#include "fuzz_targets.inc"
};
#undef X

namespace fs = std::filesystem;
constexpr rlim_t max_memory = 2ull << 30;

std::vector<fs::path> inputs(int argc, char** argv) {
  std::vector<fs::path> paths;
  for (int i = 2; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      paths.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit limit{max_memory, max_memory};
  ::setrlimit(RLIMIT_DATA, &limit);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  const auto* chosen =
      std::find_if(std::begin(targets), std::end(targets), [&](const target& t) { return t.name == name; });
  if (chosen == std::end(targets)) {
    std::fprintf(stderr, "usage: %s TARGET FILE|FOLDER...\n", argv[0]);
    return 2;
  }
  limit_memory();
  std::size_t count = 0;
  for (const fs::path& path : inputs(argc, argv)) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", path.c_str());
      return 2;
    }
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::fprintf(stderr, "%s: %zu bytes\n", path.filename().c_str(), bytes.size());
    chosen->run(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ++count;
  }
  std::fprintf(stderr, "%zu inputs\n", count);
  return count == 0 ? 2 : 0;
}
