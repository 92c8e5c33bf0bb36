// Who&When logs with their annotation, as published: files *.json in folders that are the subsets.
// Nothing of a log is copied anywhere but into memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/chief/flat_log.h"

namespace digd::whowhen {

struct labelled_log {
  chief::flat_log log;  // its id is "subset/file"
  std::string subset;
  std::string question_id;  // what cross-validation keeps together
  std::string answer;       // the benchmark's right answer; only judges "with ground truth" are told
  std::string agent;        // the responsible agent
  std::size_t step = 0;     // the decisive step
};

// One file's text. False with `why` if it is no such log. An annotation may be missing unless `labelled` is asked for.
bool read_log(std::string_view json, labelled_log& into, std::string& why, bool labelled = true);

// A folder of subsets, or one subset. Files are read in order of their numbers. `why` names the file that is wrong.
bool read_folder(const std::string& folder, std::vector<labelled_log>& into, std::string& why);

}  // namespace digd::whowhen
