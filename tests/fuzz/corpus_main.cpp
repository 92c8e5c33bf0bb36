// Runs a fuzz target on the files and folders named, each input once: the corpus as an ordinary test.
//
//   fuzz_TARGET FILE|FOLDER…      exit 0 if every input was run, 2 if there was none; a finding ends the program
//
// Where no sanitizer is built in, memory beyond `most_memory` is a finding too.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

namespace {

namespace fs = std::filesystem;
constexpr rlim_t most_memory = 2ull << 30;

std::vector<fs::path> inputs(int argc, char** argv) {
  std::vector<fs::path> paths;
  for (int i = 1; i < argc; ++i) {
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
  const rlimit most{most_memory, most_memory};
  ::setrlimit(RLIMIT_DATA, &most);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  limit_memory();
  std::size_t run = 0;
  for (const fs::path& path : inputs(argc, argv)) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", path.c_str());
      return 2;
    }
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::fprintf(stderr, "%s: %zu bytes\n", path.filename().c_str(), bytes.size());
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ++run;
  }
  std::fprintf(stderr, "%zu inputs\n", run);
  return run == 0 ? 2 : 0;
}
