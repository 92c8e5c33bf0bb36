// Reads Who&When logs with their annotations, as published: *.json files in folders, one folder a subset.
//
// Logs are kept in memory only. Bounds: 256 MiB a file, `chief::max_steps` steps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/chief/flat_log.h"

namespace digd::whowhen {

struct labelled_log {
  chief::flat_log log;  // its id is "subset/file"
  std::string subset;
  std::string question_id;  // cross-validation groups logs by question
  std::string answer;       // the benchmark's right answer, for judges "with ground truth" only
  std::string agent;        // the responsible agent
  std::size_t step = 0;     // the decisive step
};

// Reads the text of one file. Returns false and sets `problem` if it is not such a log. The annotation may be missing
// unless `labelled`.
bool read_log(std::string_view json, labelled_log& into, std::string& problem, bool labelled = true);

// Reads a folder of subsets, or one subset, in order of file numbers. On failure `problem` names the file.
bool read_folder(const std::string& folder, std::vector<labelled_log>& into, std::string& problem);

}  // namespace digd::whowhen
