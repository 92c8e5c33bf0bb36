// The files that `digctl demo` needs, embedded when digctl is built (cli/embed_demo.cmake).
#pragma once

#include <span>
#include <string_view>

namespace digd::cli {

struct demo_example {
  std::string_view framework;  // the word after --attach
  std::string_view file;       // the name that it gets in the user's folder
  std::string_view text;
};

std::string_view demo_trace();  // tests/traces/demo.jsonl
std::span<const demo_example> demo_examples();

}  // namespace digd::cli
